"""What our engine tells a cluster, and which controller leads; the server keeps objects."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from tests.contract.kube_store import Store, storing
from tiphys.engine import event as ev
from tiphys.kube.access import Access, Credential
from tiphys.kube.client import Client
from tiphys.kueue import label
from tiphys.kueue.herald import Herald
from tiphys.kueue.leader import Leadership
from tiphys.kueue.owner import Live, Status, read_status, write_owner, write_status
from tiphys.testing.flow import flow
from tiphys.testing.harness import Harness

Json = dict[str, Any]
OURS = ("tiphys.dev/owner", "me")
MAPS = "/api/v1/namespaces/n/configmaps"
LIMIT = 60.0


def client_of(store: Store) -> Client:
    return Client(Access(server=store.address, credential=Credential({})))


def keep(store: Store, name: str, uid: str) -> str:
    """Leave the object of a workflow behind, one leaf of it live."""
    thing = write_owner(name, {label.QUEUE: "q", label.WORKFLOW_UID: uid, OURS[0]: OURS[1]}, {})
    thing["metadata"]["namespace"] = "n"
    thing["data"] = write_status(Status("Running", False, {"leaf": Live("layer", f"{uid}.1")}))
    store.put(f"{MAPS}/{name}", thing)
    return f"{MAPS}/{name}"


def with_herald(store: Store, work: Callable[[Herald, list[ev.Event]], Awaitable[None]]) -> None:
    """Have a herald do something."""

    async def run() -> None:
        sent: list[ev.Event] = []
        herald = Herald(client_of(store), OURS, lambda _, event: sent.append(event), lambda: 1e9)
        herald.namespace = "n"
        try:
            async with asyncio.timeout(LIMIT):
                await work(herald, sent)
        finally:
            await herald.close()

    asyncio.run(run())


async def until(holds: Callable[[], object]) -> None:
    while not holds():  # noqa: ASYNC110 - what is waited for is in another thread
        await asyncio.sleep(0.02)


def test_an_end_that_an_earlier_process_did_not_tell_is_told() -> None:
    phases = {"ended": "Failed", "live": ""}
    with storing() as store:
        paths = {uid: keep(store, f"w-{uid}", uid) for uid in phases}

        async def work(herald: Herald, _: list[ev.Event]) -> None:
            herald.phase_of = phases.__getitem__
            herald.listen("n")
            await until(lambda: read_status(store.things[paths["ended"]]).phase == "Failed")

        with_herald(store, work)

    assert read_status(store.things[paths["ended"]]).leaves == {}
    assert read_status(store.things[paths["live"]]).phase == "Running"


def test_an_object_that_makes_no_sense_does_not_make_us_deaf() -> None:
    notes: list[str] = []
    with storing() as store:
        odd = keep(store, "a", "odd")
        store.things[odd]["data"]["status"] = "{"
        good = keep(store, "b", "good")

        def phase_of(uid: str) -> str:
            if uid == "odd":
                raise ValueError(uid)
            return "Succeeded"

        async def work(herald: Herald, _: list[ev.Event]) -> None:
            herald.phase_of, herald.note = phase_of, notes.append
            herald.listen("n")
            await until(lambda: read_status(store.things[good]).phase == "Succeeded")

        with_herald(store, work)

    assert len(notes) == 1


def test_a_run_is_told_with_its_leaves_and_its_end() -> None:
    harness = Harness(flow("- name: main\n  steps:\n  - [{name: a, template: leaf}]\n"))
    harness.run.labels[label.QUEUE] = "q"
    harness.start()
    run = harness.run
    with storing() as store:

        def told() -> Status:
            return read_status(next(iter(store.things.values()), {}))

        async def work(herald: Herald, _: list[ev.Event]) -> None:
            herald.workflow(run)
            herald.nodes(run, tuple(run.nodes.values()))
            await until(lambda: told().leaves)
            assert [live.layer for live in told().leaves.values()] == ["wf[0]"]
            harness.finish()
            herald.workflow(run)
            herald.nodes(run, tuple(run.nodes.values()))
            await until(lambda: told().phase == "Succeeded" and not told().leaves)

        with_herald(store, work)


def test_what_the_controller_wants_becomes_events_of_the_run() -> None:
    harness = Harness(flow("- name: main\n  steps:\n  - [{name: a, template: leaf}]\n")).start()
    harness.run.labels[label.QUEUE] = "q"
    with storing() as store:

        async def work(herald: Herald, sent: list[ev.Event]) -> None:
            herald.workflow(harness.run)
            await until(lambda: store.things)
            (path,) = store.things
            for wish in ("true", "false"):
                thing = store.things[path]
                thing["data"] = {**(thing.get("data") or {}), "suspend": wish}
                herald._hear({**thing, "metadata": {**thing["metadata"], "namespace": "n"}})
            assert [type(each) for each in sent] == [ev.RunSuspended, ev.RunResumed]

        with_herald(store, work)


def test_one_leads_and_another_follows_when_it_leaves() -> None:
    story: list[str] = []

    async def lead(name: str) -> None:
        story.append(name)
        await asyncio.Event().wait()

    async def run(store: Store) -> None:
        client = client_of(store)
        both = {n: Leadership(client, ("n", "lease"), n, lambda: 1e9) for n in "ab"}
        first = asyncio.create_task(both["a"].during(lambda: lead("a")))
        await until(lambda: story == ["a"])
        second = asyncio.create_task(both["b"].during(lambda: lead("b")))
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        await both["a"].leave()
        async with asyncio.timeout(LIMIT):
            await until(lambda: story == ["a", "b"])
        second.cancel()
        await asyncio.gather(second, return_exceptions=True)
        await client.close()

    with storing() as store:
        asyncio.run(run(store))
        (lease,) = store.things.values()

    assert lease["spec"]["holderIdentity"] == "b"
