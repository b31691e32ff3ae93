"""The admission webhook: pods of labelled workflows are born with a gate.

``review`` is pure. A pod of a workflow that we cannot look up is refused, not let through: Argo
tries again, and nothing ever runs beside the quota. The server speaks just enough HTTPS for the
API server, its only caller.
"""

from __future__ import annotations

import asyncio
import base64
import json
import ssl
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any

from tiphys.kueue import label
from tiphys.kueue.inject import METADATA
from tiphys.kueue.layer import Json, Unit, is_gated, unit_of, waits_in_pauses

Lookup = Callable[[str, str, str], Awaitable[Json | None]]
"""Finds a workflow by namespace, name and uid; None where there is none."""
_MAX_BODY = 8 * 1024 * 1024
_PATIENCE = 60.0


def gate(pod: Json, owner: Json | None) -> list[Json]:
    """Give the JSON patch for a pod that is about to be made."""
    if owner is None:
        return []
    owner = _as_it_will_be(owner)
    labels = owner["metadata"]["labels"]
    if label.QUEUE not in labels or waits_in_pauses(owner):
        return []
    if unit_of(owner) is Unit.POD:
        return _stamp(pod, labels)
    if is_gated(pod):
        return []
    gates = [*(pod["spec"].get("schedulingGates") or ()), {"name": label.GATE}]
    return [{"op": "add", "path": "/spec/schedulingGates", "value": gates}]


def _as_it_will_be(owner: Json) -> Json:
    """Give a workflow with what Argo writes on it in its first pass, which also makes pods."""
    meta, more = owner["metadata"], owner.get("spec", {}).get(METADATA) or {}
    if (owner.get("status") or {}).get("phase"):
        more = {}
    both = {
        name: {**(meta.get(name) or {}), **(more.get(name) or {})}
        for name in ("labels", "annotations")
    }
    return {**owner, "metadata": {**meta, **both}}


def _stamp(pod: Json, labels: Mapping[str, str]) -> list[Json]:
    """Have Kueue's own integration take the pod."""
    own = pod["metadata"].get("labels") or {}
    wanted = {key: labels[key] for key in (label.QUEUE, label.PRIORITY) if key in labels}
    if label.QUEUE in own:
        return []
    return [{"op": "add", "path": "/metadata/labels", "value": {**own, **wanted}}]


async def review(request: Json, lookup: Lookup) -> Json:
    """Answer an AdmissionReview."""
    asked = request["request"]
    pod, namespace = asked["object"], asked["namespace"]
    answer: Json = {"uid": asked["uid"], "allowed": True}
    name = (pod["metadata"].get("labels") or {}).get(label.WORKFLOW)
    if name and not _is_of_job(pod):
        try:
            patch = gate(pod, await lookup(namespace, name, _owner_uid(pod)))
        except Exception as error:
            status = {"message": f"{label.UNKNOWN}: {error}", "code": 503}
            # By this Argo knows that it shall try again.
            status["reason"] = "ServiceUnavailable"
            answer = {"uid": asked["uid"], "allowed": False, "status": status}
            patch = []
        if patch:
            text = base64.b64encode(json.dumps(patch).encode()).decode()
            answer |= {"patchType": "JSONPatch", "patch": text}
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": answer}


def _owner_uid(pod: Json) -> str:
    owners = pod["metadata"].get("ownerReferences") or ()
    return str(owners[0].get("uid", "")) if owners else ""


def _is_of_job(pod: Json) -> bool:
    """Whether a pod is of Tiphys' own engine, which gates its pods itself."""
    owners = pod["metadata"].get("ownerReferences") or ()
    return any(each.get("kind") == "Job" for each in owners)


def configuration(name: str, client: Json) -> Json:
    """Give the object that has the API server ask us; ``client`` is a service or an address.

    The name must stand before Kueue's own in the alphabet: in the unit ``pod``, Kueue's webhook
    has to see the label that ours stamps.
    """
    exists = {"key": label.WORKFLOW, "operator": "Exists"}
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"]}
    webhook = {
        "name": "pods.kueue.tiphys.dev",
        "admissionReviewVersions": ["v1"],
        "clientConfig": client,
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "timeoutSeconds": 10,
        "objectSelector": {"matchExpressions": [exists]},
        "rules": [{**rule, "resources": ["pods"], "scope": "Namespaced"}],
    }
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": name},
        "webhooks": [webhook],
    }


class WebhookServer:
    """HTTPS for the API server."""

    def __init__(self, lookup: Lookup, tls: ssl.SSLContext) -> None:
        self._lookup, self._tls = lookup, tls
        self._server: asyncio.Server | None = None

    async def open(self, host: str, port: int) -> int:
        """Listen; give the port."""
        server = await asyncio.start_server(self._serve, host, port, ssl=self._tls)
        self._server = server
        return int(server.sockets[0].getsockname()[1])

    async def close(self) -> None:
        """Stop listening."""
        if self._server is not None:
            self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError, TimeoutError, ssl.SSLError):
            while await self._exchange(reader, writer):
                pass
        with suppress(Exception):
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        async with asyncio.timeout(_PATIENCE):
            head = await reader.readuntil(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = {n.lower(): v.strip() for n, _, v in (line.partition(":") for line in lines)}
        try:
            size = int(headers.get("content-length", "0"))
        except ValueError:
            size = _MAX_BODY + 1
        if size > _MAX_BODY:
            return await _send(writer, 413, b"{}")
        body = await reader.readexactly(size)
        if not first.startswith("POST "):
            return await _send(writer, 200, b"{}")
        try:
            answer: Any = await review(json.loads(body), self._lookup)
        except (ValueError, KeyError, TypeError, AttributeError):
            return await _send(writer, 400, b"{}")
        return await _send(writer, 200, json.dumps(answer).encode())


async def _send(writer: asyncio.StreamWriter, status: int, body: bytes) -> bool:
    word = {200: "OK", 400: "Bad Request", 413: "Content Too Large"}[status]
    head = f"HTTP/1.1 {status} {word}\r\nContent-Type: application/json\r\n"
    writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
    await writer.drain()
    return status == 200
