"""Workflows for the Argo controller of a cluster: made there, watched, and mirrored.

A Workflow carries our uid as a label, so that after a crash on either side the same one is found
again. Stop, terminate, suspend and resume go through Argo's own fields.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from tiphys.core.name import pod_name
from tiphys.dispatch.mirror import Mirror, nodes_of
from tiphys.engine.node import NodeType, Phase
from tiphys.errors import ClusterError, TiphysError
from tiphys.executor.clock import now
from tiphys.kube.client import FOREVER, Client
from tiphys.kube.link import Link
from tiphys.kube.remark import Try, going_on
from tiphys.kube.watch import Changed, Gone, Listed, watch
from tiphys.ports import Dispatch, Instruction, Mirrored, MirrorSink
from tiphys.runtimes.kubernetes_config import KubernetesConfig
from tiphys.runtimes.kubernetes_job import OWNER, owner_of
from tiphys.runtimes.kubernetes_log import LogCopy
from tiphys.runtimes.translate import MAIN

Json = dict[str, Any]
UID = "workflow-id"
API = "argoproj.io/v1alpha1"
LOG_CAP = 256 * 1024 * 1024
_PAUSE = 5.0
_CHANGES: dict[str, Json] = {
    "stop": {"shutdown": "Stop"},
    "terminate": {"shutdown": "Terminate"},
    "suspend": {"suspend": True},
    "resume": {"suspend": None},
}
_NEVER_SENT = ("resourceVersion", "uid", "creationTimestamp", "managedFields", "selfLink")


class _Entry:
    """One workflow that was handed over."""

    def __init__(self, order: Dispatch, namespace: str) -> None:
        self.order, self.namespace = order, namespace
        self.mirror = Mirror(order.uid, order.attempts)
        self.path = f"{_collection(namespace)}/{order.name}"
        self.logs: dict[str, LogCopy] = {}
        self.seen: Json | None = None
        self.made = asyncio.Event()
        """Set when it is there, or will not be."""


class ArgoDispatcher:
    """Hands workflows to Argo."""

    def __init__(self, data: Path, config: KubernetesConfig) -> None:
        self._data, self._config = data, config
        self._sink: MirrorSink = lambda _: None
        self._link = Link(kubeconfig=config.kubeconfig, context=config.context)
        self._spawn = self._link.spawn
        self._entries: dict[str, _Entry] = {}
        self._watched: set[str] = set()

    async def open(self, sink: MirrorSink) -> None:
        """Remember who listens; the cluster is asked for when there is something for it."""
        self._sink = sink

    async def dispatch(self, orders: Sequence[Dispatch]) -> None:
        """Make each Workflow, or find it."""
        for order in orders:
            if order.uid not in self._entries:
                namespace = self._config.namespace or order.namespace
                entry = self._entries[order.uid] = _Entry(order, namespace)
                self._spawn(self._make(entry))

    async def instruct(self, instructions: Sequence[Instruction]) -> None:
        """Change Argo's fields."""
        for each in instructions:
            # Whoever asked for it is told that it is done.
            self._spawn(self._instruct(each), owed=True)

    async def close(self) -> None:
        """Hang up; Argo goes on."""
        await self._link.close(_PAUSE)

    # --- making -----------------------------------------------------------------------------

    async def _make(self, entry: _Entry) -> None:
        try:
            client = self._link.client
            found = await self._create(client, entry)
        except (TiphysError, OSError) as error:
            self._give_up(entry, str(error))
            return
        except Exception as error:  # A defect of ours must not leave a run running for ever.
            self._give_up(entry, f"{type(error).__name__}: {error}")
            return
        finally:
            entry.made.set()
        self._take(entry, found)
        if entry.namespace not in self._watched:
            self._watched.add(entry.namespace)
            self._spawn(self._follow(client, entry.namespace))

    async def _create(self, client: Client, entry: _Entry) -> Json:
        order = entry.order
        thing: Json = msgspec.to_builtins(order.workflow)
        given = {k: v for k, v in thing.get("metadata", {}).items() if k not in _NEVER_SENT}
        labels = {**given.get("labels", {}), UID: order.uid, OWNER: owner_of(self._data)}
        labels["scheduler"] = order.scheduler
        metadata = {**given, "name": order.name, "namespace": entry.namespace, "labels": labels}
        metadata.pop("generateName", None)
        whole = {"apiVersion": API, "kind": "Workflow", "metadata": metadata, "spec": thing["spec"]}
        try:
            if not order.known:
                collection = _collection(entry.namespace)
                return await client.create(collection, whole, patience=FOREVER)
        except ClusterError as error:
            if error.status != 409:
                raise
        found = await client.get(entry.path, patience=FOREVER)
        if (found["metadata"].get("labels") or {}).get(UID) != order.uid:
            raise ClusterError(f"a Workflow {order.name} exists on the cluster and is not ours")
        return found

    def _give_up(self, entry: _Entry, message: str) -> None:
        del self._entries[entry.order.uid]
        at = now()
        end = Mirrored(
            uid=entry.order.uid,
            at=at,
            phase="Error",
            message=message,
            started_at=at,
            finished_at=at,
        )
        self._sink([end])

    # --- following --------------------------------------------------------------------------

    async def _follow(self, client: Client, namespace: str) -> None:
        selector = f"{OWNER}={owner_of(self._data)}"
        while not self._link.closed:
            with suppress(ClusterError):
                async for news in watch(client, _collection(namespace), selector=selector):
                    with going_on(f"news of {_collection(namespace)}"):
                        self._hear(namespace, news)
            await asyncio.sleep(_PAUSE)

    def _hear(self, namespace: str, news: Listed | Changed | Gone) -> None:
        match news:
            case Changed(thing):
                self._changed(thing)
            case Gone(thing):
                self._gone((thing["metadata"].get("labels") or {}).get(UID, ""))
            case Listed(items):
                there = {(item["metadata"].get("labels") or {}).get(UID) for item in items}
                for item in items:
                    self._changed(item)
                known = [e for e in self._entries.values() if e.namespace == namespace]
                for entry in known:
                    if entry.seen is not None and entry.order.uid not in there:
                        self._gone(entry.order.uid)

    def _changed(self, thing: Json) -> None:
        entry = self._entries.get((thing["metadata"].get("labels") or {}).get(UID, ""))
        if entry is not None:
            self._take(entry, thing)

    def _gone(self, uid: str) -> None:
        entry = self._entries.get(uid)
        if entry is not None:
            self._give_up(entry, f"the Workflow {entry.order.name} was deleted from the cluster")

    def _take(self, entry: _Entry, thing: Json) -> None:
        entry.seen = thing
        try:
            news = entry.mirror.take(thing, now())
        except ClusterError as error:
            self._give_up(entry, str(error))
            return
        for node in news.nodes:
            if node.type is NodeType.POD and node.phase is not Phase.PENDING:
                self._copy_log(entry, node.id, node.name, node.template_name, over=node.ended)
        if news.phase in ("Succeeded", "Failed", "Error"):
            self._spawn(self._finish(entry, news))
        else:
            self._sink([news])

    def _copy_log(self, entry: _Entry, node: str, name: str, template: str, *, over: bool) -> None:
        copy = entry.logs.get(node)
        if copy is None:
            number = entry.mirror.attempts[node]
            folder = self._data / "attempts" / entry.order.uid / f"{entry.order.uid}.{number}"
            folder.mkdir(parents=True, exist_ok=True)
            pod = pod_name(entry.order.name, name, template, node)
            path = f"/api/v1/namespaces/{entry.namespace}/pods/{pod}"
            copy = entry.logs[node] = LogCopy(self._link.client, path, MAIN, folder, LOG_CAP)
            copy.task = self._spawn(copy.run())
        copy.over = over

    async def _finish(self, entry: _Entry, news: Mirrored) -> None:
        """Wait for the last lines, then tell of the end."""
        self._entries.pop(entry.order.uid, None)
        tasks = [copy.task for copy in entry.logs.values() if copy.task is not None]
        if tasks:
            await asyncio.wait(tasks, timeout=_PAUSE)
        self._sink([news])

    # --- instructing ------------------------------------------------------------------------

    async def _instruct(self, given: Instruction) -> None:
        path = f"{_collection(self._config.namespace or given.namespace)}/{given.name}"
        change: Json = {"spec": _CHANGES[given.verb]}
        entry = self._entries.get(given.uid)
        if entry is not None:
            await entry.made.wait()
        with Try(given.verb, f"Workflow {path}"):
            client = self._link.client
            if given.verb == "resume":
                found = await client.get(path, patience=FOREVER)
                status = found.get("status") or {}
                nodes = {
                    name: _resumed(node, given)
                    for name, node in nodes_of(status).items()
                    if _is_paused(node) and (not given.nodes or name in given.nodes)
                }
                if nodes:
                    change = {**change, "status": {"nodes": nodes}}
            await client.patch(path, change, patience=FOREVER)


def _collection(namespace: str) -> str:
    return f"/apis/{API}/namespaces/{namespace}/workflows"


def _is_paused(node: Any) -> bool:
    return (node.get("type"), node.get("phase")) == ("Suspend", "Running")


def _resumed(node: Any, given: Instruction) -> Json:
    """Give the change of a pause that goes on, as Argo's own command makes it."""
    changed: Json = {
        "phase": "Succeeded",
        "finishedAt": _instant(now()),
        "message": given.message or None,
    }
    parameters = (node.get("outputs") or {}).get("parameters") or []
    if given.outputs and parameters:
        filled = [
            {**p, "value": given.outputs[p["name"]]} if p["name"] in given.outputs else p
            for p in parameters
        ]
        changed["outputs"] = {"parameters": filled}
    return changed


def _instant(at: float) -> str:
    return datetime.fromtimestamp(int(at), UTC).isoformat().replace("+00:00", "Z")
