"""Two servers over one data directory: the second is refused, and a former one writes nothing."""

from __future__ import annotations

import os
import re
import signal
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.chaos.flow import LINES, stages
from tests.chaos.helm import PATIENCE, Helm, Served, wait_until
from tiphys.store.lock import FolderLock
from tiphys.testing.ledger import Ledger, log_problems

Record = Callable[[str, object], None]


def _refused(second: Served) -> float:
    """Wait until a server has given up; give how long it took."""
    assert second.process.wait(PATIENCE) != 0
    return time.monotonic() - second.begun


def _stop_between_writes(helm: Helm, served: Served) -> None:
    """SIGSTOP a server, but not in the middle of a transaction: the next could not begin one."""

    def stopped() -> bool:
        served.process.send_signal(signal.SIGSTOP)
        connection = sqlite3.connect(helm.data / "tiphys.db", timeout=0, isolation_level=None)
        try:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("ROLLBACK")
        except sqlite3.OperationalError:
            served.process.send_signal(signal.SIGCONT)
            return False
        finally:
            connection.close()
        return True

    wait_until(stopped, "a moment between two writes")


def _dump(helm: Helm) -> dict[str, list[object]]:
    """Give everything that is stored."""
    tables = [name for (name,) in helm.query("SELECT name FROM sqlite_master WHERE type = 'table'")]
    return {name: helm.query(f"SELECT * FROM {name}") for name in tables}


@pytest.mark.parametrize("stopped", [False, True], ids=["live", "stopped"])
def test_a_second_server_is_refused_and_told_who_is_there(
    tmp_path: Path, record_property: Record, stopped: bool
) -> None:
    with Helm(tmp_path) as helm:
        first = helm.up()
        if stopped:
            first.process.send_signal(signal.SIGSTOP)

        second = helm.serve()

        record_property("refused after", f"{_refused(second):.2f} s")
        first.process.send_signal(signal.SIGCONT)
        second.end()
        assert f"in use by process {first.process.pid}" in second.said
        assert first.process.poll() is None


def test_a_former_server_that_wakes_up_writes_nothing(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger")
    flow, keys = stages("many", ledger, count=2, width=20)
    with Helm(tmp_path) as helm:
        old = helm.up()
        helm.submit(flow)
        wait_until(lambda: bool(ledger.entries()), "the first task")
        _stop_between_writes(helm, old)
        # The lock of a stopped process stays; without its file only the epoch is left.
        (helm.data / "lock").unlink()
        new = helm.up()
        assert helm("wait", "many").returncode == 0
        before = _dump(helm)

        old.process.send_signal(signal.SIGCONT)
        code = old.process.wait(PATIENCE)
        old.end()

        assert code != 0
        assert re.search("newer owner|has taken over", old.said)
        assert _dump(helm) == before
        assert new.process.poll() is None
        assert ledger.problems(keys) == []
        assert log_problems(helm("logs", "many").stdout, keys, lines=LINES) == []
        more, _ = stages("more", ledger, count=1, width=1)
        helm.submit(more)
        assert helm("wait", "more").returncode == 0, "the new server is not found any more"


def test_an_idle_former_server_cannot_take_a_submission(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger")
    flow, _ = stages("many", ledger, count=1, width=1)
    with Helm(tmp_path) as helm:
        old = helm.up()
        old.process.send_signal(signal.SIGSTOP)
        (helm.data / "lock").unlink()
        door, aside = helm.data / "door", helm.data / "door.old"
        os.rename(door, aside)
        new = helm.up()
        # People who reach the former server, as by an old mount, are told so.
        new.end()
        os.rename(aside, door)
        before = _dump(helm)
        old.process.send_signal(signal.SIGCONT)

        done = helm("submit", helm.write(flow))

        assert done.returncode != 0
        assert "newer owner" in done.stderr
        assert _dump(helm) == before


def test_a_second_server_is_refused_before_the_api_is_loaded(tmp_path: Path) -> None:
    with Helm(tmp_path) as helm, FolderLock.take(helm.data):
        helm.environment["PYTHONPROFILEIMPORTTIME"] = "1"

        refused = helm("server")

    assert refused.returncode != 0
    assert f"in use by process {os.getpid()}" in refused.stderr
    assert "tiphys.store.lock" in refused.stderr
    assert "tiphys.api" not in refused.stderr
    assert "tiphys.control" not in refused.stderr
