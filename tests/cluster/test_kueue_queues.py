"""Queues of the real Kueue, made and changed through our API, and work that waits in them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.cluster.deck import Deck
from tests.cluster.dock import GPU, Dock
from tests.cluster.roles import be_account, bind, binding_queues
from tests.cluster.test_kueue_native import flow
from tiphys.client import calls
from tiphys.errors import ConflictError, NotFoundError

BASE = "/apis/kueue.x-k8s.io/v1beta2"


@pytest.fixture
def deck(dock: Dock, tmp_path: Path) -> Iterator[Deck]:
    """Give a server with the rights that ship, and no others."""
    plane, namespace = dock.plane, dock.namespace
    with Deck(tmp_path, plane, namespace) as deck, binding_queues(namespace, plane):
        bind(namespace, plane)
        be_account(deck.helm, plane)
        deck.start()
        try:
            yield deck
        finally:
            for each in (f"clusterqueues/{namespace}-made", f"cohorts/{namespace}-made-team"):
                deck.forget(f"{BASE}/{each}")


def test_a_queue_made_here_is_kueues_and_its_quota_decides_who_starts(
    dock: Dock, deck: Deck
) -> None:
    name = f"{dock.namespace}-made"
    key, ours = f"q-kueue:{name}", deck.client
    quota = {"quota_cpu": "1", "quota_memory": "1Gi", "quota": {GPU: "1"}}
    made = ours.do(calls.make_queue(name, scheduler="kueue", parent=f"{name}-team", **quota))
    dock.start()

    slow = submit(deck, flow([2], command="sleep 600"), key)
    deck.until(lambda: workloads(deck, key) == (1, 0), "its workload, which does not fit")
    waits = ours.do(calls.get_queue_status(key))
    with pytest.raises(ConflictError, match="1 workloads"):
        ours.do(calls.delete_queue(key))
    ours.do(calls.change_queue(key, quota={GPU: "2"}))
    deck.until(lambda: workloads(deck, key) == (0, 1), "its admission")
    deck.until(lambda: len(deck.pods(slow, "Running")) == 2, "its pods")
    runs = ours.do(calls.get_queue_status(key))

    quick = submit(deck, flow([1]), key)
    deck.until(lambda: workloads(deck, key) == (1, 1), "the next, which waits")
    ours.do(calls.terminate(slow))
    ended = deck.ended(quick)

    assert (made.id, made.status, made.parent) == (key, "open", f"{name}-team")
    assert (waits.available[GPU], waits.reserved[GPU], waits.stats["running"]) == ("1", "0", 1)
    assert [each.workflow_id for each in waits.waiting] == [slow, slow]
    assert (runs.quota[GPU], runs.allocated[GPU], runs.available[GPU]) == ("2", "2", "0")
    assert (ended.status, ended.scheduler, ended.queue_id) == ("succeeded", "kueue", key)

    deck.until(lambda: workloads(deck, key) == (0, 0), "the end of both")
    dock.settle(2)
    closed = ours.do(calls.close_queue(key))
    policy = dock.api.call("GET", f"{BASE}/clusterqueues/{name}")["spec"]["stopPolicy"]
    ours.do(calls.delete_queue(key))

    assert (closed.status, policy) == ("closed", "Hold")
    with pytest.raises(NotFoundError):
        ours.do(calls.get_queue(key))
    local = f"namespaces/{dock.namespace}/localqueues"
    for collection in ("clusterqueues", local, "cohorts"):
        deck.until(partial(is_gone, dock, collection, name), f"the end of it in {collection}")


def submit(deck: Deck, text: str, queue: str) -> str:
    call = calls.submit("w", "default", text, scheduler="kueue", queue=queue, generate_name=True)
    return deck.client.do(call).id


def workloads(deck: Deck, key: str) -> tuple[int, int]:
    """Give how many workloads wait and run, as the API tells."""
    found = deck.client.do(calls.get_queue_status(key)).workloads or {}
    return found["waiting"], found["running"]


def is_gone(dock: Dock, collection: str, name: str) -> bool:
    items = dock.api.call("GET", f"{BASE}/{collection}")["items"]
    return not any(item["metadata"]["name"].startswith(name) for item in items)
