"""Containers and what they are made of."""

from msgspec import field

from tiphys.spec.model.base import IntOrString, Model, Quantity
from tiphys.spec.model.meta import (
    ConfigMapKeySelector,
    ObjectFieldSelector,
    ResourceFieldSelector,
    SecretKeySelector,
)


class EnvVarSource(Model, frozen=True, kw_only=True):
    """Where the value of an environment variable comes from."""

    config_map_key_ref: ConfigMapKeySelector | None = None
    field_ref: ObjectFieldSelector | None = None
    resource_field_ref: ResourceFieldSelector | None = None
    secret_key_ref: SecretKeySelector | None = None


class EnvVar(Model, frozen=True, kw_only=True):
    """One environment variable."""

    name: str
    value: str = ""
    value_from: EnvVarSource | None = None


class ConfigMapEnvSource(Model, frozen=True, kw_only=True):
    """All keys of a ConfigMap."""

    name: str = ""
    optional: bool | None = None


class SecretEnvSource(Model, frozen=True, kw_only=True):
    """All keys of a Secret."""

    name: str = ""
    optional: bool | None = None


class EnvFromSource(Model, frozen=True, kw_only=True):
    """A whole ConfigMap or Secret as environment variables."""

    config_map_ref: ConfigMapEnvSource | None = None
    prefix: str = ""
    secret_ref: SecretEnvSource | None = None


class ContainerPort(Model, frozen=True, kw_only=True):
    """A port that the container listens on."""

    name: str = ""
    container_port: int
    host_ip: str = field(name="hostIP", default="")
    host_port: int | None = None
    protocol: str = ""


class ExecAction(Model, frozen=True, kw_only=True):
    """A command to run in the container."""

    command: tuple[str, ...] = ()


class GRPCAction(Model, frozen=True, kw_only=True):
    """A gRPC health check."""

    port: int
    service: str = ""


class HTTPGetHeader(Model, frozen=True, kw_only=True):
    """A header of a probe request."""

    name: str
    value: str


class HTTPGetAction(Model, frozen=True, kw_only=True):
    """A GET request."""

    host: str = ""
    http_headers: tuple[HTTPGetHeader, ...] = ()
    path: str = ""
    port: IntOrString
    scheme: str = ""


class SleepAction(Model, frozen=True, kw_only=True):
    """A pause."""

    seconds: int


class TCPSocketAction(Model, frozen=True, kw_only=True):
    """A TCP connection."""

    host: str = ""
    port: IntOrString


class Probe(Model, frozen=True, kw_only=True):
    """How to tell whether the container is alive or ready."""

    exec: ExecAction | None = None
    failure_threshold: int | None = None
    grpc: GRPCAction | None = None
    http_get: HTTPGetAction | None = None
    initial_delay_seconds: int | None = None
    period_seconds: int | None = None
    success_threshold: int | None = None
    tcp_socket: TCPSocketAction | None = None
    termination_grace_period_seconds: int | None = None
    timeout_seconds: int | None = None


class LifecycleHandler(Model, frozen=True, kw_only=True):
    """What to do at one moment of a container."""

    exec: ExecAction | None = None
    http_get: HTTPGetAction | None = None
    sleep: SleepAction | None = None
    tcp_socket: TCPSocketAction | None = None


class Lifecycle(Model, frozen=True, kw_only=True):
    """What to do after the start and before the end of a container."""

    post_start: LifecycleHandler | None = None
    pre_stop: LifecycleHandler | None = None
    stop_signal: str = ""


class ContainerResizePolicy(Model, frozen=True, kw_only=True):
    """What a change of resources does to the container."""

    resource_name: str
    restart_policy: str


class ResourceClaim(Model, frozen=True, kw_only=True):
    """A claim on a device."""

    name: str
    request: str = ""


class ResourceRequirements(Model, frozen=True, kw_only=True):
    """What a container asks for and may use at most."""

    claims: tuple[ResourceClaim, ...] = ()
    limits: dict[str, Quantity] = field(default_factory=dict)
    requests: dict[str, Quantity] = field(default_factory=dict)


class VolumeDevice(Model, frozen=True, kw_only=True):
    """A raw block device in a container."""

    name: str
    device_path: str


class VolumeMount(Model, frozen=True, kw_only=True):
    """A volume in the file tree of a container."""

    name: str
    mount_path: str
    mount_propagation: str = ""
    read_only: bool | None = None
    recursive_read_only: str = ""
    sub_path: str = ""
    sub_path_expr: str = ""


class AppArmorProfile(Model, frozen=True, kw_only=True):
    """An AppArmor profile."""

    localhost_profile: str = ""
    type: str


class Capabilities(Model, frozen=True, kw_only=True):
    """Linux capabilities to add and drop."""

    add: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()


class SELinuxOptions(Model, frozen=True, kw_only=True):
    """SELinux labels."""

    level: str = ""
    role: str = ""
    type: str = ""
    user: str = ""


class SeccompProfile(Model, frozen=True, kw_only=True):
    """A seccomp profile."""

    localhost_profile: str = ""
    type: str


class WindowsSecurityContextOptions(Model, frozen=True, kw_only=True):
    """Security settings on Windows."""

    gmsa_credential_spec: str = ""
    gmsa_credential_spec_name: str = ""
    host_process: bool | None = None
    run_as_user_name: str = ""


class SecurityContext(Model, frozen=True, kw_only=True):
    """Security settings of a container."""

    allow_privilege_escalation: bool | None = None
    app_armor_profile: AppArmorProfile | None = None
    capabilities: Capabilities | None = None
    privileged: bool | None = None
    proc_mount: str = ""
    read_only_root_filesystem: bool | None = None
    run_as_group: int | None = None
    run_as_non_root: bool | None = None
    run_as_user: int | None = None
    se_linux_options: SELinuxOptions | None = None
    seccomp_profile: SeccompProfile | None = None
    windows_options: WindowsSecurityContextOptions | None = None


class Container(Model, frozen=True, kw_only=True):
    """A container: image, command, environment, resources, mounts."""

    name: str = ""
    args: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    env: tuple[EnvVar, ...] = ()
    env_from: tuple[EnvFromSource, ...] = ()
    image: str = ""
    image_pull_policy: str = ""
    lifecycle: Lifecycle | None = None
    liveness_probe: Probe | None = None
    ports: tuple[ContainerPort, ...] = ()
    readiness_probe: Probe | None = None
    resize_policy: tuple[ContainerResizePolicy, ...] = ()
    resources: ResourceRequirements = ResourceRequirements()
    restart_policy: str = ""
    security_context: SecurityContext | None = None
    startup_probe: Probe | None = None
    stdin: bool | None = None
    stdin_once: bool | None = None
    termination_message_path: str = ""
    termination_message_policy: str = ""
    tty: bool | None = None
    volume_devices: tuple[VolumeDevice, ...] = ()
    volume_mounts: tuple[VolumeMount, ...] = ()
    working_dir: str = ""


class UserContainer(Container, frozen=True, kw_only=True):
    """A sidecar or an init container."""

    name: str
    mirror_volume_mounts: bool | None = None
