"""What is wrong with a body, in words for those who wrote it."""

from __future__ import annotations

from typing import Any

import pytest

from tiphys.api.bodies import NewQueue, QueuePlan, Submit
from tiphys.api.deps import validated
from tiphys.api.problems import RequestError

SOUND = {"name": "a", "project_id": "default", "workflow_yaml": "kind: Workflow"}


def told(kind: Any, body: Any) -> dict[str, str]:
    with pytest.raises(RequestError) as caught:
        validated(kind, body)
    return {str(each["path"]): str(each["message"]) for each in caught.value.errors}


@pytest.mark.parametrize(
    ("field", "value", "path", "message"),
    [
        ("parameters", {"n": 3}, "parameters.n", 'must be text (put it in quotes: "3")'),
        ("parameters", {"n": True}, "parameters.n", 'must be text (put it in quotes: "true")'),
        ("parameters", {"n": 10**60}, "parameters.n", "must be text (put it in quotes)"),
        ("parameters", {"n": None}, "parameters.n", "must be text"),
        ("parameters", [], "parameters", 'must be an object (such as {"name": "value"})'),
        ("paramters", {}, "paramters", "there is no such field (did you mean parameters?)"),
        ("projectId", "x", "projectId", "there is no such field (did you mean project_id?)"),
        ("generate_name", "true", "generate_name", "must be true or false (without quotes)"),
        ("generate_name", "yes", "generate_name", "must be true or false"),
        ("workflow_yaml", "", "workflow_yaml", "must not be empty"),
        (
            "workflow_yaml",
            {"kind": "Workflow"},
            "workflow_yaml",
            "must be text (the text of the file, not what it holds)",
        ),
        (
            "priority",
            "urgent",
            "priority",
            "must be a whole number, or 'critical', 'high', 'normal' or 'low'",
        ),
        (
            "name",
            "A B",
            "name",
            "must be 1 to 63 of a-z, 0-9, '-' and '.', no sign at either end",
        ),
    ],
)
def test_a_fault_is_told_with_what_was_meant(
    field: str, value: Any, path: str, message: str
) -> None:
    assert told(Submit, {**SOUND, field: value}) == {path: message}


def test_all_faults_are_told_each_once() -> None:
    body = {"quota": {"gpu": None}, "max_parallel": "3", "priority": 0, "preemption": "x"}

    assert told(NewQueue, body) == {
        "name": "is needed",
        "quota.gpu": "must be text, or a whole number, or a number",
        "max_parallel": "must be a whole number (without quotes)",
        "priority": "must be at least 1",
        "preemption": "must be 'Never', 'LowerPriority' or 'LowerOrNewerEqualPriority'",
    }


def test_a_field_that_is_like_none_of_ours_is_answered_with_all_of_them() -> None:
    (message,) = told(QueuePlan, {"xyz": 1}).values()

    assert message.startswith("there is no such field (there are preset, parent, weight, ")
    assert "borrowingLimit" in message


@pytest.mark.parametrize("body", [[], "x", None, 3])
def test_a_body_that_is_no_object_is_told_so(body: Any) -> None:
    assert told(Submit, body) == {"": "must be an object"}
