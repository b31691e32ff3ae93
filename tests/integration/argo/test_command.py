"""The real ``argo`` command, as built from its sources, against our server."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.contract.argo_server import ADMIN, ArgoServer, flow, shell

Run = Callable[..., str]
PAUSED = {
    "name": "main",
    "suspend": {},
    "outputs": {"parameters": [{"name": "verdict", "valueFrom": {"supplied": {}}}]},
}


class ArgoFailedError(Exception):
    """The command ended with an error."""


@pytest.fixture
def run(server: ArgoServer, argo: Path, tmp_path: Path) -> Run:
    """Give a way to run the command; an object among its arguments is handed over as a file."""
    environment = {
        "ARGO_SERVER": f"127.0.0.1:{server.port}",
        "ARGO_HTTP1": "true",
        "ARGO_SECURE": "false",
        "ARGO_BASE_HREF": "/argo",
        "ARGO_TOKEN": f"Bearer {ADMIN}",
        "ARGO_NAMESPACE": "default",
        "HOME": str(tmp_path),
    }

    def call(*arguments: Any, **more: str) -> str:
        words = []
        for number, each in enumerate(arguments):
            if isinstance(each, dict):
                path = tmp_path / f"{number}.json"
                path.write_text(json.dumps(each))
                words.append(str(path))
            else:
                words.append(each)
        done = subprocess.run(
            [str(argo), *words],
            env={**environment, **more},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        if done.returncode:
            raise ArgoFailedError(done.stderr)
        return done.stdout

    return call


def manifest(*templates: dict[str, Any], **meta: Any) -> dict[str, Any]:
    kind = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow"}
    return {**kind, **flow(*templates, **meta)}


def template(kind: str, name: str) -> dict[str, Any]:
    made = manifest(shell("echo {{workflow.parameters.word}}"))
    parameters = {"parameters": [{"name": "word", "value": "hello"}]}
    return {
        **made,
        "kind": kind,
        "metadata": {"name": name},
        "spec": {**made["spec"], "arguments": parameters},
    }


def test_a_workflow_is_submitted_and_waited_for(run: Run) -> None:
    assert "Succeeded" in run("submit", "--wait", manifest())


def test_a_workflow_is_watched_to_its_end(run: Run) -> None:
    assert "Succeeded" in run("submit", "--watch", manifest(shell("sleep 0.3")))


def test_logs_are_followed_from_submission_on(run: Run) -> None:
    told = run("submit", "--log", manifest(shell("echo one; sleep 0.3; echo two")))

    assert told.index("one") < told.index("two")


def test_the_latest_workflow_is_got_and_its_logs_read(run: Run) -> None:
    name = run("submit", "--wait", "-o", "name", manifest(shell("echo said"))).split()[0]

    assert json.loads(run("get", "@latest", "-o", "json"))["metadata"]["name"] == name
    assert run("logs", "@latest", "--no-color").strip() == f"{name}: said"


def test_lists_go_by_status_label_and_page(run: Run) -> None:
    good, bad, last = (
        run("submit", "-o", "name", manifest(shell(each), labels={"set": "cli"})).strip()
        for each in ("true", "exit 1", "true")
    )
    with pytest.raises(ArgoFailedError):  # It exits with 1 because one of them failed.
        run("wait", good, bad, last)

    def listed(*more: str) -> set[str]:
        return set(run("list", "-o", "name", "-l", "set=cli", *more).split())

    assert listed() == {good, bad, last}
    assert listed("--chunk-size", "1") == {good, bad, last}
    assert listed("-A") == {good, bad, last}
    assert listed("--status", "Failed") == {bad}
    assert listed("--completed") == {good, bad, last}
    assert "No workflows found" in run("list", "-l", "set=cli", "--running")


def test_a_failed_workflow_is_retried_and_resubmitted(run: Run, tmp_path: Path) -> None:
    flag = tmp_path / "flag"
    name = run("submit", "-o", "name", manifest(shell(f"test -e {flag}"))).strip()
    with pytest.raises(ArgoFailedError):
        run("wait", name)
    flag.touch()

    assert "Succeeded" in run("retry", name, "--watch")
    assert "Succeeded" in run("resubmit", name, "--watch")
    assert run("list", "-o", "name", "--resubmitted").split()


def test_running_work_is_suspended_resumed_stopped_and_terminated(run: Run) -> None:
    first = run("submit", "-o", "name", manifest(shell("sleep 100"))).strip()
    second = run("submit", "-o", "name", manifest(shell("sleep 100"))).strip()

    assert "suspended" in run("suspend", first)
    assert "resumed" in run("resume", first)
    assert "stopped" in run("stop", first, "--message", "enough")
    assert "terminated" in run("terminate", second)

    phases = {json.loads(run("get", each, "-o", "json"))["status"]["phase"] for each in (first,)}
    assert phases == {"Failed"}


def test_a_pause_gets_its_output_by_hand(run: Run) -> None:
    name = run("submit", "-o", "name", manifest(PAUSED)).strip()
    selector = ["--node-field-selector", f"displayName={name}"]

    run("node", "set", name, *selector, "--phase", "Succeeded", "--output-parameter", "verdict=ok")

    run("wait", name)
    (node,) = json.loads(run("get", name, "-o", "json"))["status"]["nodes"].values()
    assert node["outputs"]["parameters"][0]["value"] == "ok"


@pytest.mark.parametrize(
    ("word", "kind"),
    [("template", "WorkflowTemplate"), ("cluster-template", "ClusterWorkflowTemplate")],
)
def test_templates_are_kept_and_run(run: Run, word: str, kind: str) -> None:
    made = template(kind, f"kept-{word}")
    run(word, "create", made)

    assert f"kept-{word}" in run(word, "list")
    assert "no linting errors" in run(word, "lint", made)
    run(word, "update", made)
    told = run("submit", "--from", f"{kind}/kept-{word}", "-p", "word=moin", "--log")
    assert "moin" in told
    run(word, "delete", f"kept-{word}")
    with pytest.raises(ArgoFailedError, match="NotFound"):
        run(word, "get", f"kept-{word}")


def test_cron_workflows_are_kept_and_run(run: Run) -> None:
    made = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "CronWorkflow",
        "metadata": {"name": "tick"},
        "spec": {"schedules": ["* * * * *"], "workflowSpec": manifest(shell("echo tock"))["spec"]},
    }
    assert "tick" in run("cron", "create", "--schedule", "0 0 1 1 *", made)

    name, _, last, _, *schedule, suspended = run("cron", "list").splitlines()[1].split()
    assert (name, last, schedule, suspended) == ("tick", "N/A", ["0", "0", "1", "1", "*"], "false")
    assert run("cron", "list", "-o", "name", "-A").split() == ["tick"]
    assert "no linting errors" in run("cron", "lint", made)
    assert "suspended" in run("cron", "suspend", "tick")
    assert json.loads(run("cron", "get", "tick", "-o", "json"))["spec"]["suspend"] is True
    assert "resumed" in run("cron", "resume", "tick")
    assert "* * * * *" in run("cron", "update", made)
    assert "tock" in run("submit", "--from", "cronwf/tick", "--log")
    run("cron", "delete", "tick")
    with pytest.raises(ArgoFailedError, match="NotFound"):
        run("cron", "get", "tick")


def test_artifacts_are_copied(run: Run, tmp_path: Path) -> None:
    outputs = {"artifacts": [{"name": "kept", "path": "/tmp/tiphys-kept"}]}
    name = run(
        "submit",
        "--wait",
        "-o",
        "name",
        manifest(shell("date > /tmp/tiphys-kept", outputs=outputs)),
    ).split()[0]

    run("cp", name, str(tmp_path / "out"))

    (copied,) = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert copied.stat().st_size


def test_the_archive_holds_what_has_ended(run: Run) -> None:
    run("submit", "--wait", manifest())
    uid = json.loads(run("get", "@latest", "-o", "json"))["metadata"]["uid"]

    assert uid in run("archive", "list")
    assert "Succeeded" in run("archive", "get", uid)


def test_mistakes_are_told_in_words(run: Run) -> None:
    wrong = {**manifest(), "spec": {"entrypoint": "none", "templates": [shell("true")]}}

    with pytest.raises(ArgoFailedError, match="there is no template 'none'"):
        run("submit", wrong)
    with pytest.raises(ArgoFailedError):
        run("lint", wrong)
    with pytest.raises(ArgoFailedError, match="Unauthenticated"):
        run("list", ARGO_TOKEN="Bearer nobody's")


def test_a_dry_run_names_what_would_be_made(run: Run) -> None:
    assert run("submit", "--server-dry-run", "-o", "name", manifest(prefix="dry-")).startswith(
        "dry-"
    )


def test_everything_is_deleted(run: Run) -> None:
    name = run("submit", "--wait", "-o", "name", manifest()).split()[0]

    assert "deleted" in run("delete", name)
    with pytest.raises(ArgoFailedError, match="NotFound"):
        run("get", name)


def test_the_version_of_the_server_is_told(run: Run) -> None:
    assert "argo-server: v4." in run("version")
