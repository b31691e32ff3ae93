"""Executor or tasks are killed, or all of them: right phases, retries by policy, no orphan."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.chaos.flow import KEY, shell, workflow
from tests.chaos.helm import Helm, Served, wait_until
from tiphys.testing.ledger import BEGAN, Ledger

WIDTH = 6
LEAVING = "setsid sh -c 'sleep 600' & (sleep 600 &) ; "
"""Children that leave the session, or lose their parent."""
Retry = dict[str, Any]


class Scene:
    """A server with a workflow whose tasks sleep until they are told to go on, or killed."""

    def __init__(self, folder: Path, isolation: str) -> None:
        self.place = folder / "shared"
        self.place.mkdir()
        self._volumes: list[dict[str, Any]] = []
        self._seen = str(self.place)
        if isolation != "process":
            self._seen = "/shared"
            self._volumes = [{"name": "shared", "hostPath": {"path": str(self.place)}}]
        self.ledger = Ledger(self.place / "ledger", seen_as=f"{self._seen}/ledger")
        self.helm = Helm(folder, isolation=isolation)
        self.keys = [f"k-{number}" for number in range(WIDTH)]
        self.server: Served

    def begin(self, *, retry: Retry | None = None) -> None:
        """Submit, and wait until every task has begun."""
        self.server = self.helm.up()
        self.helm.submit(self._flow(retry))
        wait_until(lambda: self.begun() == WIDTH, "the start of all tasks")

    def _flow(self, retry: Retry | None) -> dict[str, Any]:
        wait = f"{LEAVING} until [ -e {self._seen}/go ]; do sleep 0.05; done"
        task = shell("task", self.ledger.script(KEY, wait))
        if self._volumes:
            task["container"]["volumeMounts"] = [{"name": "shared", "mountPath": "/shared"}]
        if retry is not None:
            task["retryStrategy"] = retry
        argument = {"name": "key", "value": "{{item}}"}
        step = {"name": "s", "template": "task", "withItems": self.keys}
        main = {"name": "main", "steps": [[{**step, "arguments": {"parameters": [argument]}}]]}
        return workflow("scene", [main, task], volumes=self._volumes)

    def begun(self) -> int:
        """Count the starts."""
        return sum(entry.word == BEGAN for entry in self.ledger.entries())

    def attempts(self) -> set[str]:
        """Give the attempts that began."""
        return {entry.attempt for entry in self.ledger.entries()}

    def go(self) -> None:
        """Let the tasks end."""
        (self.place / "go").touch()

    def kill_executor(self) -> None:
        """SIGKILL it."""
        (pid,) = self.helm.executors()
        os.kill(pid, signal.SIGKILL)

    def shells(self) -> list[int]:
        """Give the tasks' own processes, their children left out."""
        (executor,) = self.helm.executors()
        return [pid for pid in self.helm.tasks() if _parent_and_session(pid) == (executor, pid)]

    def finish(self) -> str:
        """Wait for the end; give the phase. Nothing may be left running.

        Steps whose tasks ended in Error are themselves Failed, as Argo has it.
        """
        self.helm("wait", "scene")
        assert self.helm.tasks() == []
        return str(self.helm.result("scene")["status"]["phase"])


def _parent_and_session(pid: int) -> tuple[int, int] | None:
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return None
    return int(fields[1]), int(fields[3])


@pytest.fixture
def scene(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Scene]:
    made = Scene(tmp_path, getattr(request, "param", "process"))
    with made.helm:
        yield made


both = pytest.mark.parametrize("scene", ["process", "auto"], indirect=True)
"""With and without a sandbox, where this machine has one."""


@both
def test_what_ran_when_the_executor_was_killed_is_an_error_without_exit_code(scene: Scene) -> None:
    scene.begin()

    scene.kill_executor()

    assert scene.finish() == "Failed"
    pods = scene.helm.pods("scene")
    assert len(pods) == WIDTH
    for pod in pods:
        assert pod["phase"] == "Error"
        assert pod["message"].startswith("executor lost")
        assert "exitCode" not in pod.get("outputs", {})
    assert scene.begun() == WIDTH


@both
def test_lost_tasks_run_again_where_the_policy_says_so(scene: Scene) -> None:
    scene.begin(retry={"limit": 2, "retryPolicy": "Always"})
    lost = scene.attempts()

    scene.kill_executor()
    wait_until(lambda: scene.begun() == 2 * WIDTH, "the second attempts")
    scene.go()

    assert scene.finish() == "Succeeded"
    assert scene.ledger.problems(scene.keys, lost=lost) == []
    phases = sorted(pod["phase"] for pod in scene.helm.pods("scene"))
    assert phases == ["Error"] * WIDTH + ["Succeeded"] * WIDTH


def test_a_policy_for_failures_does_not_retry_what_was_lost(scene: Scene) -> None:
    scene.begin(retry={"limit": 2, "retryPolicy": "OnFailure"})

    scene.kill_executor()

    assert scene.finish() == "Failed"
    assert scene.begun() == WIDTH


def test_executor_and_server_killed_together_leave_errors_for_the_next_server(
    scene: Scene,
) -> None:
    scene.begin()

    scene.server.kill()
    scene.kill_executor()
    scene.helm.up()

    assert scene.finish() == "Failed"
    assert {pod["phase"] for pod in scene.helm.pods("scene")} == {"Error"}
    assert scene.begun() == WIDTH


@both
def test_killed_tasks_fail_with_the_signals_exit_code(scene: Scene) -> None:
    scene.begin()

    killed = scene.shells()
    for pid in killed:
        os.kill(pid, signal.SIGKILL)

    assert len(killed) == WIDTH
    assert scene.finish() == "Failed"
    for pod in scene.helm.pods("scene"):
        assert pod["phase"] == "Failed"
        assert pod["outputs"]["exitCode"] == "137"


def test_tasks_killed_with_their_executor_are_lost_as_well(scene: Scene) -> None:
    scene.begin()

    for pid in scene.shells():
        os.kill(pid, signal.SIGKILL)
    scene.kill_executor()

    assert scene.finish() == "Failed"
    for pod in scene.helm.pods("scene"):
        code = pod.get("outputs", {}).get("exitCode")
        assert (pod["phase"], code) in {("Error", None), ("Failed", "137")}


def test_tasks_that_end_while_no_server_is_up_are_taken_as_they_ended(scene: Scene) -> None:
    scene.begin()

    scene.server.kill()
    scene.go()
    wait_until(lambda: not scene.helm.tasks(), "the end of the tasks")
    scene.helm.up()

    assert scene.finish() == "Succeeded"
    assert scene.ledger.problems(scene.keys) == []
