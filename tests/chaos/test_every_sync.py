"""Killed at each call that makes something durable: the server's, and then the executor's.

``make test`` takes a sample, spread over all of them; ``make chaos`` takes all.
"""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.chaos import strace
from tests.chaos.flow import LINES, stages
from tests.chaos.helm import FULL, Helm, Served, seed_of_run, wait_until
from tiphys.errors import TiphysError
from tiphys.testing.ledger import Ledger, log_problems

SAMPLE = 4
NOT_HERE = strace.missing()
pytestmark = [
    pytest.mark.skipif(bool(NOT_HERE), reason=NOT_HERE),
    pytest.mark.timeout(3600 if FULL else 300),
]


class Rounds:
    """One small workflow after another, each in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._number = 0

    def next(self) -> tuple[Helm, Ledger, dict[str, Any], list[str]]:
        """Give the next, with a database that is there already."""
        self._number += 1
        folder = self._folder / str(self._number)
        folder.mkdir()
        ledger = Ledger(folder / "ledger")
        flow, keys = stages("twenty", ledger, count=7, width=2)
        return Helm(folder), ledger, flow, keys


def _chosen(calls: int) -> Iterator[int]:
    """Give the numbers of the calls to be killed at."""
    if FULL:
        yield from range(1, calls + 1)
        return
    chance = random.Random(seed_of_run())
    # How many there are differs from run to run; the first two thirds are there in each.
    calls = calls * 2 // 3
    for part in range(SAMPLE):
        yield chance.randint(1 + part * calls // SAMPLE, (part + 1) * calls // SAMPLE)


def _run_until_dead(helm: Helm, served: Served, flow: dict[str, Any]) -> tuple[bool, bool]:
    """Submit and wait; tell whether the submission was taken, and whether its end was told."""
    taken = False
    try:
        served.wait_ready()
        helm.hand_in(flow)
        taken = True
        helm.ask("wait", key="twenty")
    except (AssertionError, TiphysError, OSError):
        return taken, False
    return taken, True


def _count_server_calls(rounds: Rounds, folder: Path) -> int:
    helm, _, flow, _ = rounds.next()
    with helm:
        served = helm.serve(*strace.injecting(folder / "count", ""))
        assert _run_until_dead(helm, served, flow) == (True, True)
        served.end()
    return strace.count(folder / "count")


def test_a_server_killed_at_a_sync_loses_nothing(tmp_path: Path, record_property: Any) -> None:
    rounds = Rounds(tmp_path)
    calls = _count_server_calls(rounds, tmp_path)
    hit = []
    for number in _chosen(calls):
        helm, ledger, flow, keys = rounds.next()
        with helm:
            trace = tmp_path / f"trace-{number}"
            served = helm.serve(*strace.injecting(trace, f"signal=KILL:when={number}"))
            taken, survived = _run_until_dead(helm, served, flow)
            hit += [] if survived else [number]
            served.kill()
            helm.up()
            stored = helm.query("SELECT count(*) FROM workflows") == [(1,)]
            assert stored or not taken, f"call {number}: an acknowledged submission is lost"
            if not stored:
                helm.hand_in(flow)

            ended = helm.ask("wait", key="twenty")

            assert ended["phase"] == "Succeeded", f"call {number}: {ended}"
            assert ledger.problems(keys) == [], f"call {number}"
            text = helm("logs", "twenty").stdout
            assert log_problems(text, keys, lines=LINES) == [], f"call {number}"
            assert helm.integrity() == "ok", f"call {number}"
    record_property("killed at", f"{hit} of {calls} syncs")
    assert hit


def _executor(helm: Helm, words: list[str]) -> subprocess.Popen[bytes]:
    """Start the executor before the server does."""
    helm.data.mkdir(mode=0o700)
    command = [sys.executable, "-m", "tiphys.executor", "--data", str(helm.data)]
    options = ["--linger", "20", "--no-sandbox", "--foreground"]
    return subprocess.Popen(
        [*words, *command, *options], env=helm.environment, stderr=subprocess.DEVNULL
    )


def _wait_for_socket(helm: Helm, process: subprocess.Popen[bytes]) -> None:
    """Wait until the executor listens, or is dead already: its first syncs come before that."""
    socket = helm.data / "executor" / "socket"
    wait_until(
        lambda: socket.exists() or process.poll() is not None, "the executor's socket or end"
    )


def _count_executor_calls(rounds: Rounds, folder: Path) -> int:
    helm, _, flow, _ = rounds.next()
    with helm:
        process = _executor(helm, strace.injecting(folder / "count", ""))
        _wait_for_socket(helm, process)
        assert _run_until_dead(helm, helm.serve(), flow) == (True, True)
        process.kill()
        process.wait()
    return strace.count(folder / "count")


def test_an_executor_killed_at_a_sync_runs_nothing_twice(
    tmp_path: Path, record_property: Any
) -> None:
    rounds = Rounds(tmp_path)
    calls = _count_executor_calls(rounds, tmp_path)
    hit = []
    for number in _chosen(calls):
        helm, ledger, flow, _ = rounds.next()
        with helm:
            trace = tmp_path / f"trace-{number}"
            words = strace.injecting(trace, f"signal=KILL:when={number}")
            process = _executor(helm, words)
            _wait_for_socket(helm, process)
            helm.up()
            helm.hand_in(flow)

            helm.ask("wait", key="twenty")

            hit += [number] if process.poll() is not None else []
            process.kill()
            process.wait()
            _check_what_is_left(helm, ledger)
    record_property("killed at", f"{hit} of {calls} syncs")
    assert hit


def _check_what_is_left(helm: Helm, ledger: Ledger) -> None:
    """Each pod succeeded and was done, or was lost; none began twice; none runs any more."""
    attempts = {entry.attempt for entry in ledger.entries()}
    assert ledger.problems([], lost=attempts) == []
    for pod in helm.pods("twenty"):
        if pod["phase"] == "Succeeded":
            assert pod["outputs"]["exitCode"] == "0"
        else:
            assert pod["phase"] == "Error"
            assert pod["message"].startswith("executor lost")
            assert "exitCode" not in pod.get("outputs", {})
    assert helm.tasks() == []
