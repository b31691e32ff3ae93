"""``tiphys doctor`` finds what is wrong, and says what to do about it."""

from __future__ import annotations

import fcntl
from pathlib import Path

import pytest

from tiphys.cli.app import run
from tiphys.cli.checkup import check_data, check_processes, check_settings, check_store
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


def test_an_executor_that_does_not_answer_is_bad(data: Path) -> None:
    (data / "executor").mkdir(parents=True)
    with open(data / "executor" / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)

        found = list(check_processes())

    assert [finding.kind for finding in found] == ["ok", "bad"]
    assert "fuser" in found[1].fix
