"""The launcher as a Python call: hand one job or a gang in, and follow it by watch.

    from tiphys.client import Client
    from tiphys.client.launch import Payload, launch

    with Client(url, token) as client:
        end = launch(client, Payload(kind="campaign", worker=Worker(command=["./work"])))

Who runs it (this machine, Volcano) is the server's configuration, or ``scheduler``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from tiphys.client import calls
from tiphys.client.client import Client
from tiphys.client.model import Update, Workflow
from tiphys.client.transport import AnswerError
from tiphys.core.gang import Worker, crew, gang_text, members
from tiphys.errors import InvalidInputError

__all__ = ["Payload", "Worker", "follow", "launch", "read_payload", "start", "text_of"]
PRIORITIES = ("critical", "high", "normal", "low")
ENDED = frozenset({"succeeded", "failed", "error"})
_PAUSE = 1.0
PATIENCE = 60.0
"""Seconds for which a server that is away is waited for."""


@dataclass(slots=True, kw_only=True)
class Payload:
    """What is to be done; the kind decides how many start together (``core.gang``)."""

    kind: str = "task"
    name: str = ""
    worker: Worker = field(default_factory=Worker)
    agents: list[str] = field(default_factory=list)
    size: int = 0
    """Of a gang; of the others it must be what follows from the kind, or 0."""
    queue: str = ""
    priority: int | str = "normal"
    """critical, high, normal, low, or a number."""
    retries: int = 0


def read_payload(data: Mapping[str, Any]) -> Payload:
    """Read a payload of plain data; raise InvalidInputError where it makes no sense."""
    known = {field.name for field in msgspec.inspect.type_info(Payload).fields}  # type: ignore[attr-defined]
    if unknown := data.keys() - known:
        raise InvalidInputError(f"a payload has no {', '.join(sorted(unknown))}")
    try:
        return msgspec.convert({**data, **_priority(data)}, Payload)
    except msgspec.ValidationError as error:
        raise InvalidInputError(f"payload: {error}") from error


def _priority(data: Mapping[str, Any]) -> dict[str, int]:
    """Read a priority that is a number in words, as flags give it."""
    given = data.get("priority")
    if not isinstance(given, str) or given in PRIORITIES:
        return {}
    try:
        return {"priority": int(given)}
    except ValueError:
        known = ", ".join(PRIORITIES)
        raise InvalidInputError(f"priority {given!r} is none of {known}, and no number") from None


def text_of(payload: Payload) -> str:
    """Write the Volcano Job of a payload; raise InvalidInputError where it makes no sense."""
    if not payload.worker.command:
        raise InvalidInputError("a payload needs a command to run")
    try:
        workers = crew(payload.worker, members(payload.kind, payload.agents, payload.size))
        name = payload.name or payload.kind
        return gang_text(name, workers, retries=payload.retries, queue=payload.queue)
    except ValueError as error:
        raise InvalidInputError(str(error)) from error


def start(
    client: Client, payload: Payload, *, scheduler: str = "", project: str = "default"
) -> str:
    """Hand a payload in; give the id of its run."""
    call = calls.submit(
        payload.name or payload.kind,
        project,
        text_of(payload),
        priority=payload.priority,
        queue=payload.queue,
        scheduler=scheduler,
        generate_name=True,
    )
    return client.do(call).id


def follow(client: Client, workflow: str, notice: Callable[[Update], None] | None = None) -> str:
    """Wait for a run's end by its stream and give its status; ``notice`` hears of each change.

    A stream that breaks off is opened again, and a server that is away is waited for.
    """
    end = time.monotonic() + PATIENCE
    while True:
        try:
            for update in client.watch(workflow):
                end = time.monotonic() + PATIENCE
                if notice is not None:
                    notice(update)
                if update.status in ENDED:
                    return update.status
        except (OSError, EOFError, AnswerError):
            if time.monotonic() > end:
                raise
            time.sleep(_PAUSE)


def launch(
    client: Client,
    payload: Payload,
    *,
    scheduler: str = "",
    project: str = "default",
    notice: Callable[[Update], None] | None = None,
) -> Workflow:
    """Hand a payload in, follow it to its end and give the run as it ended."""
    workflow = start(client, payload, scheduler=scheduler, project=project)
    follow(client, workflow, notice)
    return client.do(calls.get_workflow(workflow))
