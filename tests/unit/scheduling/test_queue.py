"""Queue trees: what is refused, what is inherited, how files are read."""

from __future__ import annotations

import pytest

from tiphys.errors import InvalidInputError
from tiphys.scheduling import Preempt, Queue, QueueState, QueueTree, Resources
from tiphys.scheduling.queue import settled
from tiphys.scheduling.queue_file import read_queues, resources


def test_a_parent_that_does_not_exist_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="no parent queue nowhere"):
        QueueTree([Queue(name="q", parent="nowhere")])


def test_queues_that_are_their_own_ancestors_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="their own ancestors: a, b"):
        QueueTree([Queue(name="a", parent="b"), Queue(name="b", parent="a")])


def test_a_name_twice_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="defined twice"):
        QueueTree([Queue(name="a"), Queue(name="a")])


def test_a_guarantee_above_the_deserved_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="guarantee of cpu exceeds deserved"):
        QueueTree([Queue(name="a", guarantee=Resources(cpu=2), deserved=Resources(cpu=1))])


def test_a_deserved_above_the_capability_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="exceeds capability"):
        QueueTree([Queue(name="a", deserved=Resources(cpu=2), capability=Resources(cpu=1))])


def test_a_queue_is_as_open_as_those_above_it() -> None:
    tree = QueueTree(
        [Queue(name="top", state=QueueState.CLOSING), Queue(name="leaf", parent="top")]
    )

    assert tree.effective_state("leaf") is QueueState.CLOSING
    assert tree.leaves() == ("leaf",)


def test_a_closing_queue_closes_once_it_is_empty() -> None:
    assert settled(QueueState.CLOSING, live=2) is QueueState.CLOSING
    assert settled(QueueState.CLOSING, live=0) is QueueState.CLOSED
    assert settled(QueueState.OPEN, live=0) is QueueState.OPEN


def test_a_plan_is_read_by_name_or_as_a_list() -> None:
    by_name = {"queues": {"q": {"weight": 2, "capability": {"cpu": "1500m", "memory": "2Gi"}}}}
    as_list = {"queues": [{"name": "q", **by_name["queues"]["q"]}]}

    tree = read_queues(by_name)

    assert tree.queues["q"] == Queue(
        name="q", weight=2, capability=Resources(cpu=1500, memory=2 << 30)
    )
    assert read_queues(as_list).queues == tree.queues
    assert "default" in tree.queues


def test_volcano_queues_are_read_as_they_are() -> None:
    manifest = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": "q"},
        "spec": {
            "weight": 3,
            "reclaimable": False,
            "deserved": {"cpu": 4},
            "guarantee": {"resource": {"cpu": 2}},
        },
        "status": {"state": "Closed"},
    }

    queue = read_queues(manifest).queues["q"]

    assert queue.guarantee == Resources(cpu=2000)
    assert queue.state is QueueState.CLOSED
    assert not queue.reclaimable


def test_kueue_words_are_understood() -> None:
    spec = {"nominalQuota": {"cpu": 4}, "borrowingLimit": {"cpu": 1}, "preemption": "LowerPriority"}

    queue = read_queues({"queues": {"q": spec}}).queues["q"]

    assert queue.deserved == Resources(cpu=4000)
    assert queue.borrowing_limit == Resources(cpu=1000)
    assert queue.preempt is Preempt.LOWER_PRIORITY


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        ({"queues": {"q": {"colour": "red"}}}, "queue q: colour is not known"),
        ({"queues": {"q": {"weight": "much"}}}, "queue q: "),
        ({"queues": {"q": {"capability": {"cpu": "lots"}}}}, "is not an amount"),
        ({"queues": 3}, "a mapping or a list is expected"),
        ({"queues": [{}]}, "each queue needs a name"),
        ("text", "a queue plan is a mapping"),
    ],
)
def test_a_plan_with_a_mistake_is_refused_with_words(document: object, problem: str) -> None:
    with pytest.raises(InvalidInputError, match=problem):
        read_queues(document)


def test_amounts_are_read_as_kubernetes_writes_them() -> None:
    found = resources({"cpu": "0.5", "memory": "1Gi", "nvidia.com/gpu": 2})

    assert found == Resources({"cpu": 500, "memory": 1 << 30, "nvidia.com/gpu": 2})
