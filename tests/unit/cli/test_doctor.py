"""``tiphys doctor`` finds what is wrong, and says what to do about it."""

from __future__ import annotations

import fcntl
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tiphys.cli.app import run
from tiphys.cli.checkup import (
    check_data,
    check_processes,
    check_settings,
    check_starts,
    check_store,
)
from tiphys.executor import birth
from tiphys.store import Store


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TIPHYS_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "data"


def test_a_machine_without_a_store_is_well(data: Path) -> None:
    findings = [*check_data(), *check_store(), *check_processes()]

    assert {finding.kind for finding in findings} == {"ok"}
    assert not data.exists()


def test_a_damaged_store_is_bad_and_the_command_fails(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Store.open(data, owner=True).close()
    (data / "tiphys.db").write_bytes(b"no database at all, but a longer text than its head" * 100)

    assert run(["doctor"]) == 1

    shown = capsys.readouterr().out.splitlines()
    (at,) = [number for number, line in enumerate(shown) if line.startswith("✖")]
    assert "tiphys.db" in shown[at]
    assert shown[at + 1].startswith("  → put a copy")


def test_settings_that_cannot_be_read_are_bad(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIPHYS_CONFIG", str(data / "none.yaml"))

    (finding,) = check_settings()

    assert finding.kind == "bad"
    assert "TIPHYS_CONFIG" in finding.fix


@pytest.fixture
def silent() -> Iterator[int]:
    """A port where somebody takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


@pytest.fixture
def closed() -> int:
    """A port where nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def test_a_database_that_cannot_be_reached_is_told_with_a_way_out(
    data: Path,
    closed: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("TIPHYS_STORE", f"postgresql://tiphys:hidden@127.0.0.1:{closed}/x")

    assert run(["doctor"]) == 1

    shown = capsys.readouterr().out
    (at,) = [n for n, line in enumerate(shown.splitlines()) if line.startswith("✖")]
    assert f"store: postgresql://127.0.0.1:{closed}/x: " in shown.splitlines()[at]
    assert "PostgreSQL is up" in shown.splitlines()[at + 1]
    assert "executor: " in shown
    assert "hidden" not in shown


def test_a_database_that_never_answers_is_given_up(
    data: Path, silent: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"postgresql://tiphys@127.0.0.1:{silent}/x?connect_timeout=2"
    monkeypatch.setenv("TIPHYS_STORE", url)

    (finding,) = check_store()

    assert finding.kind == "bad"
    assert "timeout" in finding.text


def test_an_address_that_means_nothing_is_told_and_the_rest_is_looked_at(
    data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TIPHYS_STORE", "postgresql://tiphys:hidden@[::1/x")

    assert run(["doctor"]) == 1

    shown = capsys.readouterr().out
    assert "✖ store: store.url: " in shown
    assert "  → see to that, or take store.url" in shown
    assert "executor: " in shown
    assert "hidden" not in shown


def test_a_store_is_not_said_to_be_new_where_settings_do_not_tell_its_place(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIPHYS_STORE", "mysql://tiphys@db/x")

    (settings,) = check_settings()
    (store,) = check_store()

    assert settings.kind == "bad"
    assert "store.url" in settings.text
    assert "not looked for" in store.text


def test_an_executor_that_does_not_answer_is_bad(data: Path) -> None:
    (data / "executor").mkdir(parents=True)
    with open(data / "executor" / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)

        found = list(check_processes())

    assert [finding.kind for finding in found] == ["ok", "bad"]
    assert "fuser" in found[1].fix


def test_it_says_why_tasks_start_slower_than_they_could(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(birth.VARIABLE, birth.PLAIN)
    (plain,) = check_starts()
    monkeypatch.delenv(birth.VARIABLE)
    (usual,) = check_starts()

    assert (plain.kind, plain.text) == (
        "note",
        "tasks start slower than they could: TIPHYS_SPAWN is plain",
    )
    assert (usual.kind == "ok") == birth.is_possible()
