"""``/healthz``, ``/readyz``, ``/metrics``, ``/openapi.json`` and ``/docs``."""

from __future__ import annotations

import asyncio
import hashlib
from base64 import b64encode
from importlib.resources import files
from typing import Any

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse, JSONResponse, Response

from tiphys.api.context import ApiContext
from tiphys.api.deps import Context, Who
from tiphys.api.envelope import answer
from tiphys.api.problems import RequestError
from tiphys.api.queue_metrics import queue_lines
from tiphys.api.schedule_metrics import schedule_lines
from tiphys.errors import TiphysError
from tiphys.service.access import Role
from tiphys.store import WorkflowFilter

router = APIRouter(include_in_schema=False)
_PATIENCE = 5.0
"""A loop that does not turn within this time is not ready."""


@router.api_route("/healthz", methods=["GET", "HEAD"])
async def healthz() -> Response:
    """Tell that the process answers."""
    return answer({"status": "ok"})


@router.api_route("/readyz", methods=["GET", "HEAD"])
async def readyz(context: Context) -> Response:
    """Tell whether store, loop and executor work."""
    store, loop = await asyncio.gather(_store_answers(context), _loop_turns(context))
    checks = {
        "store": store,
        "loop": loop and context.metrics.loop_lag < _PATIENCE,
        "executor": executor_up(context),
    }
    failed = [name for name, good in checks.items() if not good]
    if failed:
        listed = [{"path": name, "message": f"the {name} does not answer"} for name in failed]
        raise RequestError("not_ready", f"not ready: {', '.join(failed)}", listed)
    return answer({"status": "ready", **dict.fromkeys(checks, "ok")})


async def _store_answers(context: ApiContext) -> bool:
    try:
        await asyncio.wait_for(run_in_threadpool(context.store.workflows, limit=1), _PATIENCE)
    except (TiphysError, TimeoutError):
        return False
    return True


async def _loop_turns(context: ApiContext) -> bool:
    try:
        await asyncio.wait_for(context.host.control.settle(), _PATIENCE)
    except (TiphysError, TimeoutError):
        return False
    return True


def executor_up(context: ApiContext) -> bool:
    """Tell whether tasks reach the executor; other runtimes have none that could be away."""
    return bool(getattr(context.host.control.runtime, "connected", True))


@router.get("/metrics")
async def metrics(context: Context, who: Who) -> Response:
    """Give the numbers; they are those of all projects."""
    who.require(Role.VIEWER)
    unfinished = WorkflowFilter(phases=("", "Pending", "Running"))
    counts = await run_in_threadpool(context.store.count_by_phase, unfinished)
    live = {"pending": 0, "running": 0}
    for phase, count in counts.items():
        live["running" if phase == "Running" else "pending"] += count
    control = context.host.control
    text = context.metrics.text(
        live=live,
        watchers=context.feeds.watched,
        executor=executor_up(context),
        queues=[
            *queue_lines(control.scheduler, control.now()),
            *schedule_lines(context.schedules.book),
        ],
    )
    return Response(text, media_type="text/plain; version=0.0.4")


@router.get("/openapi.json")
async def openapi(request: Request) -> Response:
    """Give the OpenAPI document."""
    document: dict[str, Any] = request.app.openapi()
    return JSONResponse(document)


_PAGE = files("tiphys.api").joinpath("docs.html").read_text("utf-8")


def _hash_of(tag: str) -> str:
    inside = _PAGE.partition(f"<{tag}>")[2].partition(f"</{tag}>")[0]
    return "'sha256-" + b64encode(hashlib.sha256(inside.encode()).digest()).decode() + "'"


_POLICY = (
    f"default-src 'none'; connect-src 'self'; script-src {_hash_of('script')}; "
    f"style-src {_hash_of('style')}; base-uri 'none'; form-action 'none'"
)


@router.get("/docs")
async def docs() -> Response:
    """Give a page that reads the OpenAPI document with the token that is typed in."""
    return HTMLResponse(_PAGE, headers={"content-security-policy": _POLICY})
