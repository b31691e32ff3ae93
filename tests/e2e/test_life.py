"""The life of workflows from the command line, with no server: retry, resume, no cluster."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tiphys.store.lock import FolderLock

STEPS = """
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: flow}
spec:
  entrypoint: main
  templates:
  - name: main
    steps:
    - - {name: first, template: work, arguments: {parameters: [{name: me, value: first}]}}
      - {name: second, template: work, arguments: {parameters: [{name: me, value: second}]}}
    - - {name: third, template: work, arguments: {parameters: [{name: me, value: third}]}}
  - name: work
    inputs: {parameters: [{name: me}]}
    container: {image: x, command: [sh, -c, "echo {{inputs.parameters.me}} >> LEDGER"]}
"""
PAUSED = """
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: paused}
spec:
  entrypoint: main
  templates:
  - name: main
    steps:
    - - {name: approve, template: gate}
  - name: gate
    suspend: {}
    outputs: {parameters: [{name: who, valueFrom: {supplied: {}}}]}
"""
GIVEN = """
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: given}
spec:
  entrypoint: main
  arguments: {parameters: [{name: code, value: "1"}, {name: word, value: old}]}
  templates:
  - name: main
    steps:
    - - {name: first, template: first}
    - - {name: second, template: second}
  - name: first
    container: {image: x, command: [sh, -c, "sleep 1; exit {{workflow.parameters.code}}"]}
  - name: second
    container:
      image: x
      command: [sh, -c, "echo {{workflow.parameters.word}} >> LEDGER; exit 1"]
"""
CRON = """
apiVersion: argoproj.io/v1alpha1
kind: CronWorkflow
metadata: {name: nightly}
spec:
  schedules: ["30 2 * * *"]
  workflowSpec:
    entrypoint: main
    templates: [{name: main, container: {image: x, command: [echo]}}]
"""
BESIDE = """
apiVersion: v1
kind: Secret
metadata: {name: pass}
stringData: {word: hush}
---
apiVersion: v1
kind: Secret
metadata: {name: other, namespace: own}
stringData: {word: hush}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: map}
data: {text: shown}
---
apiVersion: argoproj.io/v1alpha1
kind: WorkflowTemplate
metadata: {name: kept}
spec:
  templates:
  - name: work
    container:
      image: x
      command: [sh, -c, "echo $WORD $TEXT >> LEDGER"]
      env:
      - {name: WORD, valueFrom: {secretKeyRef: {name: pass, key: word}}}
      - {name: TEXT, valueFrom: {configMapKeyRef: {name: map, key: text}}}
---
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: flow}
spec: {entrypoint: work, workflowTemplateRef: {name: kept}}
"""


class Tiphys:
    """The command with a data directory of its own; its tasks see the files of this machine."""

    def __init__(self, folder: Path) -> None:
        (folder / "tiphys.yaml").write_text("lingerSeconds: 0.1\nisolation: process\n")
        (folder / "paused.yaml").write_text(PAUSED)
        self.ledger = folder / "ledger"
        (folder / "flow.yaml").write_text(STEPS.replace("LEDGER", str(self.ledger)))
        self.folder = folder
        self.environment = {
            **os.environ,
            "HOME": str(folder),
            "TIPHYS_DATA_DIR": str(folder / "data"),
            "TIPHYS_CONFIG": str(folder / "tiphys.yaml"),
        }
        self.environment.pop("KUBECONFIG", None)

    def __call__(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "tiphys", *words],
            capture_output=True,
            text=True,
            env=self.environment,
            cwd=self.folder,
            timeout=120,
            check=False,
        )


@pytest.fixture
def tiphys(tmp_path: Path) -> Tiphys:
    return Tiphys(tmp_path)


def test_a_step_that_succeeded_and_what_followed_it_run_again_when_chosen(tiphys: Tiphys) -> None:
    assert tiphys("run", "-q", "flow.yaml").returncode == 0

    chosen = ("--restart-successful", "--node-field-selector", "displayName=first")
    retried = tiphys("retry", "flow", *chosen)

    assert retried.returncode == 0, retried.stderr
    assert tiphys("wait", "flow").returncode == 0
    assert sorted(tiphys.ledger.read_text().split()) == [
        *("first", "first"),
        "second",
        *("third", "third"),
    ]


def test_what_a_retry_was_given_is_there_for_later_steps_and_later_retries(
    tiphys: Tiphys,
) -> None:
    (tiphys.folder / "given.yaml").write_text(GIVEN.replace("LEDGER", str(tiphys.ledger)))
    assert tiphys("run", "-q", "given.yaml").returncode == 1

    # The command ends while the first step runs: the second one is begun by another process.
    assert tiphys("retry", "given", "-p", "code=0", "-p", "word=new").returncode == 0
    assert tiphys("wait", "given").returncode == 1
    assert tiphys("retry", "given").returncode == 0
    assert tiphys("wait", "given").returncode == 1

    assert tiphys.ledger.read_text().split() == ["new", "new"]
    told = json.loads(tiphys("get", "given", "-o", "json").stdout)["spec"]["arguments"]
    assert [each["value"] for each in told["parameters"]] == ["0", "new"]


def test_a_pause_that_needs_a_value_is_not_resumed_without_it(tiphys: Tiphys) -> None:
    tiphys("submit", "paused.yaml")

    bare = tiphys("resume", "paused")
    wrong = tiphys("resume", "paused", "-p", "who=jason", "-p", "what=oar")
    right = tiphys("resume", "paused", "-p", "who=jason")

    assert bare.returncode == 2
    assert "needs a value for its output parameter 'who'" in bare.stderr
    assert wrong.returncode == 2
    assert "no pause waits for a parameter 'what'" in wrong.stderr
    assert right.returncode == 0, right.stderr
    assert tiphys("wait", "paused").returncode == 0


def test_a_run_that_stands_still_says_why_and_what_to_do(tiphys: Tiphys) -> None:
    hint = "paused[0].approve: waits to be resumed: `tiphys resume paused` lets it go on"
    said = tiphys.folder / "said"
    with said.open("w") as told:
        running = subprocess.Popen(
            [sys.executable, "-m", "tiphys", "run", "paused.yaml"],
            stderr=told,
            env=tiphys.environment,
            cwd=tiphys.folder,
        )
    end = time.monotonic() + 60
    while hint not in said.read_text() and time.monotonic() < end:
        time.sleep(0.1)
    resumed = tiphys("resume", "paused", "-p", "who=jason")

    assert resumed.returncode == 0, resumed.stderr
    assert running.wait(60) == 0
    assert said.read_text().count(hint) == 1


@pytest.mark.parametrize(
    ("text", "word"),
    [
        (CRON, "`tiphys cron create` takes it, and `tiphys cron run nightly` then runs it at once"),
        (STEPS.replace("kind: Workflow", "kind: WorkflowTemplate"), "there are only templates in"),
        ("", "there is no Workflow in other.yaml"),
    ],
)
def test_what_is_not_run_says_what_takes_it(tiphys: Tiphys, text: str, word: str) -> None:
    (tiphys.folder / "other.yaml").write_text(text)

    done = tiphys("run", "other.yaml")

    assert (done.returncode, word in done.stderr) == (2, True)


def test_a_schedule_beside_a_workflow_is_not_passed_over_in_silence(tiphys: Tiphys) -> None:
    (tiphys.folder / "both.yaml").write_text(f"{STEPS}---{CRON}")

    done = tiphys("run", "-o", "name", "both.yaml")

    assert (done.returncode, done.stdout) == (0, "flow\n")
    assert "warning: both.yaml:18:7: kind: the CronWorkflow nightly is left alone" in done.stderr


def test_without_a_cluster_work_for_one_ends_with_a_plain_word(tiphys: Tiphys) -> None:
    done = tiphys("run", "--scheduler", "k8s-native", "flow.yaml")

    assert done.returncode == 1
    assert "no cluster is known" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("", "there is no Workflow"),
        (CRON, "`tiphys cron create` takes it"),
    ],
)
def test_what_would_not_be_kept_is_not_taken(tiphys: Tiphys, text: str, word: str) -> None:
    (tiphys.folder / "other.yaml").write_text(text)

    done = tiphys("submit", "other.yaml")

    assert done.returncode == 2
    assert word in done.stderr


def test_what_stands_beside_a_workflow_goes_into_the_namespace_that_it_goes_into(
    tiphys: Tiphys,
) -> None:
    (tiphys.folder / "flow.yaml").write_text(BESIDE.replace("LEDGER", str(tiphys.ledger)))

    done = tiphys("submit", "-n", "team", "-w", "flow.yaml")

    assert done.returncode == 0, done.stderr
    assert tiphys.ledger.read_text() == "hush shown\n"
    secrets = tiphys.folder / "data" / "secrets"
    kept = sorted(str(path.relative_to(secrets)) for path in secrets.rglob("*.json"))
    assert kept == ["own/other.json", "team/pass.json"]
    assert tiphys("template", "list", "-n", "team", "-o", "name").stdout == "kept\n"
    assert tiphys("template", "list", "-o", "name").stdout == ""


def test_one_that_is_not_there_does_not_keep_the_others_from_ending(tiphys: Tiphys) -> None:
    tiphys("submit", "paused.yaml")

    done = tiphys("terminate", "nobody", "paused")

    assert done.returncode == 1
    assert done.stdout == "paused terminated\n"
    assert "there is no workflow 'nobody'" in done.stderr


def test_a_host_that_does_not_answer_yet_is_waited_for(tiphys: Tiphys) -> None:
    data = tiphys.folder / "data"
    lock = FolderLock.take(data)
    # As one that has just begun: it has the folder, and its door is still shut.
    with ThreadPoolExecutor(1) as beside:
        run = beside.submit(tiphys, "run", "-q", "flow.yaml")
        while not (data / "executor/socket").exists():
            assert not run.done(), run.result().stderr
            time.sleep(0.01)
        time.sleep(0.5)
        lock.release()

    assert run.result().returncode == 0, run.result().stderr
    assert sorted(tiphys.ledger.read_text().split()) == ["first", "second", "third"]
