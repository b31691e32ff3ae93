"""``tiphys queue``, ``explain`` and ``simulate`` from the outside, without a server."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tiphys.cli.app import run
from tiphys.scheduling.estimate import KIND, Memory
from tiphys.store import Batch, ObjectRow, Store

FLOW = """
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: wf, labels: {kueue.x-k8s.io/queue-name: QUEUE}}
spec:
  entrypoint: main
  arguments: {parameters: [{name: count, value: "2"}]}
  templates:
  - name: main
    steps:
    - - name: work
        template: work
        withSequence: {count: "{{workflow.parameters.count}}"}
  - name: work
    container: {image: x, command: [x], resources: {requests: {cpu: 1}}}
"""
PLAN = "queues: {night: {weight: 3, slaSeconds: 30}}"
TRACE = {
    "name": "old",
    "tasks": [
        {"id": "a", "seconds": 5, "cores": 1, "parents": [], "category": "a"},
        {"id": "b", "seconds": 5, "cores": 1, "parents": ["a"], "category": "b"},
    ],
}


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with a workflow, a plan and a trace."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("TIPHYS_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    Path("flow.yaml").write_text(FLOW.replace("QUEUE", "default"))
    Path("night.yaml").write_text(FLOW.replace("QUEUE", "night"))
    Path("plan.yaml").write_text(PLAN)
    Path("trace.json").write_text(json.dumps(TRACE))
    return tmp_path


def simulated(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert run(["simulate", "--capacity", "cpu=1,memory=1Gi", *words]) == 0
    return capsys.readouterr().out


# --- queue ----------------------------------------------------------------------------------


def test_a_queue_is_created_changed_closed_opened_and_deleted(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ["--weight", "2", "--capability", "cpu=1,memory=1Gi", "--sla", "2m", "--reclaim"]
    assert run(["queue", "create", "q", *words]) == 0
    assert run(["queue", "update", "q", "--weight", "5"]) == 0
    assert run(["queue", "close", "q"]) == 0
    capsys.readouterr()

    run(["queue", "get", "q", "-o", "json"])

    shown = json.loads(capsys.readouterr().out)
    assert (shown["weight"], shown["state"], shown["slaSeconds"]) == (5, "Closed", 120.0)
    assert (shown["capability"], shown["reclaim"]) == ({"cpu": "1", "memory": "1Gi"}, True)
    assert run(["queue", "open", "q"]) == 0
    assert run(["queue", "delete", "q"]) == 0
    assert run(["queue", "get", "q"]) == 1


def test_queues_are_listed_as_a_tree(capsys: pytest.CaptureFixture[str]) -> None:
    run(["queue", "create", "top"])
    run(["queue", "create", "leaf", "--parent", "top"])
    capsys.readouterr()

    run(["queue", "list"])

    lines = capsys.readouterr().out.splitlines()
    assert [line.split("  ")[0] or line.split()[0] for line in lines[1:]] == [
        "top",
        "leaf",
        "default",
    ]
    assert lines[2].startswith("  leaf")


def test_a_file_of_queues_is_created(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["queue", "create", "-f", "plan.yaml"]) == 0
    assert capsys.readouterr().out == "queue night created\n"


@pytest.mark.parametrize(
    "words",
    [
        ["create"],
        ["create", "q", "-f", "plan.yaml"],
        ["create", "q", "--capability", "8"],
        ["create", "q", "--capability", "cpu=lots"],
        ["create", "q", "--weight", "0"],
        ["create", "q", "--preset", "huge"],
        ["create", "root"],
        ["update", "default"],
        ["create", "-f", "missing.yaml"],
    ],
)
def test_mistakes_exit_with_2_and_change_nothing(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["queue", *words]) == 2
    assert capsys.readouterr().err
    run(["queue", "list", "-o", "name"])
    assert capsys.readouterr().out == "default\n"


def test_queues_of_the_settings_are_in_force(capsys: pytest.CaptureFixture[str]) -> None:
    Path("tiphys.yaml").write_text(PLAN)

    run(["queue", "list", "-o", "name"])

    assert capsys.readouterr().out == "night\ndefault\n"


def test_a_mistake_in_the_settings_has_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    Path("tiphys.yaml").write_text("queues:\n  a: {weight: 2}\n  b: {wieght: 2}\n")

    assert run(["queue", "list"]) == 2

    message = capsys.readouterr().err
    assert "tiphys.yaml:3:" in message
    assert "did you mean weight" in message


# --- explain --------------------------------------------------------------------------------


def test_a_stored_workflow_is_explained_without_a_server(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["submit", "flow.yaml"]) == 0
    capsys.readouterr()

    assert run(["explain", "wf"]) == 0
    assert "no server is running" in capsys.readouterr().out

    run(["explain", "wf", "-o", "json"])
    assert json.loads(capsys.readouterr().out)[0]["data"] == {"type": "NoServer"}


def test_an_unknown_workflow_cannot_be_explained() -> None:
    assert run(["explain", "nobody"]) == 1


# --- simulate -------------------------------------------------------------------------------


def test_a_workflow_is_played_with_the_default_duration(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = simulated(capsys, "flow.yaml", "--default-duration", "10s")

    assert text.startswith("makespan     20.0s")
    assert "work(1:1)" in text


def test_parameters_change_what_is_played(capsys: pytest.CaptureFixture[str]) -> None:
    text = simulated(capsys, "flow.yaml", "-p", "count=5", "--default-duration", "10s")

    assert text.startswith("makespan     50.0s")


def test_durations_come_from_what_ran_here(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    memory = Memory()
    memory.observe("wf/work", 7.0)
    rows = [
        ObjectRow(kind=KIND, namespace="default", name=name, body=body)
        for name, body in memory.take_changed(0.0)
    ]
    with Store.open(place / "data", owner=True) as store:
        store.commit(Batch(objects=rows))

    assert simulated(capsys, "flow.yaml").startswith("makespan     14.0s")


def test_workflows_and_traces_share_the_machine(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("flow.yaml", "--default-duration", "10s", "-o", "json")
    text = simulated(capsys, *words, "--trace", "trace.json,at=3")

    found = json.loads(text)

    assert found["report"]["makespan"] == 30.0
    assert {bar["workflow"] for bar in found["gantt"]} == {"wf", "old"}


def test_the_same_trace_may_come_twice(capsys: pytest.CaptureFixture[str]) -> None:
    text = simulated(capsys, "--trace", "trace.json", "--trace", "trace.json", "-o", "json")

    assert len(json.loads(text)["gantt"]) == 4


def test_missed_service_levels_are_counted_per_queue(capsys: pytest.CaptureFixture[str]) -> None:
    text = simulated(capsys, "night.yaml", "--queues", "plan.yaml", "-o", "json")

    assert json.loads(text)["report"]["queues"]["night"]["sla_misses"] == 1


def test_two_plans_are_put_side_by_side(capsys: pytest.CaptureFixture[str]) -> None:
    Path("tight.yaml").write_text("queues: {night: {capability: {cpu: 500m}}}")
    words = ("night.yaml", "--queues", "plan.yaml", "--compare", "tight.yaml")

    text = simulated(capsys, *words)
    both = json.loads(simulated(capsys, *words, "-o", "json"))
    picture = simulated(capsys, *words, "-o", "svg")

    assert text.splitlines()[0].split() == ["plan", "tight", "change"]
    assert [plan["name"] for plan in both["plans"]] == ["plan", "tight"]
    assert both["change"]["makespan"] == 0.0
    assert len(list(ElementTree.fromstring(picture).iter("{http://www.w3.org/2000/svg}g"))) == 2


def test_a_workflow_for_an_unknown_queue_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    Path("day.yaml").write_text("queues: {day: {}}")

    text = simulated(capsys, "night.yaml", "--queues", "day.yaml")

    assert "never started: wf: there is no queue night that takes work" in text


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--capacity", "16", "flow.yaml"], "name=amount"),
        (["flow.yaml", "--queues", "missing.yaml"], "No such file"),
        (["flow.yaml", "--queues", "flow.yaml"], "each queue needs a name"),
        (["--trace", "plan.yaml"], "not a workflow trace"),
        (["--trace", "trace.json,when=now"], "neither queue=… nor at=…"),
        (["--trace", "missing.json"], "No such file"),
        (["plan.yaml"], "plan.yaml"),
        (["flow.yaml", "--default-duration", "soon"], "duration"),
        ([], "give workflow files"),
    ],
)
def test_mistakes_of_a_simulation_exit_with_2_and_say_what_is_wrong(
    words: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["simulate", *words]) == 2

    captured = capsys.readouterr()
    assert problem in captured.err
    assert captured.out == ""
