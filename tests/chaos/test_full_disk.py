"""No room on the disk, and a disk that fails: said clearly, nothing broken, and on it goes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.chaos import strace
from tests.chaos.disk import fill, small_disk, why_not
from tests.chaos.flow import stages
from tests.chaos.helm import Helm, wait_until
from tiphys.errors import TiphysError
from tiphys.testing.ledger import Ledger

NO_DISK = why_not()
NO_STRACE = strace.missing()


@pytest.fixture
def helm(tmp_path: Path) -> Iterator[Helm]:
    """A helm whose data directory is a small disk of its own; everything else lies elsewhere."""
    try:
        with small_disk(tmp_path / "disk", megabytes=48) as disk, Helm(tmp_path, data=disk) as made:
            yield made
    except OSError as error:
        pytest.skip(f"no disk can be mounted here: {error}")


@pytest.mark.skipif(bool(NO_DISK), reason=NO_DISK)
def test_a_full_disk_is_waited_out(helm: Helm, tmp_path: Path, record_property: Any) -> None:
    ledger = Ledger(tmp_path / "ledger")
    flow, keys = stages("many", ledger, count=4, width=25)
    server = helm.up()
    helm.hand_in(flow)
    wait_until(lambda: len(ledger.entries()) > 20, "some tasks")

    ballast = fill(helm.data)
    wait_until(lambda: "no room" in server.said, "the server's complaint")
    more, _ = stages("more", ledger, count=1, width=1)
    refused = helm("submit", helm.write(more), patience=30)
    alive = server.process.poll() is None
    ballast.unlink()

    assert alive, server.said
    assert refused.returncode != 0
    assert "no room" in refused.stderr
    assert helm.ask("wait", key="many")["phase"] == "Succeeded"
    assert ledger.problems(keys) == []
    assert helm.integrity() == "ok"
    record_property("said", server.lines[-1])


@pytest.mark.skipif(bool(NO_DISK), reason=NO_DISK)
def test_a_server_that_starts_on_a_full_disk_says_so_and_harms_nothing(
    helm: Helm, tmp_path: Path
) -> None:
    ledger = Ledger(tmp_path / "ledger")
    flow, keys = stages("many", ledger, count=2, width=10)
    first = helm.up()
    helm.hand_in(flow)
    first.kill()
    ballast = fill(helm.data)

    second = helm.serve()
    try:
        second.wait_ready()
    except AssertionError:
        assert second.end() != 0
        assert "no room" in second.said
    ballast.unlink()
    second.kill()
    helm.up()

    assert helm.ask("wait", key="many")["phase"] == "Succeeded"
    assert ledger.problems(keys) == []
    assert helm.integrity() == "ok"


def _insist(helm: Helm, flow: dict[str, Any]) -> list[str]:
    """Submit until it is taken; give what was said before. What was refused is not stored."""
    refusals: list[str] = []

    def taken() -> bool:
        try:
            helm.hand_in(flow)
        except TiphysError as error:
            refusals.append(str(error))
            return False
        return True

    wait_until(taken, "room for the workflow", seconds=20)
    return refusals


@pytest.mark.skipif(bool(NO_STRACE), reason=NO_STRACE)
@pytest.mark.parametrize("first", [25, 60])
def test_writes_that_find_no_room_for_a_while_are_made_later(tmp_path: Path, first: int) -> None:
    ledger = Ledger(tmp_path / "ledger")
    flow, keys = stages("twenty", ledger, count=4, width=4)
    with Helm(tmp_path) as helm:
        helm.up().end()
        fault = f"error=ENOSPC:when={first}..{first + 2}"
        words = strace.injecting(tmp_path / "trace", fault, calls="pwrite64")
        server = helm.serve(*words)
        server.wait_ready()
        refusals = _insist(helm, flow)

        assert all("no room" in refusal for refusal in refusals)
        assert helm.ask("wait", key="twenty")["phase"] == "Succeeded", server.said
        assert ledger.problems(keys) == []
        assert helm.integrity() == "ok"


@pytest.mark.skipif(bool(NO_STRACE), reason=NO_STRACE)
@pytest.mark.parametrize("number", [3, 8])
def test_a_failing_disk_is_told_and_nothing_is_lost_or_run_twice(
    tmp_path: Path, number: int
) -> None:
    ledger = Ledger(tmp_path / "ledger")
    flow, keys = stages("twenty", ledger, count=4, width=4)
    with Helm(tmp_path) as helm:
        server = helm.serve(*strace.injecting(tmp_path / "trace", f"error=EIO:when={number}"))
        taken = False
        try:
            server.wait_ready()
            helm.hand_in(flow)
            taken = True
            helm.ask("wait", key="twenty")
        except (AssertionError, TiphysError, OSError):
            pass
        code = server.end()
        assert "Traceback" not in server.said
        assert code == 0 or "I/O error" in server.said, server.said
        helm.up()
        if not taken and helm.query("SELECT count(*) FROM workflows") == [(0,)]:
            helm.hand_in(flow)

        assert helm.ask("wait", key="twenty")["phase"] == "Succeeded"
        assert ledger.problems(keys) == []
        assert helm.integrity() == "ok"
