"""The life of one node.

Every legal move of a phase is a row of ``MOVES``; docs/states.md is drawn from it. ``Node``
carries Argo's fields under Argo's names, so that a finished run prints as Argo would print it,
plus a few of our own (``Node.ours``) that readers outside of the engine strip.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

import msgspec

from tiphys.core.name import pod_name
from tiphys.errors import IllegalMoveError
from tiphys.spec import model


class Phase(StrEnum):
    """How far a node is; the words are Argo's."""

    PENDING = "Pending"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    SKIPPED = "Skipped"
    FAILED = "Failed"
    ERROR = "Error"
    OMITTED = "Omitted"


class NodeType(StrEnum):
    """What a node stands for; the words are Argo's."""

    POD = "Pod"
    CONTAINER = "Container"
    STEPS = "Steps"
    STEP_GROUP = "StepGroup"
    DAG = "DAG"
    TASK_GROUP = "TaskGroup"
    RETRY = "Retry"
    SKIPPED = "Skipped"
    SUSPEND = "Suspend"
    HTTP = "HTTP"
    PLUGIN = "Plugin"
    JOB = "Job"
    """Ours: a Volcano Job, its pods below it."""
    PROBE = "Probe"
    """Ours: a wait until services answer."""


FULFILLED = frozenset({Phase.SUCCEEDED, Phase.SKIPPED, Phase.FAILED, Phase.ERROR, Phase.OMITTED})
COMPLETED = frozenset({Phase.SUCCEEDED, Phase.FAILED, Phase.ERROR})
UNSUCCESSFUL = frozenset({Phase.FAILED, Phase.ERROR})
ACTIVE = frozenset({Phase.PENDING, Phase.RUNNING})

# Where a node may go from each phase. A fulfilled phase is final, with one exception:
# a daemon that was ended with its boundary turns from Running to Succeeded like any other node.
MOVES: Mapping[Phase, frozenset[Phase]] = {
    Phase.PENDING: frozenset(
        {Phase.RUNNING, Phase.SUCCEEDED, Phase.SKIPPED, Phase.FAILED, Phase.ERROR, Phase.OMITTED}
    ),
    Phase.RUNNING: frozenset({Phase.PENDING, Phase.SUCCEEDED, Phase.FAILED, Phase.ERROR}),
    Phase.SUCCEEDED: frozenset(),
    Phase.SKIPPED: frozenset(),
    Phase.FAILED: frozenset(),
    Phase.ERROR: frozenset(),
    Phase.OMITTED: frozenset(),
}


class NodeFlag(msgspec.Struct, frozen=True, omit_defaults=True):
    """Why a node is there: for a hook, or as one of several attempts."""

    hooked: bool = False
    retried: bool = False


class MemoizationStatus(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=False, rename="camel"
):
    """What the memory of earlier outputs said."""

    hit: bool
    key: str
    cache_name: str


class SynchronizationStatus(msgspec.Struct, frozen=True, omit_defaults=True):
    """Which lock the node waits for."""

    waiting: str = ""


class Due(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Something that a Job has put off."""

    at: float
    action: str
    slot: str
    event: str = ""
    node: str = ""


class JobRecord(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What the nodes of a Volcano Job cannot tell: kept on the Job's node."""

    phase: str = "Pending"
    retries: int = 0
    rounds: int = 0
    """How often all of its pods were started again."""
    history: tuple[tuple[str, float], ...] = ()
    """Its phases and since when, the latest last."""
    wanted: tuple[tuple[str, int], ...] = ()
    """Replicas that were started again: the number of the node that stands for each."""
    restarts: tuple[tuple[str, int], ...] = ()
    """How often the container of a replica was started again in its pod."""
    due: tuple[Due, ...] = ()


class Ours(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What Tiphys keeps about a node besides Argo's fields."""

    attempt: int = 0
    """The number of the latest start asked for; 0 before the first."""
    parents: tuple[str, ...] = ()
    """Nodes that list this one as a child. Kept on the child so that a parent of 10,000
    is not written anew for each of them."""
    packed: str = ""
    """Only in the store: many parents (``wire.node``)."""
    seq: int = 0
    """The place in the order in which nodes were made."""
    admitted: bool = False
    """The scheduler let the attempt in: it may have been started."""
    held: bool = False
    """The run has no room for it: it waits, and does not count as active."""
    locked: bool = False
    """Its locks were granted; it holds them until it ends."""
    queued_at: float | None = None
    began_at: float | None = None
    """When the process of a leaf began; ``started_at`` is when the node appeared, as in Argo."""
    cpu_seconds: float = 0.0
    memory_bytes: int = 0
    wake_at: float | None = None
    on_exit: bool = False
    job: JobRecord | None = None
    pod: str = ""
    """The name of its pod, where it is not the one that Argo would give."""


class Node(msgspec.Struct, kw_only=True, omit_defaults=True, rename="camel"):
    """One node of a run: Argo's NodeStatus, less ``children`` (the run holds the edges)."""

    id: str
    name: str
    display_name: str = ""
    type: NodeType
    template_name: str = ""
    template_ref: model.TemplateRef | None = None
    template_scope: str = ""
    phase: Phase
    boundary_id: str = msgspec.field(name="boundaryID", default="")
    message: str = ""
    started_at: float | None = None
    finished_at: float | None = None
    progress: str = ""
    inputs: model.Inputs | None = None
    outputs: model.Outputs | None = None
    daemoned: bool | None = None
    node_flag: NodeFlag | None = None
    memoization_status: MemoizationStatus | None = None
    synchronization_status: SynchronizationStatus | None = None
    host_node_name: str = ""
    pod_ip: str = msgspec.field(name="podIP", default="")
    outbound_nodes: tuple[str, ...] = ()
    ours: Ours

    @property
    def fulfilled(self) -> bool:
        """Whether its parent may go on: it ended, or it is a daemon that is ready."""
        return self.phase in FULFILLED or bool(self.daemoned and self.phase is Phase.RUNNING)

    @property
    def ended(self) -> bool:
        """Whether it can never change again."""
        return self.phase in FULFILLED

    @property
    def completed(self) -> bool:
        """Whether it ran and ended, rather than being passed over."""
        return self.phase in COMPLETED

    @property
    def unsuccessful(self) -> bool:
        """Whether it failed or could not be run."""
        return self.phase in UNSUCCESSFUL

    @property
    def hooked(self) -> bool:
        """Whether it was started by a hook or exit handler."""
        return self.node_flag is not None and self.node_flag.hooked


def pod_of(workflow: str, node: Node) -> str:
    """Name the pod of a node: as Argo would, those of a Volcano Job as Volcano does."""
    template = node.template_ref.template if node.template_ref else node.template_name
    return node.ours.pod or pod_name(workflow, node.name, template, node.id)


def check_move(node: Node, phase: Phase) -> None:
    """Raise unless ``node`` may go to ``phase``."""
    if phase not in MOVES[node.phase]:
        raise IllegalMoveError(f"node {node.name}: {node.phase} cannot become {phase}")
