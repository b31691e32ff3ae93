"""A stored workflow as its JSON text, with the wanted fields only."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import TypeVar

import msgspec
from starlette.responses import Response

from tiphys.api.argo.call import Call, reply
from tiphys.api.argo.fields import Fields
from tiphys.engine.node import Node
from tiphys.spec import model
from tiphys.store import Store, WorkflowRow
from tiphys.wire.argo import workflow_json
from tiphys.wire.node import decode_node

change = msgspec.structs.replace
ALL = Fields()


def nodes_of(store: Store, uid: str) -> Iterator[Node]:
    """Give the nodes of a workflow in the order of their creation."""
    return (decode_node(row.body) for row in store.nodes(uid))


def _disguised(node: Node) -> Node:
    """Show artifacts of the local repository as Argo's do: by their key in a store it knows.

    Argo's clients look for a key of a kind that they know before they ask for an artifact; without
    a bucket it means one in the default repository, which is what it is.
    """
    for side in (node.inputs, node.outputs):
        if side is not None and any(each.local is not None for each in side.artifacts):
            break
    else:
        return node
    return change(node, inputs=_relabelled(node.inputs), outputs=_relabelled(node.outputs))


Side = TypeVar("Side", model.Inputs, model.Outputs)


def _relabelled(side: Side | None) -> Side | None:
    if side is None:
        return None
    shown = tuple(
        each
        if each.local is None
        else change(each, local=None, s3=model.S3Artifact(key=each.local.key))
        for each in side.artifacts
    )
    return change(side, artifacts=shown)


def workflow_text(store: Store, row: WorkflowRow, fields: Fields = ALL) -> bytes:
    """Write a workflow; its nodes are not even read where nobody wants them."""
    try:
        nodes = map(_disguised, nodes_of(store, row.uid)) if fields.wants("status.nodes") else ()
        text = workflow_json(row, nodes)
    except msgspec.MsgspecError:
        text = workflow_json(row, ())  # A damaged node must not hide the rest.
    if not fields.names:
        return text
    return msgspec.json.encode(fields.clean(msgspec.json.decode(text)))


async def reply_workflow(call: Call, row: WorkflowRow, fields: Fields = ALL) -> Response:
    """Answer with a workflow."""
    return reply(await asyncio.to_thread(workflow_text, call.context.store, row, fields))
