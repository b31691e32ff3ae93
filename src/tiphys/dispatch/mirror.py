"""From the status of an Argo Workflow to our own nodes. Pure.

Argo lists a node's children; we keep parents. Times are texts there and seconds here. What has not
changed since it was last seen is left out, so that a large workflow costs what changes in it.
"""

from __future__ import annotations

import base64
import gzip
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from tiphys.engine.node import Node
from tiphys.errors import ClusterError
from tiphys.ports import Mirrored
from tiphys.spec import model

Json = Mapping[str, Any]
_POD = "Pod"


class Mirror:
    """What was last seen of one workflow."""

    def __init__(self, uid: str, attempts: Mapping[str, int]) -> None:
        self._uid = uid
        self._seen: dict[str, Json] = {}
        self._parents: dict[str, tuple[str, ...]] = {}
        self._order: dict[str, int] = {}
        self.attempts = dict(attempts)
        """Pods, and the numbers under which their logs are kept."""

    def take(self, workflow: Json, now: float) -> Mirrored:
        """Give what is new in a workflow."""
        status = workflow.get("status") or {}
        nodes = nodes_of(status)
        parents = _parents(nodes)
        changed = []
        for name in sorted(nodes, key=lambda each: (nodes[each].get("startedAt") or "", each)):
            if nodes[name] == self._seen.get(name) and parents.get(name) == self._parents.get(name):
                continue
            self._order.setdefault(name, len(self._order))
            changed.append(self._node(nodes[name], parents.get(name, ())))
        self._seen, self._parents = dict(nodes), parents
        outputs = status.get("outputs")
        return Mirrored(
            uid=self._uid,
            at=now,
            phase=status.get("phase") or "",
            message=status.get("message") or "",
            started_at=seconds(status.get("startedAt")),
            finished_at=seconds(status.get("finishedAt")),
            nodes=tuple(changed),
            outputs=msgspec.convert(outputs, model.Outputs) if outputs else None,
            suspended=bool((workflow.get("spec") or {}).get("suspend")),
        )

    def _node(self, node: Json, parents: tuple[str, ...]) -> Node:
        name = node["id"]
        if node.get("type") == _POD and name not in self.attempts:
            self.attempts[name] = len(self.attempts) + 1
        own = {
            "attempt": self.attempts.get(name, 0),
            "parents": parents,
            "seq": self._order[name],
        }
        times = {key: seconds(node.get(key)) for key in ("startedAt", "finishedAt")}
        plain = {
            **node,
            **times,
            "phase": node.get("phase") or "Pending",
            "ours": own,
        }
        try:
            return msgspec.convert(plain, Node, strict=False)
        except msgspec.ValidationError as error:
            raise ClusterError(f"a node of the Workflow cannot be read: {error}") from error


def nodes_of(status: Json) -> dict[str, Json]:
    """Give the nodes of a status, unpacked if there were too many of them."""
    packed = status.get("compressedNodes")
    if packed:
        found: dict[str, Json] = msgspec.json.decode(gzip.decompress(base64.b64decode(packed)))
        return found
    return dict(status.get("nodes") or {})


def _parents(nodes: Mapping[str, Json]) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for name, node in nodes.items():
        for child in node.get("children") or ():
            found.setdefault(child, []).append(name)
    return {child: tuple(names) for child, names in found.items()}


def seconds(text: str | None) -> float | None:
    """Read an instant."""
    if not text:
        return None
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()
