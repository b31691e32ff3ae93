"""How the real Volcano shares a cluster among our queues: weights, quotas, priorities.

Each test has a resource of its own on the node, so that nothing else competes for it. Volcano
shares in steps that only come close to whole numbers while other queues want something too, so each
work takes two and there is always one to spare.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.cluster.deck import Deck
from tests.cluster.rig.node import NAME
from tests.cluster.test_k8s_native import HEAD
from tiphys.client import calls

HOLDS = (
    HEAD
    + """
  entrypoint: main
  PRIORITY
  templates:
  - name: main
    container:
      image: "alpine:3.23"
      command: [sleep, "600"]
      resources: {limits: {SLOT: "2"}, requests: {SLOT: "2"}}
"""
)


class Berths:
    """A resource of the node, and work that holds two of it each."""

    def __init__(self, deck: Deck) -> None:
        self.deck = deck
        self.resource = f"example.com/berth-{os.urandom(3).hex()}"
        self.runs: list[str] = []

    def have(self, count: int) -> None:
        """Let the node have so many."""
        amounts = {self.resource: str(count)}
        patch = {"status": {"capacity": amounts, "allocatable": amounts}}
        path = f"/api/v1/nodes/{NAME}/status"
        self.deck.api.call("PATCH", path, patch, "merge-patch+json")

    def submit(self, queue: str, count: int = 1, priority: str = "") -> list[str]:
        """Submit so many workflows that hold two each."""
        named = f"podPriorityClassName: {priority}" if priority else ""
        text = HOLDS.replace("SLOT", self.resource).replace("PRIORITY", named)
        runs = [self.deck.submit(text, queue) for _ in range(count)]
        self.runs += runs
        return runs

    def running(self, runs: list[str]) -> int:
        """Count those that run."""
        uids = {run.removeprefix("wf-") for run in runs}
        return sum(
            pod["metadata"]["labels"].get("workflow-id") in uids
            and "deletionTimestamp" not in pod["metadata"]
            for pod in self.deck.pods(phase="Running")
        )

    def close(self) -> None:
        """End all work. The resource stays: Volcano stumbles over one that is gone while in use."""
        for run in self.runs:
            self.deck.client.do(calls.terminate(run))
        for run in self.runs:
            self.deck.ended(run)


@pytest.fixture
def berths(deck: Deck) -> Iterator[Berths]:
    berths = Berths(deck)
    yield berths
    berths.close()


def test_two_queues_share_by_weight(deck: Deck, berths: Berths) -> None:
    berths.have(0)
    large, small = deck.queue("large", priority=3), deck.queue("small", priority=1)
    many, few = berths.submit(large, 4), berths.submit(small, 4)
    deck.until(lambda: len(deck.groups()) >= 8, "all groups")

    berths.have(9)

    deck.until(lambda: (berths.running(many), berths.running(few)) == (3, 1), "three to one")


def test_a_quota_holds_and_its_change_takes_effect_at_once(deck: Deck, berths: Berths) -> None:
    berths.have(9)
    queue = deck.queue("capped", capability={berths.resource: "5"})
    runs = berths.submit(queue, 3)
    deck.until(lambda: berths.running(runs) == 2, "two that run")

    def reasons() -> list[str]:
        return [row.reason for run in runs for row in deck.client.do(calls.explain(run))]

    deck.until(lambda: f"Volcano's queue {queue}" in " ".join(reasons()), "why the third waits")
    before = berths.running(runs)
    change = calls.change_queue(f"q-volcano:{queue}", capability={berths.resource: "7"})
    deck.client.do(change)
    deck.until(lambda: berths.running(runs) == 3, "the third")

    assert before == 2


def test_work_of_high_priority_takes_the_place_of_other_work(deck: Deck, berths: Berths) -> None:
    word = f"urgent-{os.urandom(3).hex()}"
    thing = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": word},
        "value": 100_000_000,
    }
    deck.api.apply(thing)
    try:
        berths.have(5)
        queue = deck.queue("mixed")
        usual = berths.submit(queue, 2)
        deck.until(lambda: berths.running(usual) == 2, "the usual work")

        urgent = berths.submit(queue, 1, word)

        deck.until(lambda: berths.running(urgent) == 1, "the urgent work")
        assert berths.running(usual) <= 1
    finally:
        deck.forget(f"/apis/scheduling.k8s.io/v1/priorityclasses/{word}")
