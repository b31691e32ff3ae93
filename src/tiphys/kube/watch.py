"""A collection as it changes: listed once, then watched, and taken up again wherever it broke off.

The first thing a caller gets is a ``Listed`` with all there is; another follows whenever the
server has forgotten where we were (410) and only a new list helps: what is not in it is gone.
Bookmarks keep the place fresh, and a watch that says nothing for long is taken for dead.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import msgspec

from tiphys.errors import ClusterError
from tiphys.kube.client import FOREVER, Client, Json

PAGE = 500
SILENCE = 90.0
"""Bookmarks come about every minute; after so long without one the connection is dead."""
_LASTS = (240, 300)
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 5.0


@dataclass(frozen=True, slots=True)
class Listed:
    """Everything there is."""

    items: list[Json]


@dataclass(frozen=True, slots=True)
class Changed:
    """One object that is new or other than before."""

    thing: Json


@dataclass(frozen=True, slots=True)
class Gone:
    """One object that was deleted, as it was last."""

    thing: Json


class _ExpiredError(Exception):
    """The server no longer knows what happened since our place."""


async def watch(
    client: Client, collection: str, *, selector: str = "", fields: str = ""
) -> AsyncIterator[Listed | Changed | Gone]:
    """Give what is in a collection and all that happens to it, for ever."""
    query = {"labelSelector": selector} if selector else {}
    query |= {"fieldSelector": fields} if fields else {}
    while True:
        try:
            items, place = await fetch_all(client, collection, query)
        except ClusterError as error:
            if error.status != 410:
                raise
            continue
        yield Listed(items)
        follower = _Follower(client, collection, query, place)
        try:
            async for news in follower.events():
                yield news
        except _ExpiredError:
            continue


async def fetch_all(
    client: Client, collection: str, query: dict[str, Any]
) -> tuple[list[Json], str]:
    """List a collection page by page; give also the place from which to watch."""
    items: list[Json] = []
    more = ""
    while True:
        page = {**query, "limit": PAGE} | ({"continue": more} if more else {})
        answer = await client.get(collection, page, patience=FOREVER)
        items += answer.get("items") or []
        more = answer["metadata"].get("continue", "")
        if not more:
            return items, answer["metadata"]["resourceVersion"]


class _Follower:
    """Watches from one place on, again and again."""

    def __init__(self, client: Client, collection: str, query: dict[str, Any], place: str) -> None:
        self._client, self._collection, self._query = client, collection, query
        self._place = place

    async def events(self) -> AsyncIterator[Changed | Gone]:
        pause = _FIRST_PAUSE
        while True:
            try:
                async for news in self._once():
                    pause = _FIRST_PAUSE
                    yield news
            except ClusterError as error:
                if error.status == 410:
                    raise _ExpiredError from error
                if error.status in (401, 403, 404) and pause >= _LONGEST_PAUSE:
                    raise
            await asyncio.sleep(pause * random.uniform(0.5, 1.0))
            pause = min(pause * 2, _LONGEST_PAUSE)

    async def _once(self) -> AsyncIterator[Changed | Gone]:
        query = {
            **self._query,
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": self._place,
            "timeoutSeconds": random.randint(*_LASTS),
        }
        async with self._client.stream(self._collection, query, patience=SILENCE) as chunks:
            async for line in lines_of(chunks):
                news = self._take(msgspec.json.decode(line))
                if news is not None:
                    yield news

    def _take(self, event: Json) -> Changed | Gone | None:
        thing = event["object"]
        if event["type"] == "ERROR":
            code = int(thing.get("code") or 0)
            raise ClusterError(str(thing.get("message") or "watch error"), status=code)
        self._place = thing["metadata"]["resourceVersion"]
        if event["type"] == "BOOKMARK":
            return None
        return Gone(thing) if event["type"] == "DELETED" else Changed(thing)


async def lines_of(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Cut a stream into lines, without their ends; what follows the last newline is left out."""
    rest = b""
    async for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            yield line
