"""What the engine is told of an attempt on a cluster: its events, made of what a pod says. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tiphys.executor.clock import now
from tiphys.executor.protocol import Ended
from tiphys.ports import Task, TaskEnded, TaskReady, TaskStarted
from tiphys.runtimes import verdict
from tiphys.runtimes.end import End
from tiphys.runtimes.kubernetes_attempt import PodAttempt
from tiphys.runtimes.kubernetes_pod import exit_of, first_start, start_problem
from tiphys.spec import model

Json = dict[str, Any]


def started(attempt: PodAttempt, pod: Json) -> TaskStarted:
    """Tell that its containers run, and where."""
    at = first_start(pod, attempt.mains) or now()
    host = str(pod["spec"].get("nodeName") or "")
    return TaskStarted(id=attempt.task.id, at=at, host=host, ip=_address(pod))


def ready(attempt: PodAttempt, pod: Json) -> TaskReady:
    """Tell that a daemon can be used."""
    return TaskReady(id=attempt.task.id, at=now(), ip=_address(pod))


def _address(pod: Json) -> str:
    return str((pod.get("status") or {}).get("podIP") or "")


def end_of(attempt: PodAttempt, pod: Json | None) -> Ended:
    """Give the end in the executor's words."""
    runs = attempt.plan().attempt.containers
    exits = tuple(exit_of(pod, run.name) for run in runs) if pod else ()
    reason = attempt.reason()
    message = attempt.lost_message() if reason == "lost" else ""
    if pod is not None and (problem := start_problem(pod)):
        reason, message = "refused", problem
    at = max((e.finished_at for e in exits if e.finished_at), default=None) or now()
    return Ended(attempt.task.id, at, exits, reason, message=message)


def ended(
    attempt: PodAttempt, event: Ended, outputs: model.Outputs, problems: Sequence[str]
) -> TaskEnded:
    """Judge the end, as everywhere; what went wrong with outputs makes it an error."""
    plan = attempt.plan()
    phase, message = verdict.judge(plan.attempt, event)
    if problems and phase == "Succeeded":
        phase, message = "Error", f"wait: Error (exit code 64): {'; '.join(problems)}"
    members = plan.task.template.container_set
    names = [node.name for node in members.containers] if members is not None else []
    return TaskEnded(
        id=event.id,
        at=event.at,
        phase=phase,
        message=message,
        outputs=None if outputs == model.Outputs() else outputs,
        containers=verdict.members(event, names),
        lost=event.reason == "lost",
        stopped=event.reason == "stopped",
    )


def acted(task: Task, end: End, *, stopped: bool) -> TaskEnded:
    """Tell how a ``resource`` template ended."""
    return TaskEnded(
        id=task.id,
        at=now(),
        phase=end.phase,
        message=end.message,
        outputs=end.outputs,
        stopped=stopped,
    )


def failure(task: Task, message: str, *, stopped: bool = False) -> TaskEnded:
    """Tell that a task ended before it had a pod."""
    phase = "Failed" if stopped else "Error"
    return TaskEnded(id=task.id, at=now(), phase=phase, message=message, stopped=stopped)
