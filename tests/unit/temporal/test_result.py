"""In which order the tasks of a run come back."""

from __future__ import annotations

from tiphys.client.model import Node
from tiphys.temporal.result import in_order


def node(name: str, kind: str = "pod", phase: str = "Succeeded") -> Node:
    return Node(
        id=name,
        name=name,
        display_name=name.rpartition(".")[2],
        type=kind,
        status=phase.lower(),
        phase=phase,
        attempts=int(kind == "pod"),
    )


def names(nodes: list[Node]) -> list[str]:
    return [each.name for each in in_order(nodes)]


def test_pods_of_a_job_come_by_task_and_index_whenever_they_were_seen() -> None:
    pods = [node(f"run.{each}") for each in ("w-10", "boss-0", "w-2(1)", "w-2", "w-0")]

    found = names([node("run", "job"), *pods])

    assert found == [f"run.{each}" for each in ("boss-0", "w-0", "w-2(1)", "w-2", "w-10")]


def test_steps_come_as_they_were_made_and_jobs_stay_together() -> None:
    nodes = [node("run", "dag"), node("run.z"), node("run.job", "job"), node("run.job.w-1")]
    nodes += [node("run.a"), node("run.job.w-0")]

    assert names(nodes) == ["run.z", "run.job.w-0", "run.job.w-1", "run.a"]


def test_what_failed_comes_first() -> None:
    nodes = [node("run", "job"), node("run.w-0"), node("run.w-1", phase="Failed")]

    assert names(nodes) == ["run.w-1", "run.w-0"]
