"""When work counts as started, by the nodes of an update."""

from __future__ import annotations

import msgspec
import pytest

from tiphys.temporal.follow import has_started


class Node(msgspec.Struct, frozen=True):
    type: str
    phase: str


@pytest.mark.parametrize("group", ["steps", "step-group", "dag", "task-group", "retry", "job"])
def test_a_group_that_runs_has_started_nothing_by_itself(group: str) -> None:
    assert not has_started([Node(group, "Running"), Node("container", "Pending")])


@pytest.mark.parametrize("phase", ["Running", "Succeeded", "Failed", "Error"])
def test_a_task_that_left_the_queue_has_started(phase: str) -> None:
    assert has_started([Node("job", "Running"), Node("container", phase)])


@pytest.mark.parametrize("phase", ["Pending", "Skipped", "Omitted"])
def test_a_task_that_waits_or_never_runs_has_not_started(phase: str) -> None:
    assert not has_started([Node("script", phase)])


def test_a_workflow_that_is_one_task_has_started_with_it() -> None:
    assert has_started([Node("container", "Running")])


def test_a_pause_for_a_person_counts_as_begun() -> None:
    assert has_started([Node("steps", "Running"), Node("suspend", "Running")])


def test_nothing_has_started_where_there_is_nothing() -> None:
    assert not has_started([])
