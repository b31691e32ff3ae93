"""A link to a cluster: what goes on with it, and how it ends."""

from __future__ import annotations

import asyncio

from tiphys.kube.link import Link


def link() -> Link:
    return Link(kubeconfig="/no/such/file", context="")


def test_what_is_owed_is_done_before_hanging_up_and_the_rest_is_ended() -> None:
    done: list[str] = []

    async def wait(name: str, turns: int) -> None:
        for _ in range(turns):
            await asyncio.sleep(0)
        done.append(name)

    async def scene() -> None:
        made = link()
        rest = made.spawn(asyncio.sleep(3600))
        for name in ("first", "second"):
            made.spawn(wait(name, 100), owed=True)
        await made.close(60)

        assert made.closed
        assert rest.cancelled()

    asyncio.run(scene())

    assert done == ["first", "second"]


def test_an_order_that_gets_nowhere_does_not_keep_anybody() -> None:
    async def scene() -> asyncio.Task[None]:
        made = link()
        stuck = made.spawn(asyncio.sleep(3600), owed=True)
        await made.close(0.01)
        return stuck

    assert asyncio.run(scene()).cancelled()


def test_nobody_is_asked_before_the_cluster_is_needed() -> None:
    made = link()

    assert not made.is_up
