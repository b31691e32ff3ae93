"""Payloads: how many start together, and what each of them runs."""

from __future__ import annotations

import json

import pytest

from tiphys.core.gang import Worker, crew, gang_text, members


@pytest.mark.parametrize(
    ("kind", "agents", "size", "names"),
    [
        ("task", [], 0, ["main"]),
        ("campaign", [], 0, ["content", "design", "analytics"]),
        ("campaign", [], 3, ["content", "design", "analytics"]),
        ("directive", ["ann", "bob"], 0, ["ann", "bob"]),
        ("gang", [], 2, ["worker-0", "worker-1"]),
    ],
)
def test_the_kind_decides_how_many_start_together(
    kind: str, agents: list[str], size: int, names: list[str]
) -> None:
    assert members(kind, agents, size) == names


@pytest.mark.parametrize(
    ("kind", "agents", "size"),
    [
        ("task", [], 2),
        ("task", ["ann"], 0),
        ("campaign", [], 2),
        ("directive", [], 0),
        ("directive", ["ann", "ann"], 0),
        ("directive", ["ann"], 2),
        ("gang", [], 0),
        ("party", [], 1),
    ],
)
def test_a_size_that_contradicts_the_kind_is_refused(
    kind: str, agents: list[str], size: int
) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        members(kind, agents, size)


def test_each_member_knows_its_name() -> None:
    worker = Worker(command=["say"], args=["{agent} here"], env={"X": "1"})

    first, second = crew(worker, ["ann", "bob"])

    assert (first.name, first.args) == ("ann", ["ann here"])
    assert second.env == {"X": "1", "AGENT": "bob"}


def test_all_of_a_gang_start_together_and_devices_are_limits_too() -> None:
    workers = crew(Worker(command=["w"], cpu="2", gpu=1), ["a", "b", "c"])

    job = json.loads(gang_text("g", workers, queue="batch"))

    assert (job["spec"]["minAvailable"], job["spec"]["minSuccess"]) == (3, 3)
    assert job["metadata"]["annotations"] == {"tiphys.dev/queue": "batch"}
    (container,) = job["spec"]["tasks"][0]["template"]["spec"]["containers"]
    assert container["resources"] == {
        "requests": {"cpu": "2", "nvidia.com/gpu": "1"},
        "limits": {"nvidia.com/gpu": "1"},
    }
