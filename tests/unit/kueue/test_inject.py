"""Workflows with pauses: still valid, and each pause tells what the layer behind it needs."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from tiphys.kueue import label
from tiphys.kueue.inject import PAUSE, inject_text

HEAD = "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nmetadata: {name: w}\nspec:\n"
WORK = """
  - name: work
    inputs: {parameters: [{name: x, default: "1"}]}
    container: {image: busybox, command: [echo], resources: {requests: {cpu: 500m}}}
"""
STEPS = (
    HEAD
    + "  entrypoint: main\n  templates:"
    + WORK
    + """
  - name: inner
    steps:
    - - {name: deep, template: work}
  - name: main
    steps:
    - - {name: make, template: work}
    - - {name: nested, template: inner}
    - - {name: loop, template: work, withItems: [a, b, c]}
      - {name: list, template: work, withParam: "{{steps.make.outputs.result}}"}
"""
)
DAG = (
    HEAD
    + "  entrypoint: main\n  templates:"
    + WORK
    + """
  - name: main
    dag:
      tasks:
      - {name: a, template: work}
      - {name: b, template: work, %(b)s}
      - {name: c, template: work, %(b)s}
      - {name: d, template: work, %(d)s}
"""
)


def templates(text: str) -> dict[str, Any]:
    (document,) = yaml.safe_load_all(inject_text(text))
    return {each["name"]: each for each in document["spec"]["templates"]}


def needs(step: dict[str, Any]) -> list[tuple[int, list[str]]]:
    (podsets, *_) = step["arguments"]["parameters"]
    return [(each["count"], each["loops"]) for each in json.loads(podsets["value"])]


def test_a_pause_stands_before_each_group_with_leaves_and_before_no_other() -> None:
    steps = templates(STEPS)["main"]["steps"]

    names = [[step["name"] for step in group] for group in steps]
    assert names == [["kueue-0"], ["make"], ["nested"], ["kueue-2"], ["loop", "list"]]


def test_a_pause_tells_how_many_pods_follow_and_hands_over_lists_of_the_run() -> None:
    pause = templates(STEPS)["main"]["steps"][3][0]

    assert needs(pause) == [(3, ["items-0"])]
    assert pause["arguments"]["parameters"][1] == {
        "name": "items-0",
        "value": "{{steps.make.outputs.result}}",
    }


@pytest.mark.parametrize(
    ("b", "d", "expected"),
    [
        (
            "dependencies: [a]",
            "dependencies: [b, c]",
            {"a": ["kueue-0"], "b": ["a", "kueue-1"], "d": ["b", "c", "kueue-2"]},
        ),
        (
            "depends: a",
            "depends: b || c",
            {"a": "kueue-0", "b": "(a) && kueue-1", "d": "(b || c) && kueue-2"},
        ),
    ],
)
def test_tasks_that_hang_on_the_same_share_a_pause(
    b: str, d: str, expected: dict[str, object]
) -> None:
    tasks = templates(DAG % {"b": b, "d": d})["main"]["dag"]["tasks"]

    found = {task["name"]: task.get("depends") or task.get("dependencies") for task in tasks}
    assert {name: found[name] for name in expected} == expected
    assert found["c"] == found["b"]
    assert sum(task["template"] == PAUSE for task in tasks) == 3


def test_a_workflow_of_one_leaf_gets_steps_around_it() -> None:
    given = "  arguments: {parameters: [{name: x, value: y}]}\n"
    text = HEAD + given + "  entrypoint: work\n  templates:" + WORK

    found = templates(text)

    (pause,), (step,) = found["tiphys-kueue-entry"]["steps"]
    assert needs(pause) == [(1, [])]
    assert step["arguments"]["parameters"] == [{"name": "x", "value": "{{workflow.parameters.x}}"}]


@pytest.mark.parametrize(
    ("sequence", "expected"),
    [
        ({"count": 3}, (3, [])),
        ({"start": "2", "end": "5"}, (4, [])),
        ({"start": 5, "end": 1}, (5, [])),
        ({"count": "{{steps.make.outputs.result}}"}, (0, ["items-0"])),
    ],
)
def test_a_sequence_is_counted_by_the_file_or_handed_over(
    sequence: dict[str, Any], expected: tuple[int, list[str]]
) -> None:
    text = STEPS.replace(', withParam: "{{steps.make.outputs.result}}"', "")
    text = text.replace("withItems: [a, b, c]", f"withSequence: {json.dumps(sequence)}")

    pause = templates(text)["main"]["steps"][3][0]

    assert needs(pause) == [(expected[0] + 1, expected[1])]


@pytest.mark.parametrize("kind", ["WorkflowTemplate", "CronWorkflow"])
def test_workflows_made_from_another_kind_are_told_that_they_have_pauses(kind: str) -> None:
    document = yaml.safe_load(STEPS) | {"kind": kind}
    if kind == "CronWorkflow":
        document["spec"] = {"schedule": "* * * * *", "workflowSpec": document["spec"]}

    found = yaml.safe_load(inject_text(yaml.safe_dump(document)))

    assert found["spec"]["workflowMetadata"] == {"annotations": {label.MODE: "suspend"}}
    assert "annotations" not in found["metadata"]


@pytest.mark.parametrize("text", ["{}", "a: [", "kind: Pod"])
def test_what_is_no_workflow_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"not YAML|no workflow"):
        inject_text(text)


def test_pauses_are_not_put_in_twice() -> None:
    with pytest.raises(ValueError, match="pauses already"):
        inject_text(inject_text(STEPS))
