"""Templates: the units that a workflow is built of."""

from typing import Any

from msgspec import field

from tiphys.spec.model.artifact import Artifact, ArtifactLocation, ArtifactPaths
from tiphys.spec.model.base import Item, Model, NumberText
from tiphys.spec.model.container import Container, UserContainer, VolumeMount
from tiphys.spec.model.meta import Metadata, SecretKeySelector
from tiphys.spec.model.parameter import Arguments, Inputs, Outputs
from tiphys.spec.model.pod import Affinity, HostAlias, PodSecurityContext, Toleration
from tiphys.spec.model.policy import (
    ContinueOn,
    ExecutorConfig,
    Memoize,
    Metrics,
    RetryStrategy,
    Synchronization,
)
from tiphys.spec.model.volume import Volume


class TemplateRef(Model, frozen=True, kw_only=True):
    """A template of another WorkflowTemplate."""

    name: str = ""
    cluster_scope: bool = False
    template: str = ""


class Sequence(Model, frozen=True, kw_only=True):
    """A range of numbers to loop over."""

    count: NumberText | None = None
    end: NumberText | None = None
    format: str = ""
    start: NumberText | None = None


class LifecycleHook(Model, frozen=True, kw_only=True):
    """A template to run when an expression becomes true."""

    arguments: Arguments = Arguments()
    expression: str = ""
    template: str = ""
    template_ref: TemplateRef | None = None


class ContainerSetRetryStrategy(Model, frozen=True, kw_only=True):
    """Retries inside of the containers of a set."""

    duration: str = ""
    retries: NumberText


class ContainerNode(Container, frozen=True, kw_only=True):
    """One container of a set."""

    name: str
    dependencies: tuple[str, ...] = ()


class ContainerSetTemplate(Model, frozen=True, kw_only=True):
    """Several containers in one pod."""

    containers: tuple[ContainerNode, ...]
    retry_strategy: ContainerSetRetryStrategy | None = None
    volume_mounts: tuple[VolumeMount, ...] = ()


class ScriptTemplate(Container, frozen=True, kw_only=True):
    """A container that runs a script."""

    source: str = ""


class ManifestFrom(Model, frozen=True, kw_only=True):
    """An artifact that holds the manifest."""

    artifact: Artifact


class ResourceTemplate(Model, frozen=True, kw_only=True):
    """An action on a Kubernetes object."""

    action: str
    failure_condition: str = ""
    flags: tuple[str, ...] = ()
    manifest: str = ""
    manifest_from: ManifestFrom | None = None
    merge_strategy: str = ""
    set_owner_reference: bool = False
    success_condition: str = ""


class SuspendTemplate(Model, frozen=True, kw_only=True):
    """A pause."""

    duration: str = ""


class TransformationStep(Model, frozen=True, kw_only=True):
    """One expression over the data."""

    expression: str


class DataSource(Model, frozen=True, kw_only=True):
    """Where the data comes from."""

    artifact_paths: ArtifactPaths | None = None


class Data(Model, frozen=True, kw_only=True):
    """A list of files, transformed."""

    source: DataSource | None = None
    transformation: tuple[TransformationStep, ...] = ()


class HTTPHeaderSource(Model, frozen=True, kw_only=True):
    """A Secret that holds a header value."""

    secret_key_ref: SecretKeySelector | None = None


class HTTPHeader(Model, frozen=True, kw_only=True):
    """A request header."""

    name: str
    value: str = ""
    value_from: HTTPHeaderSource | None = None


class HTTPBodySource(Model, frozen=True, kw_only=True):
    """The request body as bytes."""

    bytes: str = ""


class HTTP(Model, frozen=True, kw_only=True):
    """A request."""

    body: str = ""
    body_from: HTTPBodySource | None = None
    headers: tuple[HTTPHeader, ...] = ()
    insecure_skip_verify: bool = False
    method: str = ""
    success_condition: str = ""
    timeout_seconds: int | None = None
    url: str


class WorkflowStep(Model, frozen=True, kw_only=True):
    """One step."""

    name: str = ""
    arguments: Arguments = Arguments()
    continue_on: ContinueOn | None = None
    hooks: dict[str, LifecycleHook] = field(default_factory=dict)
    inline: "Template | None" = None
    on_exit: str = ""
    template: str = ""
    template_ref: TemplateRef | None = None
    when: str = ""
    with_items: tuple[Item, ...] | None = None
    with_param: str = ""
    with_sequence: Sequence | None = None


class DAGTask(Model, frozen=True, kw_only=True):
    """One task."""

    name: str
    arguments: Arguments = Arguments()
    continue_on: ContinueOn | None = None
    dependencies: tuple[str, ...] = ()
    depends: str = ""
    hooks: dict[str, LifecycleHook] = field(default_factory=dict)
    inline: "Template | None" = None
    on_exit: str = ""
    template: str = ""
    template_ref: TemplateRef | None = None
    when: str = ""
    with_items: tuple[Item, ...] | None = None
    with_param: str = ""
    with_sequence: Sequence | None = None
    ready: dict[str, Any] | None = None
    """Ours: probes; where all pass, a dependency that still runs is good enough."""


class DAGTemplate(Model, frozen=True, kw_only=True):
    """Tasks with dependencies."""

    fail_fast: bool | None = None
    target: str = ""
    tasks: tuple[DAGTask, ...]


ParallelSteps = tuple[WorkflowStep, ...]
"""The steps of one group, run at the same time."""


class Template(Model, frozen=True, kw_only=True):
    """A unit of work; exactly one of its types is set."""

    metadata: Metadata = Metadata()
    name: str = ""
    active_deadline_seconds: NumberText | None = None
    affinity: Affinity | None = None
    annotations: dict[str, str] = field(default_factory=dict)
    archive_location: ArtifactLocation | None = None
    automount_service_account_token: bool | None = None
    container: Container | None = None
    container_set: ContainerSetTemplate | None = None
    daemon: bool | None = None
    dag: DAGTemplate | None = None
    data: Data | None = None
    executor: ExecutorConfig | None = None
    fail_fast: bool | None = None
    host_aliases: tuple[HostAlias, ...] = ()
    http: HTTP | None = None
    init_containers: tuple[UserContainer, ...] = ()
    inputs: Inputs = Inputs()
    memoize: Memoize | None = None
    metrics: Metrics | None = None
    node_selector: dict[str, str] = field(default_factory=dict)
    outputs: Outputs = Outputs()
    parallelism: int | None = None
    plugin: dict[str, Any] | None = None
    pod_spec_patch: str = ""
    priority_class_name: str = ""
    resource: ResourceTemplate | None = None
    retry_strategy: RetryStrategy | None = None
    scheduler_name: str = ""
    script: ScriptTemplate | None = None
    security_context: PodSecurityContext | None = None
    service_account_name: str = ""
    sidecars: tuple[UserContainer, ...] = ()
    steps: tuple[ParallelSteps, ...] | None = None
    suspend: SuspendTemplate | None = None
    synchronization: Synchronization | None = None
    timeout: str = ""
    tolerations: tuple[Toleration, ...] = ()
    volumes: tuple[Volume, ...] = ()
    priority: int | None = None
    pending_timeout: str = ""
    volcano_job: dict[str, Any] | None = None
    """Ours: the spec of a Volcano Job that runs as one node with its pods below it."""
    volcano_probe: dict[str, Any] | None = None
    """Ours: a wait until services answer."""
