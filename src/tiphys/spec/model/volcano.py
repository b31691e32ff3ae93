"""Volcano's documents: Job, JobTemplate, JobFlow, and Kubernetes' pod template inside of them."""

from typing import Any

from msgspec import field

from tiphys.spec.model.base import AnyString, Model
from tiphys.spec.model.container import UserContainer
from tiphys.spec.model.meta import LocalObjectReference, ObjectMeta
from tiphys.spec.model.pod import Affinity, HostAlias, PodDNSConfig, PodSecurityContext, Toleration
from tiphys.spec.model.volume import PersistentVolumeClaimSpec, Volume

BATCH_VERSION = "batch.volcano.sh/v1alpha1"
FLOW_VERSION = "flow.volcano.sh/v1alpha1"


# Factories, because a plain default would be left out of the JSON.
def _batch() -> str:
    return BATCH_VERSION


def _flow() -> str:
    return FLOW_VERSION


class PodSpec(Model, frozen=True, kw_only=True):
    """A pod, as Kubernetes writes it. What only a cluster can do is kept and handed on."""

    active_deadline_seconds: int | None = None
    affinity: Affinity | None = None
    automount_service_account_token: bool | None = None
    containers: tuple[UserContainer, ...]
    dns_config: PodDNSConfig | None = None
    dns_policy: str = ""
    enable_service_links: bool | None = None
    ephemeral_containers: tuple[dict[str, Any], ...] = ()
    host_aliases: tuple[HostAlias, ...] = ()
    host_ipc: bool | None = field(name="hostIPC", default=None)
    host_network: bool | None = None
    host_pid: bool | None = field(name="hostPID", default=None)
    host_users: bool | None = None
    hostname: str = ""
    image_pull_secrets: tuple[LocalObjectReference, ...] = ()
    init_containers: tuple[UserContainer, ...] = ()
    node_name: str = ""
    node_selector: dict[str, str] = field(default_factory=dict)
    os: dict[str, Any] | None = None
    overhead: dict[str, AnyString] = field(default_factory=dict)
    preemption_policy: str = ""
    priority: int | None = None
    priority_class_name: str = ""
    readiness_gates: tuple[dict[str, Any], ...] = ()
    resource_claims: tuple[dict[str, Any], ...] = ()
    resources: dict[str, Any] | None = None
    restart_policy: str = ""
    runtime_class_name: str = ""
    scheduler_name: str = ""
    scheduling_gates: tuple[dict[str, Any], ...] = ()
    security_context: PodSecurityContext | None = None
    service_account: str = ""
    service_account_name: str = ""
    set_hostname_as_fqdn: bool | None = field(name="setHostnameAsFQDN", default=None)
    share_process_namespace: bool | None = None
    subdomain: str = ""
    termination_grace_period_seconds: int | None = None
    tolerations: tuple[Toleration, ...] = ()
    topology_spread_constraints: tuple[dict[str, Any], ...] = ()
    volumes: tuple[Volume, ...] = ()


class PodTemplate(Model, frozen=True, kw_only=True):
    """What each replica of a task is made of."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpec


class LifecyclePolicy(Model, frozen=True, kw_only=True):
    """What to do when something happens to a pod or a task."""

    action: str = ""
    event: str = ""
    events: tuple[str, ...] = ()
    exit_code: int | None = None
    timeout: str = ""


class NetworkTopology(Model, frozen=True, kw_only=True):
    """How near to each other the pods are placed; a cluster's business."""

    mode: str = ""
    highest_tier_allowed: int | None = None
    highest_tier_name: str = ""


class PartitionPolicy(Model, frozen=True, kw_only=True):
    """Replicas of a task in groups of one size."""

    total_partitions: int
    partition_size: int
    min_partitions: int | None = None
    network_topology: NetworkTopology | None = None


class TaskDependsOn(Model, frozen=True, kw_only=True):
    """Tasks that must run before this one starts."""

    name: tuple[str, ...] = ()
    iteration: str = ""


class JobTask(Model, frozen=True, kw_only=True):
    """One task of a Job: some replicas of one pod."""

    name: str = ""
    replicas: int = 1
    min_available: int | None = None
    template: PodTemplate
    policies: tuple[LifecyclePolicy, ...] = ()
    topology_policy: str = ""
    max_retry: int | None = None
    depends_on: TaskDependsOn | None = None
    partition_policy: PartitionPolicy | None = None


class JobVolume(Model, frozen=True, kw_only=True):
    """A volume that all pods of a Job mount."""

    mount_path: str
    volume_claim_name: str = ""
    volume_claim: PersistentVolumeClaimSpec | None = None


class JobSpec(Model, frozen=True, kw_only=True):
    """What a Volcano Job does."""

    scheduler_name: str = ""
    min_available: int | None = None
    volumes: tuple[JobVolume, ...] = ()
    tasks: tuple[JobTask, ...] = ()
    policies: tuple[LifecyclePolicy, ...] = ()
    plugins: dict[str, tuple[str, ...]] = field(default_factory=dict)
    running_estimate: str = ""
    queue: str = ""
    max_retry: int | None = None
    ttl_seconds_after_finished: int | None = None
    priority_class_name: str = ""
    min_success: int | None = None
    network_topology: NetworkTopology | None = None


class VolcanoJob(Model, frozen=True, kw_only=True):
    """A Volcano Job."""

    api_version: str = field(default_factory=_batch)
    kind: str = field(default_factory=lambda: "Job")
    metadata: ObjectMeta = ObjectMeta()
    spec: JobSpec = JobSpec()
    status: dict[str, Any] | None = None


class JobTemplate(Model, frozen=True, kw_only=True):
    """A Job that flows are made of."""

    api_version: str = field(default_factory=_flow)
    kind: str = field(default_factory=lambda: "JobTemplate")
    metadata: ObjectMeta = ObjectMeta()
    spec: JobSpec = JobSpec()
    status: dict[str, Any] | None = None


class ProbeHeader(Model, frozen=True, kw_only=True):
    """A header that a probe sends."""

    name: str
    value: str


class HTTPGetProbe(Model, frozen=True, kw_only=True):
    """A request that must be answered well."""

    task_name: str = ""
    path: str = ""
    port: int = 80
    http_header: ProbeHeader | None = None


class TCPSocketProbe(Model, frozen=True, kw_only=True):
    """A port that must take connections."""

    task_name: str = ""
    port: int


class TaskStatusProbe(Model, frozen=True, kw_only=True):
    """A phase that the pods of a task must be in."""

    task_name: str = ""
    phase: str = ""


class FlowProbe(Model, frozen=True, kw_only=True):
    """When a target that still runs is good enough."""

    http_get_list: tuple[HTTPGetProbe, ...] = ()
    tcp_socket_list: tuple[TCPSocketProbe, ...] = ()
    task_status_list: tuple[TaskStatusProbe, ...] = ()


class FlowDependsOn(Model, frozen=True, kw_only=True):
    """What a step of a flow waits for."""

    targets: tuple[str, ...] = ()
    probe: FlowProbe | None = None


class FlowPatch(Model, frozen=True, kw_only=True):
    """Changes to the template; upstream's documents write ``spec``, its CRD ``jobSpec``."""

    job_spec: dict[str, Any] | None = None
    spec: dict[str, Any] | None = None


class Flow(Model, frozen=True, kw_only=True):
    """One step of a flow: a JobTemplate, and what it waits for."""

    name: str
    depends_on: FlowDependsOn | None = None
    patch: FlowPatch | None = None


class JobFlowSpec(Model, frozen=True, kw_only=True):
    """The steps of a flow."""

    flows: tuple[Flow, ...] = ()
    job_retain_policy: str = ""


class JobFlow(Model, frozen=True, kw_only=True):
    """Jobs that depend on each other."""

    api_version: str = field(default_factory=_flow)
    kind: str = field(default_factory=lambda: "JobFlow")
    metadata: ObjectMeta = ObjectMeta()
    spec: JobFlowSpec = JobFlowSpec()
    status: dict[str, Any] | None = None
