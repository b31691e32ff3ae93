"""The oracle itself: it sees each kind of wrong, and nothing where all is right."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tiphys.testing.ledger import Ledger, log_problems

RIGHT = ["start a 1", "start b 2", "end a 1", "end b 2"]


def _ledger(tmp_path: Path, lines: list[str]) -> Ledger:
    path = tmp_path / "ledger"
    path.write_text("".join(f"{line}\n" for line in lines))
    return Ledger(path)


def test_work_done_once_has_no_problems(tmp_path: Path) -> None:
    assert _ledger(tmp_path, RIGHT).problems(["a", "b"]) == []


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ([*RIGHT, "start a 1"], "has 2 lines 'start'"),
        (RIGHT[:3], "b began and never ended"),
        (["end a 1"], "ended and never began"),
        (RIGHT[:1] + RIGHT[2:3], "b was never done"),
        ([*RIGHT, "start a 3", "end a 3"], "a was done, and run again by attempt 3"),
        (["start a 1", "start a 3", "end a 1", "end a 3"], "attempt 1 of a ran beside a later one"),
    ],
)
def test_each_wrong_is_seen(tmp_path: Path, lines: list[str], problem: str) -> None:
    found = _ledger(tmp_path, lines).problems(["a", "b"])

    assert any(problem in each for each in found), found


def test_an_attempt_that_was_lost_need_not_end(tmp_path: Path) -> None:
    lines = ["start a 1", "start a 2", "end a 2"]

    assert _ledger(tmp_path, lines).problems(["a"], lost={"1"}) == []


def test_a_task_enters_what_it_does_and_numbers_its_log(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger")
    script = ledger.script("a", "true", lines=3)

    done = subprocess.run(
        ["sh", "-c", script],
        capture_output=True,
        text=True,
        env={"PATH": "/usr/bin:/bin", "TIPHYS_ATTEMPT_ID": "uid.1"},
        check=True,
    )

    assert ledger.problems(["a"]) == []
    assert log_problems(done.stdout, ["a"], lines=3) == []


@pytest.mark.parametrize("numbers", [[1, 3], [1, 2, 2, 3], [2, 1, 3], []])
def test_gaps_repeats_and_disorder_in_a_log_are_seen(numbers: list[int]) -> None:
    text = "".join(f"pod: numbered a {number}\n" for number in numbers)

    assert len(log_problems(text, ["a"], lines=3)) == 1
