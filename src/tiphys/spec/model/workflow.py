"""The documents themselves."""

from typing import Any

from msgspec import field

from tiphys.spec.model.artifact import ArtifactRepositoryRef, WorkflowLevelArtifactGC
from tiphys.spec.model.base import Model
from tiphys.spec.model.meta import LocalObjectReference, Metadata, ObjectMeta
from tiphys.spec.model.parameter import Arguments
from tiphys.spec.model.pod import (
    Affinity,
    HostAlias,
    PodDisruptionBudgetSpec,
    PodDNSConfig,
    PodSecurityContext,
    Toleration,
)
from tiphys.spec.model.policy import (
    ExecutorConfig,
    Metrics,
    PodGC,
    RetryStrategy,
    Synchronization,
    TTLStrategy,
    VolumeClaimGC,
    WorkflowMetadata,
)
from tiphys.spec.model.template import LifecycleHook, Template
from tiphys.spec.model.volume import PersistentVolumeClaim, Volume

API_VERSION = "argoproj.io/v1alpha1"


# Factories, because a plain default would be left out of the JSON, and a document without
# its apiVersion and kind is nothing.
def _argo() -> str:
    return API_VERSION


def _core() -> str:
    return "v1"


class WorkflowTemplateRef(Model, frozen=True, kw_only=True):
    """The template that a workflow is made of."""

    name: str = ""
    cluster_scope: bool = False


class WorkflowSpec(Model, frozen=True, kw_only=True):
    """What a workflow does."""

    active_deadline_seconds: int | None = None
    affinity: Affinity | None = None
    archive_logs: bool | None = None
    arguments: Arguments = Arguments()
    artifact_gc: WorkflowLevelArtifactGC | None = field(name="artifactGC", default=None)
    artifact_repository_ref: ArtifactRepositoryRef | None = None
    automount_service_account_token: bool | None = None
    dns_config: PodDNSConfig | None = None
    dns_policy: str = ""
    entrypoint: str = ""
    executor: ExecutorConfig | None = None
    hooks: dict[str, LifecycleHook] = field(default_factory=dict)
    host_aliases: tuple[HostAlias, ...] = ()
    host_network: bool | None = None
    image_pull_secrets: tuple[LocalObjectReference, ...] = ()
    metrics: Metrics | None = None
    node_selector: dict[str, str] = field(default_factory=dict)
    on_exit: str = ""
    parallelism: int | None = None
    pod_disruption_budget: PodDisruptionBudgetSpec | None = None
    pod_gc: PodGC | None = field(name="podGC", default=None)
    pod_metadata: Metadata | None = None
    pod_priority_class_name: str = ""
    pod_spec_patch: str = ""
    priority: int | None = None
    retry_strategy: RetryStrategy | None = None
    scheduler_name: str = ""
    security_context: PodSecurityContext | None = None
    service_account_name: str = ""
    shutdown: str = ""
    suspend: bool | None = None
    suspend_by_steps: bool | None = None
    """Ours: each layer waits to be released before its pods start (docs/kueue.md)."""
    synchronization: Synchronization | None = None
    template_defaults: Template | None = None
    templates: tuple[Template, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    ttl_strategy: TTLStrategy | None = None
    volume_claim_gc: VolumeClaimGC | None = field(name="volumeClaimGC", default=None)
    volume_claim_templates: tuple[PersistentVolumeClaim, ...] = ()
    volumes: tuple[Volume, ...] = ()
    workflow_metadata: WorkflowMetadata | None = None
    workflow_template_ref: WorkflowTemplateRef | None = None
    pod_priority: int | None = None


class Workflow(Model, frozen=True, kw_only=True):
    """A workflow to run."""

    api_version: str = field(default_factory=_argo)
    kind: str = field(default_factory=lambda: "Workflow")
    metadata: ObjectMeta = ObjectMeta()
    spec: WorkflowSpec = WorkflowSpec()
    status: dict[str, Any] | None = None


class WorkflowTemplate(Model, frozen=True, kw_only=True):
    """Templates kept for later."""

    api_version: str = field(default_factory=_argo)
    kind: str = field(default_factory=lambda: "WorkflowTemplate")
    metadata: ObjectMeta = ObjectMeta()
    spec: WorkflowSpec = WorkflowSpec()


class ClusterWorkflowTemplate(Model, frozen=True, kw_only=True):
    """Templates for all namespaces."""

    api_version: str = field(default_factory=_argo)
    kind: str = field(default_factory=lambda: "ClusterWorkflowTemplate")
    metadata: ObjectMeta = ObjectMeta()
    spec: WorkflowSpec = WorkflowSpec()


class StopStrategy(Model, frozen=True, kw_only=True):
    """When a schedule ends."""

    expression: str


class CronWorkflowSpec(Model, frozen=True, kw_only=True):
    """When and what to run."""

    concurrency_policy: str = ""
    failed_jobs_history_limit: int | None = None
    schedules: tuple[str, ...] = ()
    starting_deadline_seconds: int | None = None
    stop_strategy: StopStrategy | None = None
    successful_jobs_history_limit: int | None = None
    suspend: bool | None = None
    timezone: str = ""
    when: str = ""
    workflow_metadata: ObjectMeta | None = None
    workflow_spec: WorkflowSpec = WorkflowSpec()
    schedule: str = ""


class CronWorkflow(Model, frozen=True, kw_only=True):
    """A workflow that runs by schedule."""

    api_version: str = field(default_factory=_argo)
    kind: str = field(default_factory=lambda: "CronWorkflow")
    metadata: ObjectMeta = ObjectMeta()
    spec: CronWorkflowSpec = CronWorkflowSpec()
    status: dict[str, Any] | None = None


class ConfigMap(Model, frozen=True, kw_only=True):
    """Named texts that parameters and environments refer to."""

    api_version: str = field(default_factory=_core)
    kind: str = field(default_factory=lambda: "ConfigMap")
    metadata: ObjectMeta = ObjectMeta()
    data: dict[str, str] = field(default_factory=dict)
    binary_data: dict[str, str] = field(default_factory=dict)
    immutable: bool | None = None


class Secret(Model, frozen=True, kw_only=True):
    """Named secrets; ``data`` is base64, ``stringData`` is plain and wins."""

    api_version: str = field(default_factory=_core)
    kind: str = field(default_factory=lambda: "Secret")
    metadata: ObjectMeta = ObjectMeta()
    type: str = ""
    data: dict[str, str] = field(default_factory=dict)
    string_data: dict[str, str] = field(default_factory=dict)
    immutable: bool | None = None
