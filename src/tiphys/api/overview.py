"""``/api/v1/overview``: how things are and have been lately, in one answer, for dashboards."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any

from fastapi import Query
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from tiphys.api.chronicle import MINUTE, Chronicle, Sample
from tiphys.api.context import ApiContext
from tiphys.api.deps import Context, Who
from tiphys.api.document import answers, routes
from tiphys.api.envelope import answer, instant
from tiphys.api.shapes import Envelope
from tiphys.ports import LOCAL
from tiphys.service.access import Role
from tiphys.store import WorkflowFilter

router = routes("/overview", "overview")
_STATUSES = ("succeeded", "failed", "error")
_SHOWN = 240
"""No more samples than a chart has room for."""


class Bucket(BaseModel):
    """What ended in a span of time."""

    at: datetime
    succeeded: int
    failed: int
    error: int
    mean_seconds: float | None


class Waits(BaseModel):
    """How long starts of one queue have waited in the span."""

    queue_id: str
    count: int
    p50: float
    p95: float


class Use(BaseModel):
    """What was in use at one instant."""

    at: datetime
    cpu: float = Field(description="Held by running work, in cores.")
    memory: int = Field(description="Held by running work, in bytes.")
    waiting: int = Field(description="Nodes that wait for their turn.")
    running: int = Field(description="Workflows under way.")
    load: float | None = Field(description="The machine's own.")
    machine_memory: int | None = Field(description="In use on the machine, in bytes.")


class Overview(BaseModel):
    """All of it."""

    now: datetime
    hours: float
    pending: int
    running: int
    buckets: list[Bucket]
    waits: list[Waits]
    cpu: float = Field(description="Cores that there are.")
    memory: int = Field(description="Bytes that there are.")
    use: list[Use]


class QueueUse(BaseModel):
    """What a queue held at one instant."""

    at: datetime
    cpu: float
    memory: int
    waiting: int = Field(description="Nodes in line.")


@router.get(
    "/queues/{queue_id}",
    summary="How full a queue has been",
    responses=answers(Envelope[list[QueueUse]]),
)
async def queue_history(
    context: Context,
    who: Who,
    queue_id: str,
    hours: Annotated[float, Query(gt=0, le=24)] = 24,
) -> Response:
    """Give what a queue held over time, since this server began."""
    who.require(Role.VIEWER, who.project)
    queues, name = await context.queues.find(queue_id)
    if queues.scheduler != LOCAL:
        return answer([])  # The cluster's own metrics tell it.
    chronicle = context.chronicle
    since = context.host.clock.now() - hours * 3600
    taken = [each for each in (*chronicle.samples, chronicle.sample()) if each.at >= since]
    shown = []
    for sample in _thinned(taken):
        cpu, memory, waiting = sample.queues.get(name, (0, 0, 0))
        point = {"at": instant(sample.at), "cpu": cpu / 1000, "memory": memory}
        shown.append({**point, "waiting": waiting})
    return answer(shown)


@router.get("", summary="How things are", responses=answers(Envelope[Overview]))
async def overview(
    context: Context,
    who: Who,
    hours: Annotated[float, Query(gt=0, le=24)] = 24,
    buckets: Annotated[int, Query(ge=1, le=288)] = 48,
) -> Response:
    """Count what runs, and what ended lately; of the projects that the token sees.

    Use and waits are those of the whole machine: they name nobody.
    """
    who.require(Role.VIEWER, who.project)
    return answer(await look_over(context, who.project, hours, buckets))


async def look_over(
    context: ApiContext, project: str, hours: float, buckets: int
) -> dict[str, Any]:
    """Give an ``Overview`` of a project, "" for all of them."""
    chronicle = context.chronicle
    await run_in_threadpool(chronicle.read, context.store)
    live = await run_in_threadpool(_live, context, project)
    now = context.host.clock.now()
    since = now - hours * 3600
    capacity = context.host.control.scheduler.capacity
    taken = [*chronicle.samples, chronicle.sample()]
    return {
        "now": instant(now),
        "hours": hours,
        **live,
        "buckets": _buckets(chronicle, project, since, now, buckets),
        "waits": _waits(chronicle, since),
        "cpu": capacity.get("cpu") / 1000,
        "memory": capacity.get("memory"),
        "use": [_use(each) for each in _thinned([s for s in taken if s.at >= since])],
    }


def _live(context: ApiContext, project: str) -> dict[str, int]:
    wanted = WorkflowFilter(phases=("", "Pending", "Running"), namespace=project)
    counts = context.store.count_by_phase(wanted)
    running = counts.pop("Running", 0)
    return {"pending": sum(counts.values()), "running": running}


def _buckets(
    chronicle: Chronicle, project: str, since: float, now: float, number: int
) -> list[dict[str, Any]]:
    width = max(MINUTE, (now - since) / number)
    count = max(1, round((now - since) / width))
    # They begin at whole multiples of their width, so that nothing moves from one to the next.
    since = (now // width + 1 - count) * width
    made: list[dict[str, Any]] = [
        {"at": instant(since + index * width), **dict.fromkeys(_STATUSES, 0)}
        for index in range(count)
    ]
    seconds = [0.0] * count
    for minute, status, entry in chronicle.since(since, project):
        index = min(count - 1, max(0, int((minute * MINUTE - since) / width)))
        made[index][status] += entry.count
        seconds[index] += entry.seconds
    for bucket, total in zip(made, seconds, strict=True):
        ended = sum(bucket[status] for status in _STATUSES)
        bucket["mean_seconds"] = round(total / ended, 3) if ended else None
    return made


def _waits(chronicle: Chronicle, since: float) -> list[dict[str, Any]]:
    found = []
    for queue, known in chronicle.waits.items():
        values = sorted(wait for at, wait in list(known) if at >= since)
        if values:
            found.append(
                {
                    "queue_id": f"q-{queue}",
                    "count": len(values),
                    "p50": round(values[len(values) // 2], 3),
                    "p95": round(values[min(len(values) - 1, int(len(values) * 0.95))], 3),
                }
            )
    return found


def _thinned(samples: Sequence[Sample]) -> Sequence[Sample]:
    """Keep every n-th, and the latest."""
    step = max(1, len(samples) // _SHOWN)
    return [*samples[:-1:step], *samples[-1:]]


def _use(sample: Sample) -> dict[str, Any]:
    return {
        "at": instant(sample.at),
        "cpu": sample.cpu / 1000,
        "memory": sample.memory,
        "waiting": sample.waiting,
        "running": sample.running,
        "load": sample.load,
        "machine_memory": sample.machine_memory,
    }
