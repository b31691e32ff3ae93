"""Retry, locks, caches, metrics and cleaning up."""

from msgspec import field

from tiphys.spec.model.base import Model, NumberText
from tiphys.spec.model.meta import ConfigMapKeySelector, LabelSelector, LocalObjectReference


class Backoff(Model, frozen=True, kw_only=True):
    """How long to wait between attempts."""

    cap: str = ""
    duration: str = ""
    factor: NumberText | None = None
    max_duration: str = ""


class RetryNodeAntiAffinity(Model, frozen=True, kw_only=True):
    """Avoid nodes on which an attempt failed."""


class RetryAffinity(Model, frozen=True, kw_only=True):
    """Where a retried pod may run."""

    node_anti_affinity: RetryNodeAntiAffinity | None = None


class RetryStrategy(Model, frozen=True, kw_only=True):
    """Whether and how a node is tried again."""

    affinity: RetryAffinity | None = None
    backoff: Backoff | None = None
    expression: str = ""
    limit: NumberText | None = None
    retry_policy: str = ""


class ContinueOn(Model, frozen=True, kw_only=True):
    """Which outcomes do not stop the parent."""

    error: bool = False
    failed: bool = False


class SyncDatabaseRef(Model, frozen=True, kw_only=True):
    """A semaphore limit in the database."""

    key: str


class SemaphoreRef(Model, frozen=True, kw_only=True):
    """A semaphore."""

    config_map_key_ref: ConfigMapKeySelector | None = None
    database: SyncDatabaseRef | None = None
    namespace: str = ""


class Mutex(Model, frozen=True, kw_only=True):
    """A lock held by one."""

    name: str = ""
    database: bool = False
    namespace: str = ""


class Synchronization(Model, frozen=True, kw_only=True):
    """Locks that are needed to run."""

    mutexes: tuple[Mutex, ...] = ()
    semaphores: tuple[SemaphoreRef, ...] = ()
    mutex: Mutex | None = None
    semaphore: SemaphoreRef | None = None


class Cache(Model, frozen=True, kw_only=True):
    """Where remembered outputs are kept."""

    config_map: LocalObjectReference


class Memoize(Model, frozen=True, kw_only=True):
    """Outputs are remembered under a key."""

    cache: Cache | None = None
    key: str = ""
    max_age: str = ""


class MetricLabel(Model, frozen=True, kw_only=True):
    """A label of a metric."""

    key: str
    value: str


class Gauge(Model, frozen=True, kw_only=True):
    """A gauge."""

    operation: str = ""
    realtime: bool | None = None
    value: str = ""


class Histogram(Model, frozen=True, kw_only=True):
    """A histogram."""

    buckets: tuple[float, ...] = ()
    value: str = ""


class Counter(Model, frozen=True, kw_only=True):
    """A counter."""

    value: str


class Prometheus(Model, frozen=True, kw_only=True):
    """One metric."""

    name: str
    counter: Counter | None = None
    gauge: Gauge | None = None
    help: str
    histogram: Histogram | None = None
    labels: tuple[MetricLabel, ...] = ()
    when: str = ""


class Metrics(Model, frozen=True, kw_only=True):
    """Metrics to emit."""

    prometheus: tuple[Prometheus, ...] = ()


class PodGC(Model, frozen=True, kw_only=True):
    """When pods are deleted."""

    delete_delay_duration: str = ""
    label_selector: LabelSelector | None = None
    strategy: str = ""


class TTLStrategy(Model, frozen=True, kw_only=True):
    """When a finished workflow is deleted."""

    seconds_after_completion: int | None = None
    seconds_after_failure: int | None = None
    seconds_after_success: int | None = None


class VolumeClaimGC(Model, frozen=True, kw_only=True):
    """When volume claims are deleted."""

    strategy: str = ""


class LabelValueFrom(Model, frozen=True, kw_only=True):
    """A label value from an expression."""

    expression: str


class WorkflowMetadata(Model, frozen=True, kw_only=True):
    """Labels and annotations for the workflow itself."""

    annotations: dict[str, str] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    labels_from: dict[str, LabelValueFrom] = field(default_factory=dict)


class ExecutorConfig(Model, frozen=True, kw_only=True):
    """Settings of the executor."""

    service_account_name: str = ""
