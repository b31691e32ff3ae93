"""Retries: a node of type Retry, and its attempts ``name(0)``, ``name(1)`` … one after another.

The order in which a failed attempt is judged is Argo's: is the run ending; has the time for
retries run out, and must we wait; does the policy retry this kind of end; is the limit reached;
does the expression agree.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec

from tiphys.core.duration import parse_duration_or_seconds
from tiphys.engine import leaf, locks, metric
from tiphys.engine.event import Shutdown
from tiphys.engine.inputs import local_values, render_template
from tiphys.engine.node import Node, NodeFlag, NodeType, Phase
from tiphys.engine.outputs import evaluate_bool
from tiphys.engine.resolve import UnresolvedError
from tiphys.engine.run import Call, HardError, Run, open_node, refuse, set_phase
from tiphys.engine.shield import shield, unshield
from tiphys.engine.throttle import no_room
from tiphys.errors import ExpressionError, InvalidInputError
from tiphys.spec import expression

if TYPE_CHECKING:
    from tiphys.engine.resolve import Prepared
    from tiphys.spec import model

_POLICIES = {
    "Always": frozenset({Phase.FAILED, Phase.ERROR}),
    "OnFailure": frozenset({Phase.FAILED}),
    "OnError": frozenset({Phase.ERROR}),
    "OnTransientError": frozenset({Phase.FAILED, Phase.ERROR}),
}
# What the words of a message say about an error that may pass by itself.
_TRANSIENT = (
    "i/o timeout",
    "connection reset",
    "connection refused",
    "TLS handshake timeout",
    "too many requests",
    "executor lost",
    "EOF",
)


class RetryFrame(msgspec.Struct, eq=False):
    """A retried node under way."""

    call: Call
    prepared: Prepared
    template: model.Template
    node: Node
    current: Node | None = None

    @property
    def strategy(self) -> model.RetryStrategy:
        """The rules, with their tags resolved."""
        found = self.template.retry_strategy or self.prepared.retry
        assert found is not None
        return found

    def started_nodes(self) -> Iterable[Node]:
        """Give the attempt that is under way."""
        return () if self.current is None else (self.current,)

    def pump(self, run: Run) -> None:
        """Begin, or go on where an earlier process left off."""
        if self.node.ended:
            return
        attempts = attempts_of(run, self.node)
        if not attempts:
            _attempt(run, self, 0)
        elif attempts[-1].ended:
            _judge(run, self, attempts)
        elif self.current is None:
            _attempt(run, self, len(attempts) - 1)


def start(run: Run, call: Call, prepared: Prepared, template: model.Template) -> Node:
    """Begin a retried node, or take it up where it was left."""
    node = open_node(run, call, NodeType.RETRY, template)
    frame = RetryFrame(call, prepared, template, node)
    run.frames[node.id] = frame
    # At once, so that the next sibling finds the attempt counted.
    frame.pump(run)
    return node


def attempts_of(run: Run, node: Node) -> list[Node]:
    """Give the attempts of a retried node, oldest first (hooks are its children, too)."""
    found = (run.nodes[child] for child in run.children.get(node.id, ()))
    return [each for each in found if each.node_flag is not None and each.node_flag.retried]


def _attempt(run: Run, frame: RetryFrame, number: int) -> None:
    """Start attempt ``number``, or take it up."""
    outer = frame.call
    hooked = outer.flag is not None and outer.flag.hooked
    call = Call(
        name=f"{outer.name}({number})",
        holder=outer.holder,
        base=outer.base,
        arguments=outer.arguments,
        boundary=outer.boundary,
        tell=_attempt_changed,
        frame=frame,
        parents=(frame.node.id,),
        on_exit=outer.on_exit,
        flag=NodeFlag(hooked=hooked, retried=True),
        deadline_at=_max_deadline(run, frame),
        depth=outer.depth,
    )
    values = local_values(run, outer, frame.prepared, attempt=call.name)
    values |= _last_values(run, frame, number)
    try:
        try:
            template = render_template(run, call, frame.prepared, values)
        except (UnresolvedError, ExpressionError) as error:
            refuse(run, call, str(error))
        known = run.node_named(call.name)
        if known is not None:
            run.waiters[known.id] = (call.tell, call.frame)
        frame.current = run.dispatch(run, call, frame.prepared, template)
    except HardError as error:
        _errored(run, frame, str(error))


def _errored(run: Run, frame: RetryFrame, problem: str) -> None:
    """The template itself could not be run; unless errors are retried, the parent ends as well."""
    if policy(frame.strategy) in {"Always", "OnError", "OnTransientError"}:
        run.dirty[frame] = None
        return
    run.hard[frame.node.id] = problem
    _end(run, frame, Phase.ERROR, problem)


def _last_values(run: Run, frame: RetryFrame, number: int) -> dict[str, str]:
    values = {
        "retries": str(number),
        "lastRetry.exitCode": "0",
        "lastRetry.duration": "0",
        "lastRetry.status": "",
        "lastRetry.message": "",
    }
    attempts = attempts_of(run, frame.node)
    if number > 0 and len(attempts) >= number:
        values |= _facts(attempts[number - 1], missing_code="0")
    return values


def _facts(last: Node, *, missing_code: str) -> dict[str, str]:
    code = last.outputs.exit_code if last.outputs is not None else None
    seconds = (last.finished_at or 0.0) - (last.started_at or 0.0)
    return {
        "lastRetry.exitCode": missing_code if code is None else code,
        "lastRetry.status": str(last.phase),
        "lastRetry.duration": expression.text_of(float(int(seconds))),
        "lastRetry.message": shield(last.message),
    }


def _attempt_changed(run: Run, frame: RetryFrame, node: Node) -> None:
    """An attempt moved."""
    attempts = attempts_of(run, frame.node)
    if frame.node.ended or node is not attempts[-1]:
        return  # Old news: several may come at once when a suspended run is resumed.
    if node.id in run.hard and node.ended:
        _errored(run, frame, run.hard.pop(node.id))
        return
    if node.ended:
        frame.node.daemoned = None
        _judge(run, frame, attempts)
    elif node.daemoned and not frame.node.daemoned:
        frame.node.daemoned = True
        run.daemons.setdefault(frame.node.boundary_id, set()).add(frame.node.id)
        run.touch(frame.node)
        run.notify(frame.node)


def _judge(run: Run, frame: RetryFrame, attempts: list[Node]) -> None:
    """Decide what follows the end of the latest attempt."""
    last = attempts[-1]
    if not last.unsuccessful:
        frame.node.outputs = last.outputs
        locks.save_memo(run, frame.node)
        _end(run, frame, Phase.SUCCEEDED, None)
        return
    try:
        verdict = _verdict(run, frame, attempts)
    except (UnresolvedError, ExpressionError, InvalidInputError) as error:
        run.hard[frame.node.id] = str(error)
        _end(run, frame, Phase.ERROR, str(error))
        return
    if verdict is None:
        if no_room(run, frame.call.boundary):
            run.parked[frame] = None
            return
        run.parked.pop(frame, None)
        set_phase(run, frame.node, Phase.RUNNING, "")
        _attempt(run, frame, len(attempts))
    elif verdict is not _WAIT:
        frame.node.outputs = last.outputs
        _end(run, frame, last.phase, verdict)


_WAIT = "wait"


def _verdict(run: Run, frame: RetryFrame, attempts: list[Node]) -> str | None:
    """Tell why there is no further attempt, None for a further one, or that we wait for it."""
    last, strategy = attempts[-1], frame.strategy
    if run.shutdown is not Shutdown.NONE:
        return f"Stopped with strategy '{run.shutdown}'"
    deadline = leaf.run_deadline(run)
    if deadline is not None and run.now >= deadline:
        return "retry exceeded workflow deadline"
    waiting = _back_off(run, frame, attempts)
    if waiting is not None:
        return waiting
    if not _retries(strategy, last):
        return last.message
    limit = _integer(strategy.limit, "limit")
    if limit is not None and len(attempts) > limit:
        return "No more retries left"
    if strategy.expression:
        values = {"retries": str(len(attempts) - 1), **_facts(last, missing_code="-1")}
        if not evaluate_bool(strategy.expression, values):
            return "retryStrategy.expression evaluated to false"
    return None


def policy(strategy: model.RetryStrategy) -> str:
    """Give the policy: OnFailure, unless an expression decides."""
    if strategy.retry_policy:
        return unshield(strategy.retry_policy)
    return "Always" if strategy.expression else "OnFailure"


def _retries(strategy: model.RetryStrategy, last: Node) -> bool:
    name = policy(strategy)
    if name not in _POLICIES:
        raise UnresolvedError(f"{name} is not a valid RetryPolicy")
    if name == "OnTransientError" and not any(word in last.message for word in _TRANSIENT):
        return False
    return last.phase in _POLICIES[name]


def _back_off(run: Run, frame: RetryFrame, attempts: list[Node]) -> str | None:
    backoff = frame.strategy.backoff
    if backoff is None:
        return None
    latest = _max_deadline(run, frame)
    if latest is not None and run.now > latest:
        return "Max duration limit exceeded"
    if not backoff.duration:
        raise UnresolvedError("no base duration specified for retryStrategy")
    pause = parse_duration_or_seconds(unshield(backoff.duration))
    factor = _integer(backoff.factor, "factor")
    if factor is not None and factor > 0:
        pause *= min(float(factor) ** (len(attempts) - 1), 1e15)
    if backoff.cap:
        pause = min(pause, parse_duration_or_seconds(unshield(backoff.cap)))
    until = (attempts[-1].finished_at or run.now) + pause
    if latest is not None and until > latest:
        return "Backoff would exceed max duration limit"
    limit = _integer(frame.strategy.limit, "limit")
    # Without a limit Argo does not wait at all, and neither do we.
    if run.now < until and limit is not None and len(attempts) <= limit:
        set_phase(run, frame.node, Phase.RUNNING, f"Backoff for {_in_words(pause)}")
        leaf.wake(run, frame.node, until)
        return _WAIT
    return None


_UNITS = (("day", 86_400), ("hour", 3600), ("minute", 60), ("second", 1))


def _in_words(seconds: float) -> str:
    """Write a wait in its two largest units: ``1 minute 30 seconds``."""
    whole = int(seconds)
    index = next(i for i, (_, size) in enumerate(_UNITS) if whole >= size or size == 1)
    words = []
    for name, size in _UNITS[index : index + 2]:
        count, whole = divmod(whole, size)
        words.append(f"{count} {name}" + ("" if count == 1 else "s"))
    return " ".join(words)


def _max_deadline(run: Run, frame: RetryFrame) -> float | None:
    backoff = frame.strategy.backoff
    if backoff is None or not backoff.max_duration:
        return None
    attempts = attempts_of(run, frame.node)
    first = attempts[0].started_at if attempts else None
    if first is None:
        return None
    return first + parse_duration_or_seconds(unshield(backoff.max_duration))


def _integer(text: str | None, what: str) -> int | None:
    if text is None:
        return None
    try:
        return int(unshield(text))
    except ValueError:
        raise UnresolvedError(f"retryStrategy {what} must be a number, got {text!r}") from None


def woken(run: Run, node: Node) -> None:
    """The wait before the next attempt is over."""
    frame = run.frames.get(node.id)
    if isinstance(frame, RetryFrame) and node.ours.wake_at is not None:
        node.ours.wake_at = None
        run.dirty[frame] = None


def _end(run: Run, frame: RetryFrame, phase: Phase, message: str | None) -> None:
    run.frames.pop(frame.node.id, None)
    run.parked.pop(frame, None)
    set_phase(run, frame.node, phase, message)
    if frame.template.metrics is not None:
        metric.emit_for_node(run, frame.node, frame.template.metrics)
