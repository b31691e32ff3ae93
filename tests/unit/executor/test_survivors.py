"""A process is known by more than its pid."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator

import pytest

from tiphys.executor import survivors


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    env = {"PATH": os.environ["PATH"], "TIPHYS_ATTEMPT_ID": f"test.{os.getpid()}"}
    with subprocess.Popen(["sleep", "600"], env=env) as process:
        # Its environment is there a moment after it was started.
        end = time.monotonic() + 30
        while survivors.attempt_of(process.pid) is None:
            assert time.monotonic() < end, "it never began"
        yield process
        process.kill()


def test_a_process_that_started_at_the_recorded_time_is_killed(
    sleeper: subprocess.Popen[bytes],
) -> None:
    started = survivors.started_after_boot(sleeper.pid)
    assert started is not None

    assert survivors.kill_exact(sleeper.pid, started + 0.1)
    assert sleeper.wait() == -9


def test_a_process_with_the_pid_of_an_older_one_is_left_alone(
    sleeper: subprocess.Popen[bytes],
) -> None:
    assert not survivors.kill_exact(sleeper.pid, survivors.uptime() - 100)
    assert sleeper.poll() is None


def test_a_process_is_found_by_the_attempt_in_its_environment(
    sleeper: subprocess.Popen[bytes],
) -> None:
    attempt = f"test.{os.getpid()}"
    assert survivors.attempt_of(sleeper.pid) == attempt

    assert survivors.end_all_of({attempt}) >= 1
    assert sleeper.wait() == -9


def test_a_process_of_another_attempt_is_left_alone(sleeper: subprocess.Popen[bytes]) -> None:
    assert not survivors.kill_if(sleeper.pid, {"another"})
    assert sleeper.poll() is None
