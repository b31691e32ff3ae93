"""``tiphys cron`` and ``tiphys template``: without a server, beside one, and away from one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.contract.api_server import ADMIN, ApiServer

CRON = """
apiVersion: argoproj.io/v1alpha1
kind: CronWorkflow
metadata: {name: tick, labels: {a: b}}
spec:
  schedules: ["0 0 1 1 *"]
  timezone: UTC
  workflowSpec:
    entrypoint: main
    arguments: {parameters: [{name: word, value: tock}]}
    templates:
      - name: main
        container: {image: any, command: [echo, "{{workflow.parameters.word}}"]}
"""
TEMPLATE = """
apiVersion: argoproj.io/v1alpha1
kind: WorkflowTemplate
metadata: {name: kept}
spec:
  entrypoint: main
  templates: [{name: main, container: {image: any, command: ["true"]}}]
"""
Run = Callable[..., str]


class CommandFailedError(Exception):
    """The command ended with an error."""


def command(folder: Path, environment: dict[str, str]) -> Run:
    kept = {key: value for key, value in os.environ.items() if not key.startswith("TIPHYS_")}

    def call(*words: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "tiphys", *words],
            env={**kept, "HOME": str(folder), **environment},
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        if done.returncode:
            raise CommandFailedError(done.stderr)
        return done.stdout

    return call


@pytest.fixture(scope="module", params=["alone", "door", "elsewhere"])
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """Give the command, with no server, beside one, and away from one."""
    folder = tmp_path_factory.mktemp("commands")
    for name in ("tick", "beat"):
        (folder / f"{name}.yaml").write_text(CRON.replace("tick", name))
    (folder / "template.yaml").write_text(TEMPLATE)
    if request.param == "alone":
        (folder / "tiphys.yaml").write_text("lingerSeconds: 0.1\n")
        yield command(folder, {"TIPHYS_DATA_DIR": str(folder / "data")})
        return
    with ApiServer(folder) as server:
        if request.param == "door":
            yield command(folder, {"TIPHYS_DATA_DIR": str(server.data)})
        else:
            nothing = {"TIPHYS_DATA_DIR": str(folder / "nothing-here"), "TIPHYS_TOKEN": ADMIN}
            address = f"http://127.0.0.1:{server.port}"
            yield command(folder, {**nothing, "TIPHYS_SERVER": address})


@pytest.fixture
def serves(request: pytest.FixtureRequest) -> bool:
    return "alone" not in request.node.name


def test_a_schedule_is_kept_shown_changed_and_deleted(run: Run) -> None:
    made = run("cron", "create", "tick.yaml")
    assert made.startswith("Name:                          tick\n")
    with pytest.raises(CommandFailedError, match="already a schedule named 'tick'"):
        run("cron", "create", "tick.yaml")

    head, row = run("cron", "list", "-l", "a=b").splitlines()
    assert head.startswith("NAME   AGE")
    assert row.startswith("tick")
    assert row.endswith("UTC        false")
    assert json.loads(run("cron", "get", "tick", "-o", "json"))["spec"]["timezone"] == "UTC"
    (slot,) = run("cron", "next", "tick", "-c", "1").splitlines()
    assert slot[4:20] == "-01-01T00:00:00Z"

    assert run("cron", "suspend", "tick") == "CronWorkflow 'tick' suspended\n"
    assert run("cron", "list", "-A").splitlines()[1].endswith("true")
    assert run("cron", "resume", "tick") == "CronWorkflow 'tick' resumed\n"
    assert "0 0 1 1 *" in run("cron", "update", "tick.yaml")
    assert run("cron", "delete", "tick") == "CronWorkflow 'tick' deleted\n"
    with pytest.raises(CommandFailedError, match="no schedule 'tick'"):
        run("cron", "get", "tick")


def test_a_schedule_is_run_and_filled_back_by_a_server(run: Run, serves: bool) -> None:
    run("cron", "create", "beat.yaml", "--schedule", "0 0 * * *")
    past = ["backfill", "beat", "--start", "2026-01-01T00:00:00Z", "--end", "2026-01-03T00:00:00Z"]
    if not serves:
        for words in (["run", "beat"], past):
            with pytest.raises(CommandFailedError, match="no server is running"):
                run("cron", *words)
        return

    name = run("cron", "run", "beat", "-p", "word=moin").strip()
    assert run("cron", *past, "--name", "new").startswith("backfill new of beat: 3 runs")

    run("wait", name)
    assert "moin" in run("logs", name)


def test_mistakes_are_told(run: Run) -> None:
    with pytest.raises(CommandFailedError, match="ends behind 59"):
        run("cron", "create", "tick.yaml", "--schedule", "60 * * * *")
    with pytest.raises(CommandFailedError, match="no CronWorkflow"):
        run("cron", "create", "template.yaml")
    with pytest.raises(CommandFailedError, match="no WorkflowTemplate"):
        run("template", "create", "tick.yaml")


def test_templates_are_kept_shown_and_deleted(run: Run) -> None:
    assert run("template", "create", "template.yaml") == "template kept created\n"
    with pytest.raises(CommandFailedError, match="already a template"):
        run("template", "create", "template.yaml")
    assert run("template", "update", "template.yaml") == "template kept updated\n"
    assert json.loads(run("template", "get", "kept", "-o", "json"))["spec"]["entrypoint"] == "main"
    assert run("template", "delete", "kept") == "template kept deleted\n"
    assert run("template", "list", "-A", "-o", "name") == ""
