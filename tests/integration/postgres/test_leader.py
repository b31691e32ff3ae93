"""Several servers over one PostgreSQL: one leads, the others pass on and take over."""

from __future__ import annotations

import http.client
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.chaos.flow import LINES, stages
from tests.chaos.helm import PATIENCE, wait_until
from tests.integration.postgres.fleet import (
    Fleet,
    ask,
    ask_until,
    kill,
    leads,
    submission,
    wait_leading,
)
from tests.integration.postgres.server import PostgresServer, cut_sessions
from tiphys.testing.ledger import Ledger, log_problems

Record = Callable[[str, object], None]
pytestmark = pytest.mark.timeout(600)


def test_a_follower_passes_everything_on_and_leads_once_the_leader_was_killed(
    shared: PostgresServer, tmp_path: Path, record_property: Record
) -> None:
    ledger = Ledger(tmp_path / "ledger")
    flow, keys = stages("many", ledger, count=3, width=20)
    with Fleet(tmp_path, shared.database_of(tmp_path)) as fleet:
        first = fleet.up("one")
        second = fleet.up("one")  # The same data directory: it finds the executor again.
        assert (leads(first), leads(second)) == (True, False)
        made = ask_until(second, "POST", "/workflows", submission(flow, "many"))
        seen = ask(first, "GET", f"/workflows/{made['id']}")
        wait_until(lambda: bool(ledger.entries()), "the first task")

        kill(first)
        record_property("leads after", f"{wait_leading(second):.2f} s")
        helm = fleet.helm("one")
        waited = helm("wait", "many")

        assert seen[0] == 200
        assert waited.returncode == 0, waited.stderr
        assert ledger.problems(keys) == []
        assert log_problems(helm("logs", "many").stdout, keys, lines=LINES) == []
        assert ask_until(second, "GET", f"/workflows/{made['id']}")["status"] == "succeeded"


def test_with_nobody_to_lead_a_follower_says_so(shared: PostgresServer, tmp_path: Path) -> None:
    with Fleet(tmp_path, shared.database_of(tmp_path)) as fleet:
        first = fleet.up("one")
        second = fleet.up("two")
        kill(first)
        answers: list[tuple[int, Any]] = []
        while not answers or answers[-1][0] != 200:
            # Whoever asks at the very moment of the change is cut off, and asks again.
            with suppress(http.client.RemoteDisconnected, ConnectionError, TimeoutError):
                answers.append(ask(second, "GET", "/workflows"))

        assert {status for status, _ in answers} <= {200, 503}
        assert all(
            body["error"]["code"] == "store_unavailable"
            for status, body in answers
            if status != 200
        )
        assert leads(second)


def test_what_ran_beside_another_data_directory_is_lost_and_only_policy_runs_it_again(
    shared: PostgresServer, tmp_path: Path
) -> None:
    ledger = Ledger(tmp_path / "ledger")
    work = f"until test -e {tmp_path}/go; do sleep 0.05; done"
    flow = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Workflow",
        "metadata": {"name": "far"},
        "spec": {
            "entrypoint": "main",
            "templates": [
                {
                    "name": "main",
                    "container": {
                        "image": "none",
                        "command": ["sh", "-c", ledger.script("only", work)],
                    },
                }
            ],
        },
    }
    with Fleet(tmp_path, shared.database_of(tmp_path)) as fleet:
        first, second = fleet.up("one"), fleet.up("two")
        made = ask_until(first, "POST", "/workflows", submission(flow, "far"))
        wait_until(lambda: bool(ledger.entries()), "the task")
        kill(first)
        wait_leading(second)

        waited = fleet.helm("two")("wait", "far")
        found = ask_until(second, "GET", f"/workflows/{made['id']}")
        (tmp_path / "go").touch()

        assert waited.returncode == 1
        assert found["status"] == "error"
        assert "another data directory" in found["nodes"][0]["message"]
        assert [entry.word for entry in ledger.entries()].count("start") == 1


def test_a_leader_that_ends_leaves_at_once(shared: PostgresServer, tmp_path: Path) -> None:
    with Fleet(tmp_path, shared.database_of(tmp_path)) as fleet:
        first, second = fleet.up("one"), fleet.up("two")

        code = first.end()
        wait_leading(second)

        assert code == 0
        assert second.end() == 0


def test_a_leader_that_lost_its_session_to_another_ends_although_it_has_nothing_to_write(
    shared: PostgresServer, tmp_path: Path
) -> None:
    url = shared.database_of(tmp_path)
    with Fleet(tmp_path, url) as fleet:
        first, second = fleet.up("one"), fleet.up("two")
        first.process.send_signal(signal.SIGSTOP)
        cut_sessions(url)
        wait_leading(second)

        first.process.send_signal(signal.SIGCONT)
        code = first.process.wait(PATIENCE)
        first.end()

        assert code != 0
        assert "newer owner" in first.said
        assert ask(second, "GET", "/workflows")[0] == 200
