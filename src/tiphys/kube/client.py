"""Requests to one API server: JSON in and out, tried again where that is worth it.

Whatever is sent here may be sent twice: objects have names before they are made, and whoever makes
one takes AlreadyExists for his own. So 429, 5xx and broken connections are simply tried again,
with growing pauses or after what ``Retry-After`` says, until the caller's patience ends.
"""

from __future__ import annotations

import asyncio
import random
import ssl
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import quote, urlencode

import msgspec

from tiphys.errors import ClusterError
from tiphys.kube.access import Access
from tiphys.kube.http import Answer, Pool

Json = dict[str, Any]
MANAGER = "tiphys"
PATIENCE = 30.0
FOREVER = float("inf")
_AGAIN = {429, 500, 502, 503, 504}
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 5.0
JSON, MERGE, STRATEGIC, APPLY = (
    "application/json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
)


class Client:
    """Talks to one cluster as one user."""

    def __init__(self, access: Access) -> None:
        self.access = access
        self._pool = Pool(access)
        self._kinds: dict[str, list[Json]] = {}

    async def close(self) -> None:
        """Hang up."""
        await self._pool.close()

    # --- objects ----------------------------------------------------------------------------

    async def get(
        self, path: str, query: Mapping[str, Any] | None = None, *, patience: float = PATIENCE
    ) -> Json:
        """Read an object or a list."""
        return await self.call("GET", path, query=query, patience=patience)

    async def create(self, collection: str, thing: Json, *, patience: float = PATIENCE) -> Json:
        """Make an object; 409 means that one of its name is there."""
        return await self.call("POST", collection, thing, patience=patience)

    async def patch(
        self, path: str, change: Any, *, kind: str = MERGE, patience: float = PATIENCE
    ) -> Json:
        """Change some fields of an object."""
        return await self.call("PATCH", path, change, kind=kind, patience=patience)

    async def apply(self, path: str, thing: Json, *, patience: float = PATIENCE) -> Json:
        """Create or change an object, field by field (server-side apply)."""
        query = {"fieldManager": MANAGER, "force": "true"}
        return await self.call("PATCH", path, thing, query=query, kind=APPLY, patience=patience)

    async def delete(
        self, path: str, options: Json | None = None, *, patience: float = PATIENCE
    ) -> None:
        """Delete an object; that it is gone already is as good."""
        try:
            await self.call("DELETE", path, options, patience=patience)
        except ClusterError as error:
            if error.status != 404:
                raise

    async def path_of(self, thing: Mapping[str, Any], namespace: str) -> str:
        """Give the collection of an object's kind, asking the server which kinds it has."""
        version, kind = str(thing.get("apiVersion", "")), thing.get("kind")
        base = f"/apis/{version}" if "/" in version else f"/api/{version}"
        if base not in self._kinds:
            self._kinds[base] = (await self.get(base)).get("resources", [])
        for found in self._kinds[base]:
            if found["kind"] == kind and "/" not in found["name"]:
                place = f"/namespaces/{quote(namespace)}" if found["namespaced"] else ""
                return f"{base}{place}/{found['name']}"
        del self._kinds[base]
        raise ClusterError(f"the cluster knows no {kind} in {version}", status=404)

    # --- requests ---------------------------------------------------------------------------

    async def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, Any] | None = None,
        kind: str = JSON,
        patience: float = PATIENCE,
    ) -> Json:
        """Send a request until there is an answer; raise ClusterError where it is a refusal."""
        target = f"{path}?{urlencode(query)}" if query else path
        data = b"" if body is None else msgspec.json.encode(body)
        end = time.monotonic() + patience
        pause = _FIRST_PAUSE
        asked_again = False
        while True:
            answer, problem = await self._try(method, target, data, kind)
            if answer is not None and answer.status < 400:
                return _object(answer.body)
            if answer is not None and answer.status == 401 and not asked_again:
                asked_again = True
                self.access.credential.forget()
                continue
            wait = _pause(answer, pause)
            if problem.status not in (0, *_AGAIN) or time.monotonic() + wait > end:
                raise problem
            await asyncio.sleep(wait)
            pause = min(pause * 2, _LONGEST_PAUSE)

    async def _try(
        self, method: str, target: str, data: bytes, kind: str
    ) -> tuple[Answer | None, ClusterError]:
        try:
            headers = await self._headers(kind)
            answer = await self._pool.request(method, target, body=data, headers=headers)
        except (ConnectionError, TimeoutError, ssl.SSLError) as error:
            return None, unreachable(self.access, error)
        return answer, _refusal(answer.status, answer.body)

    async def _headers(self, kind: str = JSON) -> dict[str, str]:
        own = {"Accept": JSON, "Content-Type": kind, "User-Agent": MANAGER}
        credential = self.access.credential
        if credential.is_slow:
            return own | await asyncio.to_thread(credential.headers)
        return own | credential.headers()

    # --- streams ----------------------------------------------------------------------------

    @asynccontextmanager
    async def stream(
        self, path: str, query: Mapping[str, Any], *, patience: float
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """Open an answer that comes piece by piece: a watch or a log. Not tried again here."""
        target = f"{path}?{urlencode(query)}"
        try:
            headers = await self._headers()
            opened = self._pool.stream(target, headers=headers, patience=patience)
            async with opened as (status, chunks):
                if status >= 400:
                    body = b"".join([chunk async for chunk in chunks])
                    if status == 401:
                        self.access.credential.forget()
                    raise _refusal(status, body)
                yield chunks
        except (ConnectionError, TimeoutError, ssl.SSLError) as error:
            raise unreachable(self.access, error) from error


def unreachable(access: Access, error: BaseException) -> ClusterError:
    """Say that no answer came."""
    why = str(error) or type(error).__name__
    return ClusterError(f"{access.server} cannot be reached: {why}")


def _object(body: bytes) -> Json:
    try:
        found = msgspec.json.decode(body)
    except msgspec.DecodeError as error:
        raise ClusterError(f"the API server's answer is no JSON: {error}") from error
    return found if isinstance(found, dict) else {}


def _refusal(status: int, body: bytes) -> ClusterError:
    try:
        told = msgspec.json.decode(body)
    except msgspec.DecodeError:
        told = None
    if not isinstance(told, dict):
        text = body[:300].decode("utf-8", "replace").strip()
        return ClusterError(f"the API server answered {status}: {text}", status=status)
    message = str(told.get("message") or f"the API server answered {status}")
    return ClusterError(message, status=status, reason=str(told.get("reason") or ""))


def _pause(answer: Answer | None, pause: float) -> float:
    """Give how long to wait: what the server says, else a growing time, spread a little."""
    told = answer.headers.get("retry-after", "") if answer is not None else ""
    if told.isdigit():
        return float(told)
    return pause * random.uniform(0.5, 1.0)
