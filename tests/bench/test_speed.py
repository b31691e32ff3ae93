"""The harness behind ``make bench``: it must count everything, end everything and hide nothing."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from benchmarks.speed import report
from benchmarks.speed.case import CASES, CHAIN, FAN_OUT, LAYERS, Case
from benchmarks.speed.environment import UnavailableError
from benchmarks.speed.measure import Command, FailedError, Measurement, measure
from benchmarks.speed.peer import Peer
from benchmarks.speed.peers import everybody, shell
from benchmarks.speed.record import Found, Record, Result

BURN = "import time\nwhile time.process_time() < 0.3: pass"
PATIENCE = 120.0


def command(folder: Path, *words: str) -> Command:
    return Command(words=words, folder=folder)


def result(peer: str, case: str = "fan-out", **given: object) -> Result:
    about: dict[str, object] = {"width": 1000, "depth": 1, "words": "run", **given}
    return Result(peer=peer, case=case, **about)  # type: ignore[arg-type]


def test_the_cpu_of_background_processes_is_waited_for_and_counted(tmp_path: Path) -> None:
    (tmp_path / "burn.py").write_text(BURN)
    taken = measure(command(tmp_path, "/bin/sh", "-c", f"{sys.executable} burn.py &"), PATIENCE)

    assert taken.cpu >= 0.3


def test_a_command_that_fails_is_told_with_its_last_words(tmp_path: Path) -> None:
    with pytest.raises(FailedError, match=r"(?s)exit code 3.*no wind"):
        measure(command(tmp_path, "/bin/sh", "-c", "echo no wind; exit 3"), PATIENCE)


def test_a_command_that_takes_too_long_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    text = "sleep 600 & echo $! > pid; sleep 600"
    with pytest.raises(FailedError, match="not done after"):
        measure(command(tmp_path, "/bin/sh", "-c", text), 2)

    # Whether or not there was time to write it: nothing is left of what was started.
    written = (tmp_path / "pid").read_text() if (tmp_path / "pid").exists() else ""
    assert not written or not Path(f"/proc/{int(written)}").exists()


def test_what_a_command_tells_of_itself_is_kept(tmp_path: Path) -> None:
    text = 'echo \'{"seconds": 0.25}\' > "$BENCH_REPORT"'
    taken = measure(command(tmp_path, "/bin/sh", "-c", text), PATIENCE)

    assert taken.work == 0.25


@pytest.mark.parametrize("peer", list(shell.peers()), ids=lambda peer: str(peer.name))
@pytest.mark.parametrize("case", [FAN_OUT, CHAIN, LAYERS], ids=lambda case: str(case.name))
def test_the_limits_run_every_shape(peer: Peer, case: Case, tmp_path: Path) -> None:
    try:
        peer.find()
    except UnavailableError as error:
        pytest.skip(str(error))
    taken = measure(peer.command(case.reduced(), tmp_path), PATIENCE)

    assert taken.seconds > 0


def test_a_peer_that_cannot_be_had_is_reported_with_the_reason() -> None:
    found = [Found(peer="Temporal", missing="Go is not installed")]
    text = report.write(report.Sheet(everybody(), found, []))

    assert "| Temporal | not measured: Go is not installed |" in text


def test_a_run_that_failed_is_reported_with_the_reason() -> None:
    text = report.write(report.Sheet(everybody(), [], [result("Luigi", failed="exit code 1")]))

    assert "| Luigi | files | exit code 1 |" in text


def test_ratios_are_given_with_the_start_of_an_engine_and_without() -> None:
    ours = Measurement(seconds=2.0, cpu=1.0, memory=1.0)
    theirs = Measurement(seconds=30.0, cpu=1.0, memory=1.0, told={"seconds": 10.0})
    results = [
        result("Tiphys, process", measurement=ours),
        result("DBOS, SQLite", measurement=theirs),
    ]
    text = report.write(report.Sheet(everybody(), [], results))

    assert "15.0 times DBOS, SQLite | reached" in text
    assert "5.0 times DBOS, SQLite |  |" in text


def test_the_start_of_a_server_does_not_count() -> None:
    taken = Measurement(seconds=30.0, cpu=1.0, memory=1.0, told={"server": 10.0, "seconds": 5.0})
    text = report.write(report.Sheet(everybody(), [], [result("Temporal", measurement=taken)]))

    assert "| Temporal | durable | 1,000 | 50.0¹ | 50.0–50.0 | 200 |" in text


def test_a_record_gives_back_what_was_added(tmp_path: Path) -> None:
    record = Record(tmp_path / "record")
    found = Found(peer="ninja", version="1")
    taken = Measurement(seconds=1.0, cpu=2.0, memory=3.0, told={"seconds": 4.0})
    record.begin()
    record.add(found)
    record.add(result("ninja", measurement=taken))

    assert record.read() == ([found], [result("ninja", measurement=taken)])


def test_no_report_names_the_machine() -> None:
    text = report.write(report.Sheet(everybody(), [], []))

    assert os.uname().nodename not in text


def test_every_peer_runs_only_cases_that_exist() -> None:
    for peer in everybody():
        assert set(peer.sizes) | set(peer.forms) <= set(CASES)
