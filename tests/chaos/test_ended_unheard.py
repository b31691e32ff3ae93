"""Tasks that end well while no tiphys is up; a stop or a deadline comes before the news of it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.chaos.flow import workflow
from tests.chaos.helm import Helm, wait_until

DEADLINE = 6
"""Seconds; the first server is killed before they are over, on a busy machine, too."""


class Scene:
    """A server is killed while a task runs, and the task goes on to a good end."""

    def __init__(self, folder: Path) -> None:
        self.helm = Helm(folder)
        self._folder = folder
        self._ledger, self._go, self._done = folder / "ledger", folder / "go", folder / "done"

    def _task(self, more: dict[str, Any]) -> dict[str, Any]:
        script = (
            f"echo began >>{self._ledger}; until [ -e {self._go} ]; do sleep 0.05; done; "
            f"echo well >{self._folder}/value"
        )
        value = {"name": "value", "valueFrom": {"path": f"{self._folder}/value"}}
        return {
            "name": "task",
            "container": {"image": "none", "command": ["sh", "-c", script]},
            "outputs": {"parameters": [value]},
            "retryStrategy": {"limit": 1, "retryPolicy": "Always"},
            **more,
        }

    def end_a_task_unheard(self, *, task: dict[str, Any] | None = None, **spec: Any) -> None:
        """Have a task begin, kill its server, and let the task end."""
        main = {
            "name": "main",
            "steps": [[{"name": "a", "template": "task"}], [{"name": "b", "template": "after"}]],
        }
        command = ["sh", "-c", f"echo after >>{self._ledger}"]
        after = {"name": "after", "container": {"image": "none", "command": command}}
        server = self.helm.up()
        self.helm.hand_in(workflow("scene", [main, self._task(task or {}), after], **spec))
        wait_until(lambda: self.ledger() == ["began"], "the start of the task")
        server.kill()
        self._go.touch()
        wait_until(lambda: self.helm.tasks() == [], "the end of the task")

    def ledger(self) -> list[str]:
        """Give what tasks wrote."""
        return self._ledger.read_text().split() if self._ledger.exists() else []

    def phases(self) -> dict[str, str]:
        """Give the phase of each pod by name."""
        return {pod["name"]: pod["phase"] for pod in self.helm.pods("scene")}


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    made = Scene(tmp_path)
    with made.helm:
        yield made


@pytest.mark.parametrize("verb", ["stop", "terminate"])
def test_a_task_that_ended_well_unheard_is_no_failure_when_its_run_is_stopped(
    scene: Scene, verb: str
) -> None:
    scene.end_a_task_unheard()

    stopped = scene.helm(verb, "scene")

    assert stopped.returncode == 0, stopped.stderr
    assert scene.phases()["scene[0].a(0)"] == "Succeeded"
    assert scene.ledger() == ["began"]
    assert scene.helm.result("scene")["status"]["phase"] == "Failed"


def test_after_the_stop_a_retry_does_not_run_again_what_ended_well(scene: Scene) -> None:
    scene.end_a_task_unheard()
    scene.helm("stop", "scene")

    retried = scene.helm("retry", "scene")

    assert retried.returncode == 0, retried.stderr
    assert scene.helm("wait", "scene").returncode == 0
    assert scene.ledger() == ["began", "after"]


def test_a_task_that_ended_well_unheard_is_no_failure_after_the_deadline(scene: Scene) -> None:
    scene.end_a_task_unheard(activeDeadlineSeconds=DEADLINE)
    time.sleep(DEADLINE)

    scene.helm("wait", "scene")

    phases = scene.phases()
    assert phases["scene[0].a(0)"] == "Succeeded"
    assert phases["scene[1].b"] == "Failed"
    assert scene.ledger() == ["began"]
