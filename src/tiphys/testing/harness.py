"""The real engine on a virtual clock, with leaves that do what a function says.

No process, disk or thread: a workflow of hours is over in milliseconds, and the same seed gives
the same history. Tests, property tests, benchmarks and the simulator stand on it.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import count

import msgspec

from tiphys.control.locks import LockTable, Waiting
from tiphys.engine import command as cm
from tiphys.engine import event as ev
from tiphys.engine.lifecycle import Effects, begin, step, take_effects
from tiphys.engine.node import Node
from tiphys.engine.restore import restore
from tiphys.engine.run import Run
from tiphys.spec import model
from tiphys.spec.library import Library
from tiphys.spec.merge import resolve_spec
from tiphys.spec.parse import parse_text

NOON = 1_767_268_800.0
"""A Thursday noon, UTC."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a leaf goes."""

    phase: str = "Succeeded"
    seconds: float = 1.0
    result: str | None = None
    parameters: dict[str, str] = field(default_factory=dict)
    artifacts: dict[str, str] = field(default_factory=dict)
    """Names of output artifacts and the keys under which they were stored."""
    containers: tuple[ev.ContainerEnded, ...] = ()
    exit_code: int | None = None
    message: str = ""
    ready: bool = False
    """A daemon that becomes ready instead of ending."""


Play = Callable[[Node, model.Template], Outcome]


def succeed(_node: Node, _template: model.Template) -> Outcome:
    """Every leaf succeeds after a second."""
    return Outcome()


def load(text: str, *, name: str = "wf") -> Run:
    """Make the run of the first workflow of ``text``; its templates and config maps are known."""
    bundle = parse_text(text)
    bundle.raise_errors()
    library = Library.of(bundle)
    workflow = bundle.workflows[0].value
    meta = msgspec.structs.replace(workflow.metadata, name=name)
    workflow = msgspec.structs.replace(workflow, metadata=meta)
    spec = resolve_spec(workflow, library)
    return begin(workflow, spec, library, uid="uid", created_at=NOON)


class Harness:
    """Drives one run."""

    def __init__(self, run: Run | str, play: Play = succeed, *, slots: int = 1_000_000) -> None:
        self.run = load(run) if isinstance(run, str) else run
        self.play = play
        self.history: list[ev.Event] = []
        self.started: list[str] = []
        """Names of leaves in the order in which they were started."""
        self.metrics: list[cm.EmitMetric] = []
        self.now = NOON
        self.stopped: set[tuple[str, int]] = set()
        self.observers: list[Callable[[Harness, Effects], None]] = []
        self._slots = slots
        self._busy: set[tuple[str, int]] = set()
        self._waiting: deque[cm.StartNode] = deque()
        self._asked: set[tuple[str, int]] = set()
        self._inbox: deque[ev.Event] = deque()
        self._later: list[tuple[float, int, ev.Event]] = []
        self._order = count()
        self._locks = LockTable()
        self._memos: dict[tuple[str, str], model.Outputs | None] = {}

    def start(self) -> Harness:
        """Begin."""
        self.send(ev.RunStarted(at=self.now))
        return self

    def finish(self, *, limit: int = 1_000_000) -> Run:
        """Begin if need be, and go on until nothing is left to happen."""
        if not self.history:
            self.start()
        while self.advance():
            limit -= 1
            if limit < 0:
                raise AssertionError("the run does not come to an end")
        return self.run

    def advance(self) -> bool:
        """Let the next thing happen; False where there is none."""
        while self._later:
            at, _, event = heapq.heappop(self._later)
            if isinstance(event, ev.NodeEnded):
                self._release((event.node, event.attempt))
            self.now = max(self.now, at)
            self.send(event)
            return True
        return False

    def send(self, event: ev.Event) -> None:
        """Let an event happen now, and do what the engine asks for."""
        self._inbox.append(event)
        self._digest()

    def take_up(self) -> Run:
        """Forget the run and restore it from its stored form, as a restart does."""
        old = self.run
        fresh = begin(
            old.workflow,
            resolve_spec(old.workflow, old.library),
            old.library,
            uid=old.uid,
            created_at=old.created_at,
        )
        for name in STORED:
            setattr(fresh, name, getattr(old, name))
        nodes = msgspec.json.decode(
            msgspec.json.encode(sorted(old.nodes.values(), key=lambda n: n.ours.seq)),
            type=list[Node],
        )
        restore(fresh, nodes, now=self.now)
        self.run = fresh
        self._obey()
        self._digest()
        return fresh

    def phases(self) -> dict[str, str]:
        """Give the phase of each node by name."""
        return {node.name: str(node.phase) for node in self.run.nodes.values()}

    def node(self, name: str) -> Node:
        """Find a node by name."""
        found = self.run.node_named(name)
        assert found is not None, f"no node {name}; there are {sorted(self.run.ids)}"
        return found

    def _digest(self) -> None:
        """Step the engine for all that has happened, in its order, to the end."""
        while self._inbox:
            event = self._inbox.popleft()
            self.history.append(event)
            step(self.run, event)
            self._obey()

    def _obey(self) -> None:
        effects = take_effects(self.run)
        for observer in self.observers:
            observer(self, effects)
        for command in effects.commands:
            self._inbox.extend(self._perform(command))
        self._fill()

    def _perform(self, command: cm.Command) -> Iterable[ev.Event]:
        match command:
            case cm.StartNode():
                self._queue(command)
            case cm.StopNode():
                self._stop((command.node, command.attempt))
            case cm.WakeAt():
                self._push(command.at, ev.Woken(at=command.at, node=command.node))
            case cm.AcquireLocks():
                yield self._acquire(command)
            case cm.ReleaseLocks():
                yield from self._free(command.holder)
            case cm.ReadMemo():
                key = (command.cache, command.key)
                yield ev.MemoRead(
                    at=self.now,
                    node=command.node,
                    hit=key in self._memos,
                    outputs=self._memos.get(key),
                )
            case cm.SaveMemo():
                self._memos[command.cache, command.key] = command.outputs
            case cm.EmitMetric():
                self.metrics.append(command)

    def _acquire(self, command: cm.AcquireLocks) -> ev.Event:
        answer = self._locks.acquire(
            (self.run.uid, command.holder),
            command.locks,
            priority=0,
            created_at=NOON,
            held=command.held,
        )
        if isinstance(answer, Waiting):
            return ev.LocksAwaited(
                at=self.now, holder=command.holder, lock=answer.lock, message=answer.message
            )
        return ev.LocksGranted(at=self.now, holder=command.holder)

    def _free(self, holder: str) -> Iterable[ev.Event]:
        uid = self.run.uid
        freed = (
            self._locks.release_run(uid) if holder == "*" else self._locks.release((uid, holder))
        )
        for _, each in freed:
            yield ev.LocksGranted(at=self.now, holder=each)

    def _queue(self, command: cm.StartNode) -> None:
        key = (command.node, command.attempt)
        # A run that was taken up asks again for what it had asked for.
        if key not in self._asked:
            self._asked.add(key)
            self._waiting.append(command)

    def _fill(self) -> None:
        """Start what there is room for."""
        while self._waiting and len(self._busy) < self._slots:
            command = self._waiting.popleft()
            key = (command.node, command.attempt)
            if key in self.stopped:
                continue
            self._busy.add(key)
            self._begin(command)

    def _begin(self, command: cm.StartNode) -> None:
        node = self.run.nodes[command.node]
        node.ours.admitted = True
        self.started.append(node.name)
        outcome = self.play(node, command.template)
        at, (key, attempt) = self.now, (command.node, command.attempt)
        self._push(at, ev.NodeStarted(at=at, node=key, attempt=attempt))
        if outcome.ready:
            ready_at = at + outcome.seconds
            self._push(
                ready_at, ev.NodeReady(at=ready_at, node=key, attempt=attempt, ip="127.0.0.1")
            )
            return
        end = at + outcome.seconds
        seconds = command.template.active_deadline_seconds
        latest = min(
            command.deadline_at or end, at + float(seconds) if seconds is not None else end
        )
        if latest < end:
            outcome = Outcome(phase="Failed", message="DeadlineExceeded")
            end = latest
        ended = ev.NodeEnded(
            at=end,
            phase=outcome.phase,
            message=outcome.message,
            outputs=_outputs(outcome, command),
            containers=outcome.containers,
            node=key,
            attempt=attempt,
        )
        self._push(end, ended)

    def _stop(self, key: tuple[str, int]) -> None:
        self.stopped.add(key)
        self._release(key)

    def _release(self, key: tuple[str, int]) -> None:
        self._busy.discard(key)

    def _push(self, at: float, event: ev.Event) -> None:
        heapq.heappush(self._later, (at, next(self._order), event))


STORED = (
    "phase",
    "message",
    "started_at",
    "finished_at",
    "outputs",
    "shutdown",
    "suspended",
    "starts",
    "labels",
    "annotations",
)
"""The fields of a run that are stored with it."""


def _outputs(outcome: Outcome, command: cm.StartNode) -> model.Outputs:
    code = outcome.exit_code
    if code is None:
        code = 0 if outcome.phase == "Succeeded" else 1
    declared = command.template.outputs
    published = {p.name: p.global_name for p in declared.parameters}
    published |= {a.name: a.global_name for a in declared.artifacts}
    return model.Outputs(
        exit_code=str(code),
        result=outcome.result if command.capture_result else None,
        parameters=tuple(
            model.Parameter(name=name, value=value, global_name=published.get(name, ""))
            for name, value in outcome.parameters.items()
        ),
        artifacts=tuple(
            model.Artifact(
                name=name, s3=model.S3Artifact(key=key), global_name=published.get(name, "")
            )
            for name, key in outcome.artifacts.items()
        ),
    )
