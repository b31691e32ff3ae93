"""The state of one workflow, and the few ways in which it may be changed.

Everything else in this package is functions over a ``Run``. Nodes are made by ``add_node`` and
move by ``set_phase`` only, so that the counts for parallelism, the list of changed nodes and the
notices to whoever waits for a node can never be forgotten.

How a run advances: a node changes → it is put into ``Run.notices`` → ``drain`` tells its waiter
(the frame of the steps, DAG, retry … that started it) → which may start more nodes, and so on
until nothing is left. No function walks all nodes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

import msgspec

from tiphys.core.name import fnv1a32
from tiphys.engine.command import Command, Gang, ReleaseLocks
from tiphys.engine.event import Shutdown
from tiphys.engine.node import (
    ACTIVE,
    FULFILLED,
    UNSUCCESSFUL,
    Node,
    NodeFlag,
    NodeType,
    Ours,
    Phase,
    SynchronizationStatus,
    check_move,
)
from tiphys.engine.resolve import Base, Prepared, Templates
from tiphys.errors import TiphysError
from tiphys.spec import model
from tiphys.spec.library import Library

Tell = Callable[["Run", Any, Node], None]


class HardError(TiphysError):
    """A template cannot be executed; its parent ends in error as well."""

    code = "template_error"


_COUNTED = frozenset({NodeType.POD, NodeType.STEPS, NodeType.DAG})


class Counts(msgspec.Struct, eq=False):
    """What is going on directly below one steps or DAG node."""

    children: int = 0
    """Pods, steps and DAGs that are Pending or Running."""
    pods: int = 0
    """Of these the pods that do not wait for a lock."""
    unsuccessful: int = 0


class Call(msgspec.Struct, eq=False, kw_only=True):
    """One template to be executed as one node, and by whom."""

    name: str
    """The name of the node that it becomes."""
    holder: model.WorkflowStep | model.DAGTask
    """What names the template."""
    base: Base
    """Where template names are looked up."""
    arguments: model.Arguments
    boundary: Node | None = None
    tell: Tell
    frame: Any
    parents: tuple[str, ...] = ()
    """Ids of the nodes that get the new node as a child."""
    on_exit: bool = False
    flag: NodeFlag | None = None
    deadline_at: float | None = None
    depth: int = 0


class Leaf(msgspec.Struct, eq=False):
    """A node that something outside of the engine runs: a pod, a pause, a request."""

    call: Call
    template: model.Template
    stop: Callable[[Run, Node], None] | None = None
    gang: Gang | None = None


class Run(msgspec.Struct, eq=False):
    """One workflow under way. Build it with ``begin`` or ``restore`` (engine.lifecycle)."""

    name: str
    namespace: str
    uid: str
    workflow: model.Workflow
    spec: model.WorkflowSpec
    library: Library
    created_at: float
    templates: Templates
    execute: Callable[[Run, Call], Node]
    """Makes a node of a call (engine.execute); here so that steps, DAGs and retries can call it."""
    dispatch: Callable[[Run, Call, Prepared, model.Template], Node]
    """Starts one attempt of a template (engine.execute)."""
    now: float = 0.0

    phase: str = ""
    message: str = ""
    started_at: float | None = None
    finished_at: float | None = None
    outputs: model.Outputs | None = None
    shutdown: Shutdown = Shutdown.NONE
    suspended: bool = False
    starts: int = 0
    """How many times a leaf was started: the next start gets the next number."""
    labels: dict[str, str] = msgspec.field(default_factory=dict)
    annotations: dict[str, str] = msgspec.field(default_factory=dict)
    header_changed: bool = True
    """Whether anything above this line changed since the last step."""

    made: int = 0
    """How many nodes were ever made."""
    globals: dict[str, str] = msgspec.field(default_factory=dict)
    nodes: dict[str, Node] = msgspec.field(default_factory=dict)
    ids: dict[str, str] = msgspec.field(default_factory=dict)
    """Node names to ids: usually name and hash, but hashes can collide."""
    children: dict[str, list[str]] = msgspec.field(default_factory=dict)
    """A list is only ever added to, never put in the place of another: see ``broods``."""
    joined: tuple[str, ...] = ()
    """The parents of the node that was connected last: often those of the next as well."""
    broods: list[list[str]] = msgspec.field(default_factory=list)
    """The lists of their children."""
    waiters: dict[str, tuple[Tell, Any]] = msgspec.field(default_factory=dict)
    leaves: dict[str, Leaf] = msgspec.field(default_factory=dict)
    frames: dict[str, Any] = msgspec.field(default_factory=dict)
    """The frame of each steps, DAG and retry node that has not ended."""
    counts: dict[str, Counts] = msgspec.field(default_factory=dict)
    active_pods: int = 0
    pods: int = 0
    """Pods that were ever made."""
    pods_done: int = 0
    parked: dict[Any, None] = msgspec.field(default_factory=dict)
    """Frames with children to start for which the whole run has no room."""
    released: set[str] = msgspec.field(default_factory=set)
    """With ``suspendBySteps``: the layers that may start. They follow from the nodes' attempts."""
    dirty: dict[Any, None] = msgspec.field(default_factory=dict)
    """Frames that may have room for more children now."""
    locked: set[str] = msgspec.field(default_factory=set)
    """Nodes that hold locks or wait for them."""
    hard: dict[str, str] = msgspec.field(default_factory=dict)
    """Nodes that ended in an error of the template itself, which ends their group at once."""
    daemons: dict[str, set[str]] = msgspec.field(default_factory=dict)
    """Ready daemons by the id of the node that bounds their life."""
    notices: deque[Node] = msgspec.field(default_factory=deque)
    changed: dict[str, Node] = msgspec.field(default_factory=dict)
    removed: list[str] = msgspec.field(default_factory=list)
    commands: list[Command] = msgspec.field(default_factory=list)
    finishing: Any = None
    """What is left to do once the entry node has ended (engine.lifecycle)."""

    @property
    def ended(self) -> bool:
        """Whether the run is over."""
        return self.phase in {"Succeeded", "Failed", "Error"}

    def node_id(self, name: str) -> str:
        """Give the id of the node called ``name``: Argo's, unless another name has that hash."""
        known = self.ids.get(name)
        if known is not None:
            return known
        if name == self.name:
            return self.ids.setdefault(name, name)
        wanted = f"{self.name}-{fnv1a32(name)}"
        number = 2
        while wanted in self.nodes:
            # Two names with one hash: a near certainty with 100,000 nodes, and Argo confuses them.
            wanted = f"{self.name}-{fnv1a32(name)}-{number}"
            number += 1
        self.ids[name] = wanted
        return wanted

    def node_named(self, name: str) -> Node | None:
        """Find a node by name."""
        known = self.ids.get(name)
        return None if known is None else self.nodes.get(known)

    def emit(self, command: Command) -> None:
        """Ask for something to be done."""
        self.commands.append(command)

    def touch(self, node: Node) -> None:
        """Note that ``node`` must be stored again."""
        self.changed[node.id] = node

    def connect(self, parents: Iterable[str], child: Node) -> None:
        """Make ``child`` a child of each of ``parents``, once."""
        known = child.ours.parents
        if known:
            parents = [parent for parent in parents if parent not in known]
        if parents != self.joined:
            # Looked up once for all that wait for the same: a wide join has many edges.
            self.joined = tuple(dict.fromkeys(parents))
            self.broods = [self.children.setdefault(parent, []) for parent in self.joined]
        if not self.joined:
            return
        name = child.id
        for brood in self.broods:
            brood.append(name)
        child.ours.parents = (*known, *self.joined) if known else self.joined
        self.touch(child)

    def account(self, node: Node, sign: int) -> None:
        """Add or take away ``node`` from the counts of its boundary and of the run."""
        if node.type not in _COUNTED:
            return
        if node.type is NodeType.POD:
            self.pods_done += sign * (node.phase in FULFILLED)
        counts = self.counts.get(node.boundary_id)
        if counts is None:
            counts = self.counts[node.boundary_id] = Counts()
        if node.phase in ACTIVE:
            counts.children += sign
            waits = node.synchronization_status is not None or node.ours.held
            if node.type is NodeType.POD and not waits:
                counts.pods += sign
                self.active_pods += sign
            if sign < 0:
                self._room(node.boundary_id)
        elif node.phase in UNSUCCESSFUL:
            counts.unsuccessful += sign

    def _room(self, boundary: str) -> None:
        frame = self.frames.get(boundary)
        if frame is not None:
            self.dirty[frame] = None
        if self.parked:
            self.dirty.update(self.parked)

    def wait_for_lock(self, node: Node, lock: str, message: str) -> None:
        """Note that ``node`` waits for a lock, or with lock "" that it does no longer."""
        self.account(node, -1)
        node.synchronization_status = SynchronizationStatus(lock) if lock else None
        node.message = message
        self.account(node, +1)
        self.touch(node)

    def notify(self, node: Node) -> None:
        """Have the waiter of ``node`` told that it changed."""
        self.notices.append(node)


def add_node(
    run: Run, call: Call, kind: NodeType, phase: Phase, *, message: str = "", template: str = ""
) -> Node:
    """Create the node of ``call``. Its waiter hears of it if it is fulfilled at once."""
    holder = call.holder
    node = Node(
        id=run.node_id(call.name),
        name=call.name,
        type=kind,
        template_name=template or holder.template,
        template_ref=holder.template_ref,
        template_scope=call.base.scope,
        boundary_id=call.boundary.id if call.boundary else "",
        phase=phase,
        message=message,
        node_flag=call.flag,
        started_at=run.now,
        ours=Ours(on_exit=call.on_exit),
    )
    node.display_name = display_name(call)
    if phase in FULFILLED:
        node.finished_at = run.now
    put_node(run, node)
    run.connect(call.parents, node)
    run.waiters[node.id] = (call.tell, call.frame)
    if node.fulfilled:
        run.notify(node)
    return node


def open_node(run: Run, call: Call, kind: NodeType, template: model.Template) -> Node:
    """Give the node of a template that runs others: a new one, or one that is there already."""
    node = run.node_named(call.name)
    if node is None:
        node = add_node(run, call, kind, Phase.RUNNING)
    elif node.phase is Phase.PENDING:
        set_phase(run, node, Phase.RUNNING, "")
    if node.inputs is None and (template.inputs.parameters or template.inputs.artifacts):
        node.inputs = template.inputs
    return node


def put_node(run: Run, node: Node) -> None:
    """Take ``node`` in; nobody is told."""
    run.nodes[node.id] = node
    if not node.ours.seq:
        run.made += 1
        node.ours.seq = run.made
    else:
        run.made = max(run.made, node.ours.seq)
    run.ids[node.name] = node.id
    run.pods += node.type is NodeType.POD
    run.account(node, +1)
    run.touch(node)


def display_name(call: Call) -> str:
    """Give the name within the boundary: ``WF[0].a`` shows as ``a``, a group as ``[0]``."""
    if call.boundary is None:
        return call.name
    short = call.name.removeprefix(call.boundary.name)
    if short.startswith("."):
        return short[1:]
    if short.startswith("["):
        head, dot, rest = short.partition("].")
        if dot and head[1:].isdigit():
            return rest
    return short


def set_phase(run: Run, node: Node, phase: Phase, message: str | None = None) -> None:
    """Move ``node`` to ``phase``; its waiter is told."""
    if node.phase is phase:
        if message is not None and message != node.message:
            node.message = message
            run.touch(node)
        return
    check_move(node, phase)
    if message is not None:
        node.message = message
    if phase in ACTIVE and node.phase in ACTIVE:
        node.phase = phase  # It counts as before, and leaves no room to anybody.
    else:
        run.account(node, -1)
        node.phase = phase
        if phase in FULFILLED:
            _let_go(run, node)
        run.account(node, +1)
    run.touch(node)
    run.notify(node)


def _let_go(run: Run, node: Node) -> None:
    """Note the end of a node; whoever waits for its locks may have them."""
    node.finished_at = run.now
    node.synchronization_status = None
    if node.id in run.locked:
        run.locked.discard(node.id)
        run.emit(ReleaseLocks(holder=node.id))


def refuse(run: Run, call: Call, message: str) -> NoReturn:
    """End the node of ``call`` in Error, and raise what its parent must hear."""
    put_error(run, call, message)
    raise HardError(message)


def put_error(run: Run, call: Call, message: str) -> Node:
    """End the node of ``call`` in Error, made first if it is not there."""
    node = run.node_named(call.name)
    if node is None:
        return add_node(run, call, NodeType.SKIPPED, Phase.ERROR, message=message)
    if not node.ended:
        set_phase(run, node, Phase.ERROR, message)
    return node


def drain(run: Run) -> None:
    """Tell every waiter what changed, and let frames use the room that came free, to the end."""
    notices, dirty = run.notices, run.dirty
    while notices or dirty:
        while notices:
            node = notices.popleft()
            waiter = run.waiters.get(node.id)
            if waiter is not None:
                waiter[0](run, waiter[1], node)
        if dirty:
            frame = next(iter(dirty))
            del dirty[frame]
            frame.pump(run)
