"""Archived workflows: in Argo another database, here those of the one store that have ended."""

from __future__ import annotations

import asyncio
from itertools import islice

from starlette.responses import Response

from tiphys.api.argo.call import Call, reply
from tiphys.api.argo.listing import matching, read_query, reply_list
from tiphys.api.argo.show import reply_workflow
from tiphys.errors import NotFoundError
from tiphys.service.access import Role
from tiphys.store import WorkflowSummary
from tiphys.store.row import FINISHED

LOOKED_AT = 5000
"""Labels are gathered from so many of the newest workflows: they are suggestions for people."""


def _namespace(call: Call) -> str:
    namespace = call.text("namespace") or call.identity.project
    call.identity.require(Role.VIEWER, namespace)
    return namespace


async def list_all(call: Call) -> Response:
    """List workflows that have ended."""
    return await reply_list(call, read_query(call, _namespace(call), phases=FINISHED))


async def get(call: Call) -> Response:
    """Show a workflow that has ended, by its uid."""
    row = call.workflow_by_uid(Role.VIEWER)
    if row.phase not in FINISHED:
        raise NotFoundError(f"workflow {row.name} has not ended")
    return await reply_workflow(call, row)


async def label_keys(call: Call) -> Response:
    """List the labels that workflows have."""
    rows = await asyncio.to_thread(_some, call)
    return reply({"items": sorted({name for row in rows for name in row.labels})})


async def label_values(call: Call) -> Response:
    """List the values that a label has."""
    key = call.text("listOptions.labelSelector")
    rows = await asyncio.to_thread(_some, call)
    return reply({"items": sorted({row.labels[key] for row in rows if key in row.labels})})


def _some(call: Call) -> list[WorkflowSummary]:
    query = read_query(call, _namespace(call), phases=FINISHED)
    return [row for _, row in islice(matching(call.context.store, query), LOOKED_AT)]
