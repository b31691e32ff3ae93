"""Follows one run to its end by its stream, whatever happens to connection and server meanwhile.

Knows nothing of Temporal: the activity gives it a function for each change. Never polls while the
stream is there; a stream that breaks is opened again, with pauses that grow.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

from tiphys.client import AnswerError, AsyncClient, calls
from tiphys.client.model import Event, Node, Update, Workflow
from tiphys.errors import NotFoundError, TiphysError
from tiphys.temporal.payload import RunResult, TaskResult

_PHASES = {"succeeded": "Succeeded", "failed": "Failed", "error": "Error"}
_FIRST_PAUSE, _LONGEST_PAUSE = 0.2, 10.0

Notice = Callable[[Update], None]


class StartLateError(TiphysError):
    """Nothing of it has started in the time that was given."""

    code = "start_late"


async def follow(
    client: AsyncClient, workflow: str, notice: Notice, *, wait_seconds: float = 0.0
) -> str:
    """Wait until a run has ended and give its phase; ``notice`` hears of each change.

    Raises StartLateError where nothing has started after ``wait_seconds``.
    """
    limit = asyncio.timeout(wait_seconds or None)
    try:
        async with limit:
            async for update in _updates(client, workflow):
                notice(update)
                if update.status in _PHASES:
                    return _PHASES[update.status]
                if update.status == "running" and _has_started(update):
                    limit.reschedule(None)
    except TimeoutError:
        raise StartLateError(f"nothing has started within {wait_seconds:g} s") from None
    raise AnswerError("the stream ended before the run did")


def _has_started(update: Update) -> bool:
    """Whether anything below the root has left the queue, or the root itself is all there is."""
    begun = [node for node in update.nodes if node.phase not in {"Pending", ""}]
    return any("." in node.name for node in begun) or (len(update.nodes) == 1 and bool(begun))


async def _updates(client: AsyncClient, workflow: str) -> AsyncIterator[Update]:
    pause = _FIRST_PAUSE
    while True:
        try:
            async for update in client.watch(workflow):
                pause = _FIRST_PAUSE
                yield update
            return
        except NotFoundError:
            raise
        except (OSError, TiphysError, EOFError) as error:
            if getattr(error, "code", "") in {"unauthenticated", "forbidden"}:
                raise
        await asyncio.sleep(pause)
        pause = min(_LONGEST_PAUSE, pause * 2)


async def result_of(
    client: AsyncClient, workflow: str, phase: str, *, link: str, lines: int
) -> RunResult:
    """Gather how a run went."""
    found = await client.do(calls.get_workflow(workflow))
    events = await client.do(calls.get_events(workflow))
    tasks = [
        await _task(client, workflow, node, lines) for node in found.nodes if _ran(node)
    ]  # One after another: a gang of hundreds must not open hundreds of connections.
    return RunResult(
        phase=phase,
        workflow_id=workflow,
        name=found.workflow_name or found.name,
        message=found.message,
        outputs=_outputs(found),
        tasks=tasks,
        link=link,
        waited_seconds=_waited(found),
        ran_seconds=found.duration or 0.0,
        preemptions=_preemptions(events),
    )


def _ran(node: Node) -> bool:
    return node.type in {"container", "script", "pod", "Pod"} and node.attempts > 0


async def _task(client: AsyncClient, workflow: str, node: Node, lines: int) -> TaskResult:
    output = await client.do(calls.get_output(workflow, node.id))
    text = output.stdout or output.stderr
    return TaskResult(
        name=node.display_name,
        phase=node.phase,
        exit_code=output.exit_code,
        log_tail="\n".join(text.splitlines()[-lines:]),
        message=node.message,
    )


def _outputs(found: Workflow) -> dict[str, str]:
    """The output parameters of the root node."""
    root = next((node for node in found.nodes if node.name == found.workflow_name), None)
    parameters = (root.outputs or {}).get("parameters", []) if root is not None else []
    return {str(each["name"]): str(each.get("value", "")) for each in parameters}


def _waited(found: Workflow) -> float:
    starts = [node.start_time for node in found.nodes if _ran(node) and node.start_time is not None]
    if not starts:
        return 0.0
    return max(0.0, (min(starts) - found.created_at).total_seconds())


def _preemptions(events: list[Event]) -> int:
    return sum("preempt" in event.kind.lower() for event in events)
