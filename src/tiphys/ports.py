"""What the control loop asks of the outside world, as protocols.

A ``Runtime`` runs one node. It is told to ``start`` a ``Task`` at least once and must make that at
most once by the task's id; everything it has to say comes back as events through the ``Sink`` it
was opened with, never as return values. Implementations live in ``runtimes``; the loop in
``control``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from tiphys.engine.event import PodSeen
from tiphys.engine.node import Node
from tiphys.scheduling.reason import Reason
from tiphys.spec import mark, model

CRON_LABEL = "workflows.argoproj.io/cron-workflow"
"""Names the schedule that made a workflow."""
SCHEDULER_LABEL = "tiphys.dev/scheduler"
"""The label by which a workflow says where its nodes run."""
LOCAL, K8S_NATIVE, ARGO_DEFAULT, VOLCANO = "local", "k8s-native", "argo-default", "volcano"
KUEUE = "kueue"
"""``K8S_NATIVE``, and Kueue admits it: the workflow names one of Kueue's queues."""
SCHEDULERS = (LOCAL, K8S_NATIVE, ARGO_DEFAULT, VOLCANO, KUEUE)
PLAIN_JOBS = (K8S_NATIVE, KUEUE)
"""Schedulers for which our engine makes Jobs that the cluster's own scheduler places."""
WITH_QUEUES = (VOLCANO, KUEUE)
"""Schedulers of a cluster that have queues of their own."""
DISPATCHED = frozenset({ARGO_DEFAULT})
"""Schedulers that take whole workflows: our engine only mirrors them."""
CONTROLLER_LABEL = mark.CONTROLLER
"""On a JobFlow that Volcano's own controller drives: our engine only mirrors it, too."""

AttemptId = str
"""``<workflow uid>.<number>``: one start of one node. Never used twice."""


def is_dispatched(labels: Mapping[str, str]) -> bool:
    """Whether a workflow with these labels is driven by somebody else's engine."""
    scheduler = labels.get(SCHEDULER_LABEL, LOCAL)
    return scheduler in DISPATCHED or (scheduler == VOLCANO and CONTROLLER_LABEL in labels)


class Task(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One node to run: its template with every tag already resolved."""

    id: AttemptId
    workflow: str
    namespace: str
    workflow_uid: str
    node_id: str
    node_name: str
    template: model.Template
    """Container, script or containerSet; inputs carry values, artifacts their full location."""
    volumes: tuple[model.Volume, ...] = ()
    """Volumes of the workflow (claims included) that the template may mount."""
    capture_result: bool = False
    """Whether somebody reads ``outputs.result``."""
    deadline: float | None = None
    """Seconds after which the attempt is ended as DeadlineExceeded."""
    pod_spec_patch: str = ""
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    archive_logs: bool = False
    """Whether workflow or template want the logs kept as artifacts; its repository may as well."""
    artifact_repository: str = ""
    """The text that describes the workflow's own repository; "" is the configured one."""
    values: Mapping[str, str] = {}
    """What the tags of a repository's key format may name, shielded as the engine keeps it."""
    scheduler: str = LOCAL
    """Where it runs: one of ``SCHEDULERS``."""
    layer: str = ""
    """On Volcano: what it belongs to with those that become ready at the same time."""
    queue: str = ""
    retried: bool = False
    """Whether the engine starts another attempt if this one fails."""
    claims: tuple[model.PersistentVolumeClaim, ...] = ()
    """On a cluster: volumes that the workflow claims for itself, under their final names."""
    pod: Mapping[str, Any] = {}
    """On a cluster: fields of the pod that the workflow sets for all its templates."""
    gates: tuple[str, ...] = ()
    """On a cluster: scheduling gates of its pod; whoever they belong to lets it go."""
    job_labels: Mapping[str, str] = {}
    """On a cluster: labels of its Job for somebody who starts and stops it, as Kueue does."""
    pod_name: str = ""
    """The name of its pod, where it is not the one that Argo would give."""


class TaskStarted(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The attempt's main process exists."""

    id: AttemptId
    at: float
    host: str = ""
    ip: str = ""
    """Where a daemon can be reached."""


class TaskReady(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A daemon's readiness probe has passed (or it has none and it runs)."""

    id: AttemptId
    at: float
    ip: str = ""


class TaskProgressed(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The task wrote N/M to its progress file."""

    id: AttemptId
    at: float
    progress: str


class TaskSeen(msgspec.Struct, frozen=True, kw_only=True, tag=True, omit_defaults=True):
    """A Volcano Job on a cluster, and its pods, look like this now."""

    id: AttemptId
    at: float
    phase: str
    """Volcano's word."""
    retries: int = 0
    message: str = ""
    pods: tuple[PodSeen, ...] = ()
    history: tuple[tuple[str, float], ...] = ()
    """Its phases and since when."""


class TaskWaits(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The attempt was made, and something outside keeps it from starting."""

    id: AttemptId
    at: float
    reason: Reason | None
    """None: nothing any more."""


GANG_GONE = "Deleted"
"""The phase of a group that is no more."""


class GangChanged(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """What places tasks together says of them now: their PodGroup has changed."""

    id: AttemptId
    """Of no single one."""
    at: float
    workflow_uid: str
    gang: str
    queue: str
    size: int
    was: str
    """The phase before; "" where it is new."""
    phase: str
    """Volcano's word, or ``GANG_GONE``."""
    why: str = ""
    """Why it waits, in Volcano's words."""
    news: bool = True
    """Whether more than the wording has changed."""
    made_at: float | None = None
    began_at: float | None = None
    """When a node took its first pod; Volcano says so a second later, or never of a short one."""
    members: tuple[AttemptId, ...] = ()


class ContainerEnd(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How one container of an attempt ended."""

    name: str
    phase: str
    """Succeeded, Failed, Error, or Omitted where it never started."""
    exit_code: int | None = None
    message: str = ""
    started_at: float | None = None
    finished_at: float | None = None


class Usage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What an attempt used, as measured."""

    cpu_seconds: float = 0.0
    memory_bytes: int = 0


class TaskEnded(msgspec.Struct, frozen=True, kw_only=True, tag=True, omit_defaults=True):
    """The attempt is over, its logs are on disk and its outputs are collected."""

    id: AttemptId
    at: float
    phase: str
    """Argo's word: Succeeded, Failed or Error."""
    message: str = ""
    outputs: model.Outputs | None = None
    """Parameters with values, artifacts with locations, result, exit_code."""
    containers: tuple[ContainerEnd, ...] = ()
    """More than main: members of a container set."""
    usage: Usage = Usage()
    lost: bool = False
    """The executor died under it: nobody knows how far it came."""
    stopped: bool = False
    """It ended because it was told to stop."""
    again: str = ""
    """Why another attempt is to be started in its place: it was taken from its machine."""


RuntimeEvent = (
    TaskStarted | TaskReady | TaskProgressed | TaskSeen | TaskEnded | TaskWaits | GangChanged
)
Sink = Callable[[Sequence[RuntimeEvent]], None]
"""Takes events on the event loop's thread; returns at once."""


class Resources(Protocol):
    """Config maps and secrets that tasks refer to."""

    def config_map(self, namespace: str, name: str) -> Mapping[str, str] | None:
        """Return the data of a config map, None where there is none."""

    def secret(self, namespace: str, name: str) -> Mapping[str, bytes] | None:
        """Return the data of a secret, None where there is none."""


class Runtime(Protocol):
    """Runs one node at a time each, many at once."""

    name: str

    async def open(self, sink: Sink) -> None:
        """Get ready; events go to ``sink`` from now on."""

    async def start(self, tasks: Sequence[Task]) -> None:
        """Start each task unless its id was started before; failures come back as TaskEnded."""

    async def attach(self, tasks: Sequence[Task]) -> None:
        """Report again on tasks that an earlier process started: a TaskEnded for each ended or lost
        one, a TaskStarted for each that still runs. A task that never began is started. The
        first news of a task is taken for how it stands: an end comes no later than that."""

    async def stop(self, ids: Sequence[AttemptId], *, grace: float) -> None:
        """End attempts: SIGTERM, then SIGKILL after ``grace`` seconds. They end as ``stopped``."""

    async def keep(self, ids: Sequence[AttemptId]) -> None:
        """End and forget all attempts but these: those that an earlier process left and that nobody
        cares about any more. Called once everything was taken up."""

    async def acknowledge(self, ids: Sequence[AttemptId]) -> None:
        """The TaskEnded of these is on record: what was kept to report it again may go."""

    async def close(self) -> None:
        """Let go; running tasks keep running."""


class Dispatch(msgspec.Struct, frozen=True, kw_only=True):
    """A whole workflow for somebody else's engine."""

    uid: str
    name: str
    namespace: str
    scheduler: str
    workflow: model.Workflow
    """With everything merged in that it takes from a template."""
    known: bool = False
    """Whether it was seen there before: one that is gone must not be made again."""
    attempts: Mapping[str, int] = {}
    """Nodes that are known already, and the numbers under which their logs are kept."""
    queue: str = ""
    """On Volcano: the queue of Jobs that name none."""
    priority_class: str = ""
    """On Volcano: that of Jobs that name none."""


class Mirrored(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody else's engine says of a workflow now."""

    uid: str
    at: float
    phase: str
    message: str = ""
    started_at: float | None = None
    finished_at: float | None = None
    nodes: tuple[Node, ...] = ()
    """Those that changed."""
    outputs: model.Outputs | None = None
    suspended: bool = False
    cleared: bool | None = None
    """Whether what was made for it is gone, after an order to remove it; None: not about that."""
    gang: GangChanged | None = None
    """What became of a group of its pods; then this is about nothing else."""


class Instruction(msgspec.Struct, frozen=True, kw_only=True):
    """What a person wants done with a workflow that runs elsewhere."""

    uid: str
    name: str
    namespace: str
    verb: str
    """stop, terminate, suspend or resume; on Volcano delete: what was made there goes."""
    scheduler: str = ARGO_DEFAULT
    nodes: tuple[str, ...] = ()
    """Which pauses go on; all, if none is named."""
    outputs: Mapping[str, str] = {}
    message: str = ""


MirrorSink = Callable[[Sequence[Mirrored]], None]


class Dispatcher(Protocol):
    """Hands whole workflows over and tells what becomes of them."""

    async def open(self, sink: MirrorSink) -> None:
        """Get ready; what is heard goes to ``sink`` from now on."""

    async def dispatch(self, orders: Sequence[Dispatch]) -> None:
        """Hand each workflow over unless it was before, and follow it."""

    async def instruct(self, instructions: Sequence[Instruction]) -> None:
        """Have things done with workflows that were handed over."""

    async def close(self) -> None:
        """Let go; the workflows go on."""
