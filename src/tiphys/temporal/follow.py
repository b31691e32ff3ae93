"""Follows one run to its end by its stream, whatever happens to connection and server meanwhile.

Knows nothing of Temporal: the activity gives it a function for each change. Never polls while the
stream is there; a stream that breaks is opened again, with pauses that grow.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import aclosing
from typing import Protocol

from websockets.exceptions import WebSocketException

from tiphys.client import AnswerError
from tiphys.client.model import Update
from tiphys.errors import ForbiddenError, NotFoundError, TiphysError, UnauthenticatedError
from tiphys.temporal.reach import Pauses, Reach

PHASES = {"succeeded": "Succeeded", "failed": "Failed", "error": "Error"}
_GROUPS = frozenset({"steps", "step-group", "dag", "task-group", "retry", "job", "skipped", ""})
"""Types of nodes that only hold others: they run while everything in them still waits."""
_BEGUN = frozenset({"Running", "Succeeded", "Failed", "Error"})

Notice = Callable[[Update], None]


class NodeLike(Protocol):
    """What tells whether a node has begun."""

    @property
    def type(self) -> str:
        """Give what it is."""

    @property
    def phase(self) -> str:
        """Give how far it is."""


class StartLateError(TiphysError):
    """Nothing of it has started in the time that was given."""

    code = "start_late"


def is_task(kind: str) -> bool:
    """Tell whether nodes of a type do something themselves."""
    return kind not in _GROUPS


def has_started(nodes: Iterable[NodeLike]) -> bool:
    """Tell whether any task has left the queue."""
    return any(is_task(node.type) and node.phase in _BEGUN for node in nodes)


async def follow(reach: Reach, workflow: str, notice: Notice, *, wait_seconds: float = 0.0) -> str:
    """Wait until a run has ended and give its phase; ``notice`` hears of each change.

    Raises StartLateError where nothing has started after ``wait_seconds``.
    """
    try:
        async with asyncio.timeout(wait_seconds or None) as limit:
            async with aclosing(_updates(reach, workflow)) as updates:
                async for update in updates:
                    notice(update)
                    if update.status in PHASES:
                        return PHASES[update.status]
                    if has_started(update.nodes):
                        limit.reschedule(None)
    except TimeoutError:
        raise StartLateError(f"nothing has started within {wait_seconds:g} s") from None
    raise AnswerError("the stream ended before the run did")


async def _updates(reach: Reach, workflow: str) -> AsyncGenerator[Update, None]:
    pauses = Pauses()
    while True:
        try:
            client = await reach.client()
            async with aclosing(client.watch(workflow)) as stream:
                async for update in stream:
                    pauses.reset()
                    yield update
            return
        except (NotFoundError, UnauthenticatedError, ForbiddenError):
            raise
        except (OSError, EOFError, TiphysError, WebSocketException):
            await pauses.wait()
