"""Argo's Workflows as owners of groups: their leaves and layers, read from the status.

Pure. Argo writes a Workflow's status once after each pass, so one state of it shows all pods of
that pass together: this is what makes groups whole. A pod whose node is not in the status yet waits
for the next one, and a layer some of whose pods we have not heard of yet waits for that news.
"""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tiphys.core.name import fnv1a32
from tiphys.kueue.inject import PAUSE, PODSETS, length
from tiphys.kueue.label import COMPONENT, UNKNOWN, WORKFLOW
from tiphys.kueue.layer import (
    NO_NODE,
    Ending,
    Json,
    Leaf,
    Pause,
    has_finished,
    node_of,
    whole_layers,
)

COLLECTION = "/apis/argoproj.io/v1alpha1/workflows"
ENDED = frozenset({"Succeeded", "Failed", "Error", "Skipped", "Omitted"})
_GROUP = re.compile(r"\[\d+\]")
_TASK = re.compile(r"\.[^.(]+")
_LONGEST = 120
_SOON = ("failed calling webhook", UNKNOWN)
"""In messages about pods that Argo makes as soon as we, or Kueue, are back: no limit stops them."""
_RESULTS = ("message", "finishedAt", "outputs", "hostNodeName", "taskResultSynced", "daemoned")
_FORGOTTEN: Json = dict.fromkeys((*_RESULTS, "resourcesDuration", "children", "progress"))


class ArgoEngine:
    """Reads and steers Workflows of the Argo controller."""

    collection = COLLECTION
    kind = ("argoproj.io/v1alpha1", "Workflow")
    pod_label = WORKFLOW

    def owner_of(self, pod: Json) -> str:
        """Read the label that Argo puts on its pods."""
        return str((pod["metadata"].get("labels") or {}).get(WORKFLOW, ""))

    def owns(self, owner: Json, pod: Json) -> bool:
        """Whether the pod's reference is to this very Workflow."""
        references = list(pod["metadata"].get("ownerReferences") or ())
        return bool(references) and references[0]["uid"] == owner["metadata"]["uid"]

    def leaves(self, owner: Json, pods: Sequence[Json]) -> list[Leaf]:
        """Tell the leaves whose pods the status knows."""
        tree = Tree(nodes_of(owner.get("status") or {}))
        alive = {node_of(pod): pod for pod in pods if not has_finished(pod)}
        begun = {node_of(pod) for pod in pods}
        unborn: set[str] = set()
        found = [_agent_leaf(pod) for node, pod in alive.items() if node.startswith(NO_NODE)]
        for root, attempts in tree.leaves().items():
            node = next((id_ for id_ in reversed(attempts) if id_ in alive), attempts[-1])
            leaf = Leaf(
                id=root,
                layer=tree.layer_of(root),
                ended=tree.has_ended(root, attempts),
                node=node,
                pod=alive.get(node),
            )
            found.append(leaf)
            if not leaf.ended and node not in begun and tree.has_pod(node):
                unborn.add(leaf.layer)
        return whole_layers(found, unborn)

    def has_ended(self, owner: Json) -> bool:
        """Whether the workflow has come to its end."""
        return (owner.get("status") or {}).get("phase") in ENDED

    def is_suspended(self, owner: Json) -> bool:
        """Whether Argo leaves it alone."""
        return bool(owner["spec"].get("suspend"))

    def suspension(self, *, on: bool) -> Json:
        """Suspend it, or let it go on."""
        return {"spec": {"suspend": True if on else None}}

    def pauses(self, owner: Json) -> list[Pause]:
        """Find the suspend nodes that ``tiphys kueue inject`` put before layers."""
        nodes = nodes_of(owner.get("status") or {})
        return [
            Pause(
                id=id_,
                name=node["name"],
                is_open=node.get("phase") not in ENDED,
                is_over=_is_over(node, nodes),
                podsets=tuple(_podsets(node)),
            )
            for id_, node in nodes.items()
            if node.get("type") == "Suspend" and node.get("templateName") == PAUSE
        ]

    def resumption(self, pause: Pause, at: str) -> Json:
        """End a pause, as ``argo resume`` does."""
        return {"status": {"nodes": {pause.id: {"phase": "Succeeded", "finishedAt": at}}}}

    def ending(self, owner: Json, leaf: Leaf) -> Ending | None:
        """Tell that there is none: for Argo a pod that ends early has failed."""
        return None

    def reset(self, owner: Json, nodes: Iterable[str]) -> Json:
        """Set nodes back to Pending: Argo makes the missing pod of such a node."""
        status = owner.get("status") or {}
        known = nodes_of(status)
        back = [id_ for id_ in nodes if id_ in known and known[id_].get("phase") != "Succeeded"]
        results = status.get("taskResultsCompletionStatus") or {}
        change: Json = {"phase": "Pending", **_FORGOTTEN}
        stale = {id_: None for id_ in back if id_ in results}
        patch: Json = {"taskResultsCompletionStatus": stale} if stale else {}
        if status.get("compressedNodes"):
            whole = {
                id_: _without_nulls({**node, **change}) if id_ in back else node
                for id_, node in known.items()
            }
            return {"status": {**patch, "compressedNodes": packed(whole)}}
        return {"status": {**patch, "nodes": dict.fromkeys(back, change)}}


class Tree:
    """The nodes of one status, with ways up."""

    def __init__(self, nodes: Mapping[str, Json]) -> None:
        self.nodes = nodes
        self._by_name = {node["name"]: id_ for id_, node in nodes.items()}
        self._parents: dict[str, list[str]] = {}
        for id_, node in nodes.items():
            for child in node.get("children") or ():
                self._parents.setdefault(child, []).append(id_)

    def leaves(self) -> dict[str, list[str]]:
        """Give the pods' nodes by the leaf that they are attempts of."""
        found: dict[str, list[str]] = {}
        for id_, node in self.nodes.items():
            if node.get("type") == "Pod":
                found.setdefault(self._root(id_, node), []).append(id_)
        for attempts in found.values():
            attempts.sort(key=lambda id_: _attempt(self.nodes[id_]["name"]))
        return found

    def _root(self, id_: str, node: Json) -> str:
        for parent in self._parents.get(id_, ()):
            above = self.nodes[parent]
            if above.get("type") == "Retry" and node["name"].startswith(above["name"] + "("):
                return parent
        return id_

    def has_ended(self, root: str, attempts: Sequence[str]) -> bool:
        """Whether a leaf needs nothing more; waiting for a lock means that it must ask again."""
        if self.nodes[root].get("phase") in ENDED:
            return True
        both = (self.nodes[root], self.nodes[attempts[-1]])
        return any((node.get("synchronizationStatus") or {}).get("waiting") for node in both)

    def has_pod(self, id_: str) -> bool:
        """Whether a pod was made, or is about to be; a message says why it could not be."""
        node = self.nodes[id_]
        message = str(node.get("message") or "")
        return node.get("phase") == "Pending" and (
            not message or any(word in message for word in _SOON)
        )

    def layer_of(self, id_: str) -> str:
        """Name the layer of a leaf: a parallel group of steps, or tasks that hang on the same."""
        node = self.nodes[id_]
        above = self.nodes.get(node.get("boundaryID") or "")
        name = str(node["name"])
        if above is None:
            return name
        start = str(above["name"])
        if group := _GROUP.match(name, len(start)):
            return start + group[0]
        task = _TASK.match(name, len(start))
        head = self._by_name.get(start + task[0], id_) if task else id_
        causes = sorted(self.nodes[p]["name"] for p in self._parents.get(head, ()))
        if causes in ([], [start]):
            return start
        return f"{start} after {_short(', '.join(each.removeprefix(start) for each in causes))}"


def nodes_of(status: Mapping[str, Any]) -> dict[str, Json]:
    """Give the nodes of a status, unpacked if there were too many of them."""
    text = status.get("compressedNodes")
    if text:
        found: dict[str, Json] = json.loads(gzip.decompress(base64.b64decode(text)))
        return found
    return dict(status.get("nodes") or {})


def packed(nodes: Mapping[str, Json]) -> str:
    """Write nodes as Argo does where they are many."""
    text = json.dumps(nodes, separators=(",", ":")).encode()
    return base64.b64encode(gzip.compress(text, mtime=0)).decode()


def _is_over(pause: Json, nodes: Mapping[str, Json]) -> bool:
    behind = [nodes[id_] for id_ in pause.get("children") or () if id_ in nodes]
    return bool(behind) and all(node.get("phase") in ENDED for node in behind)


def _podsets(pause: Json) -> Iterable[Json]:
    """Read a pause's inputs; loops over lists of the run add the length of the list."""
    given = (pause.get("inputs") or {}).get("parameters") or ()
    values = {each["name"]: each.get("value", "") for each in given}
    for each in json.loads(values.get(PODSETS) or "[]"):
        lengths = [_length(values.get(name) or "[]") for name in each.pop("loops", ())]
        each["count"] += sum(lengths)
        if each["count"]:
            yield each


def _length(text: str) -> int:
    """Count a loop of the run; where it makes no sense the workflow shall go on, and say so."""
    try:
        return length(json.loads(text))
    except ValueError:
        return 0


def _short(text: str) -> str:
    if len(text) <= _LONGEST:
        return text
    return f"{text[:_LONGEST]}… {fnv1a32(text):x}"


def _attempt(name: str) -> tuple[int, str]:
    number = re.search(r"\((\d+)\)$", name)
    return (int(number[1]) if number else -1, name)


def _agent_leaf(pod: Json) -> Leaf:
    """Treat a pod that stands for no node, as Argo's agent, as a layer of its own."""
    name = pod["metadata"]["name"]
    kind = (pod["metadata"].get("labels") or {}).get(COMPONENT, "pod")
    return Leaf(id=node_of(pod), layer=f"{kind} {name}", node=node_of(pod), pod=pod)


def _without_nulls(node: Json) -> Json:
    return {key: value for key, value in node.items() if value is not None}
