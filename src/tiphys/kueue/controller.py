"""The controller: watches workflows, their pods and our Workloads, and does what ``plan`` says.

It has no state of its own: it may be killed anywhere, and two at once do no harm, because every
Workload's name follows from its layer and every write says which state it was decided on.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any, NamedTuple

from tiphys.errors import ClusterError
from tiphys.kube.client import Client
from tiphys.kube.watch import Changed, Gone, Listed, watch
from tiphys.kueue import label
from tiphys.kueue.layer import Engine, Json
from tiphys.kueue.performing import Performer, instant
from tiphys.kueue.plan import Action, View, plan
from tiphys.kueue.workload import API, PODSETS, Claim

Key = tuple[str, str]
"""Namespace and name of a workflow."""
_CRD = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/workloads.kueue.x-k8s.io"
_PAUSE = 2.0
_ABSENCE = 60.0


class Voice(NamedTuple):
    """Who is told: of readiness and trouble, and of everything that is done."""

    report: Callable[[str], None]
    tell: Callable[[str], None]


class Shelf:
    """What a watched collection holds; tells which workflow each change is about."""

    def __init__(self, key_of: Callable[[Json], Key | None]) -> None:
        self._key_of = key_of
        self._things: dict[Key, Json] = {}
        self._by_key: dict[Key, dict[Key, Json]] = {}
        self.is_filled = asyncio.Event()

    def hear(self, news: Listed | Changed | Gone) -> set[Key]:
        """Take news; give the workflows that it is about."""
        match news:
            case Changed(thing):
                return self._put(thing)
            case Gone(thing):
                return self._drop(_name(thing))
            case Listed(items):
                there = {_name(item) for item in items}
                touched = [self._put(item) for item in items]
                touched += [self._drop(name) for name in set(self._things) - there]
                self.is_filled.set()
                return set().union(*touched)

    def _put(self, thing: Json) -> set[Key]:
        touched = self._drop(_name(thing))
        self._things[_name(thing)] = thing
        key = self._key_of(thing)
        if key is not None:
            self._by_key.setdefault(key, {})[_name(thing)] = thing
            touched.add(key)
        return touched

    def _drop(self, name: Key) -> set[Key]:
        thing = self._things.pop(name, None)
        key = self._key_of(thing) if thing is not None else None
        if key is None:
            return set()
        found = self._by_key.get(key, {})
        found.pop(name, None)
        if not found:
            self._by_key.pop(key, None)
        return {key}

    def of(self, key: Key) -> list[Json]:
        """Give all that belongs to a workflow."""
        return list(self._by_key.get(key, {}).values())

    def get(self, name: Key) -> Json | None:
        """Give one thing."""
        return self._things.get(name)

    def by_name(self) -> dict[str, Json]:
        """Give everything by its name, for things without a namespace."""
        return {name: thing for (_, name), thing in self._things.items()}


class KueueController:
    """Keeps the gates, groups and Workloads of all labelled workflows."""

    def __init__(
        self,
        client: Client,
        engine: Engine,
        clock: Callable[[], float],
        voice: Voice,
        namespace: str = "",
    ) -> None:
        self._client, self._engine, self._voice = client, engine, voice
        self._namespace, self._clock = namespace, clock
        self._most = PODSETS
        self._owners = Shelf(_name)
        self._pods = Shelf(self._key_of_pod)
        self._claims = Shelf(_key_of_claim)
        self._flavors = Shelf(lambda _: None)
        plural = engine.collection.rsplit("/", 1)[1]
        self._performer = Performer(client, plural, self._flavors.by_name, clock)
        self._dirty: set[Key] = set()
        self._busy: set[Key] = set()
        self._group: asyncio.TaskGroup | None = None
        self.is_ready = asyncio.Event()
        """Whether everything there is was seen."""

    async def run(self) -> None:
        """Work until cancelled."""
        self._most = await self._fetch_limit()
        base, workloads = self._engine.collection, f"/apis/{API}/workloads"
        async with asyncio.TaskGroup() as group:
            self._group = group
            for shelf, path, selector, kind in (
                (self._owners, self._place(base), label.QUEUE, self._engine.kind),
                (self._pods, self._place("/api/v1/pods"), self._engine.pod_label, ("v1", "Pod")),
                (self._claims, self._place(workloads), label.OWNER, (API, "Workload")),
                (self._flavors, f"/apis/{API}/resourceflavors", "", (API, "ResourceFlavor")),
            ):
                group.create_task(self._follow(shelf, path, selector, kind))
            for shelf in (self._owners, self._pods, self._claims, self._flavors):
                await shelf.is_filled.wait()
            self.is_ready.set()
            self._wake()

    async def lookup(self, namespace: str, name: str, uid: str) -> Json | None:
        """Find a workflow: what is watched is fresh enough, the rest is asked for.

        With another uid it is one of the same name that is gone: its label may not be this one's.
        """
        found = self._owners.get((namespace, name))
        if found is not None and found["metadata"]["uid"] == uid:
            return found
        start, plural = self._engine.collection.rsplit("/", 1)
        try:
            path = f"{start}/namespaces/{namespace}/{plural}/{name}"
            return await self._client.get(path, patience=5)
        except ClusterError as error:
            if error.status == 404:
                return None
            raise

    def _place(self, collection: str) -> str:
        if not self._namespace:
            return collection
        start, plural = collection.rsplit("/", 1)
        return f"{start}/namespaces/{self._namespace}/{plural}"

    def _key_of_pod(self, pod: Json) -> Key | None:
        name = self._engine.owner_of(pod)
        return (pod["metadata"]["namespace"], name) if name else None

    async def _fetch_limit(self) -> int:
        try:
            return podset_limit(await self._client.get(_CRD))
        except ClusterError:
            return PODSETS

    # --- news -------------------------------------------------------------------------------

    async def _follow(self, shelf: Shelf, path: str, selector: str, kind: tuple[str, str]) -> None:
        while True:
            try:
                async for news in watch(self._client, path, selector=selector):
                    self._dirty |= shelf.hear(_with_kind(news, kind))
                    self._wake()
            except ClusterError as error:
                if error.status == 404 and shelf is self._owners:
                    # The engine is not installed here (yet): it has no workflows.
                    self._dirty |= shelf.hear(Listed([]))
                    await asyncio.sleep(_ABSENCE)
                    continue
                self._voice.report(f"{path}: {error}")
            await asyncio.sleep(_PAUSE)

    def _wake(self) -> None:
        shelves = (self._owners, self._pods, self._claims, self._flavors)
        # Half a view would make Workloads twice, or take running pods for orphans.
        if self._group is None or not all(shelf.is_filled.is_set() for shelf in shelves):
            return
        for key in self._dirty - self._busy:
            self._dirty.discard(key)
            self._busy.add(key)
            self._group.create_task(self._reconcile(key))

    async def _reconcile(self, key: Key) -> None:
        try:
            await self._once(key)
        except* ClusterError as errors:
            self._complain(key, errors)
            await asyncio.sleep(_PAUSE)
            self._dirty.add(key)
        except* Exception as errors:
            # One workflow that makes no sense must not stop the others; its next change is heard.
            self._complain(key, errors)
        # Not where we are cancelled, as one who leads no more is: then nothing may begin.
        self._busy.discard(key)
        self._wake()

    def _complain(self, key: Key, errors: BaseExceptionGroup[BaseException]) -> None:
        for error in errors.exceptions:
            self._voice.report(f"{'/'.join(key)}: {type(error).__name__}: {error}")

    async def _once(self, key: Key) -> None:
        owner = self._owners.get(key)
        if owner is None or owner["metadata"].get("deletionTimestamp"):
            return
        uid = owner["metadata"]["uid"]
        view = View(
            owner=owner,
            pods=[pod for pod in self._pods.of(key) if self._engine.owns(owner, pod)],
            claims=[Claim(thing) for thing in self._claims.of(key) if _owner_uid(thing) == uid],
            most=self._most,
            at=instant(self._clock()),
        )
        actions = plan(self._engine, view)
        for action in actions:
            self._voice.tell(f"{'/'.join(key)}: {_told(action)}")
        await self._performer.perform(owner, actions)


def podset_limit(definition: Json) -> int:
    """Read from Kueue's own definition how many podSets a Workload may have."""
    version = API.rsplit("/", 1)[1]
    for each in definition["spec"]["versions"]:
        if each["name"] == version:
            with contextlib.suppress(KeyError, TypeError):
                found: Any = each["schema"]["openAPIV3Schema"]["properties"]["spec"]
                return int(found["properties"]["podSets"]["maxItems"])
    return PODSETS


def _with_kind(news: Listed | Changed | Gone, kind: tuple[str, str]) -> Listed | Changed | Gone:
    """Fill in what the items of a list do not say."""
    if isinstance(news, Listed):
        both = {"apiVersion": kind[0], "kind": kind[1]}
        return Listed([{**both, **item} for item in news.items])
    return news


def _name(thing: Json) -> Key:
    meta = thing["metadata"]
    return meta.get("namespace", ""), meta["name"]


def _key_of_claim(thing: Json) -> Key | None:
    meta = thing["metadata"]
    owners = meta.get("ownerReferences") or ()
    return (meta["namespace"], owners[0]["name"]) if owners else None


def _owner_uid(thing: Json) -> str:
    owners = thing["metadata"].get("ownerReferences")
    return str(owners[0]["uid"]) if owners else ""


def _told(action: Action) -> str:
    name = type(action).__name__.lower()
    claim = getattr(action, "claim", None)
    pod = getattr(action, "pod", None)
    layer = getattr(action, "layer", "")
    words = [name, layer, claim.name if claim else "", pod["metadata"]["name"] if pod else ""]
    return " ".join(word for word in words if word)
