"""Where a pod may run and under which settings."""

from tiphys.spec.model.base import IntOrString, Model
from tiphys.spec.model.container import (
    AppArmorProfile,
    SeccompProfile,
    SELinuxOptions,
    WindowsSecurityContextOptions,
)
from tiphys.spec.model.meta import LabelSelector


class NodeSelectorRequirement(Model, frozen=True, kw_only=True):
    """One condition on a node."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


class NodeSelectorTerm(Model, frozen=True, kw_only=True):
    """Conditions that must all hold."""

    match_expressions: tuple[NodeSelectorRequirement, ...] = ()
    match_fields: tuple[NodeSelectorRequirement, ...] = ()


class NodeSelector(Model, frozen=True, kw_only=True):
    """Terms of which one must hold."""

    node_selector_terms: tuple[NodeSelectorTerm, ...]


class PreferredSchedulingTerm(Model, frozen=True, kw_only=True):
    """A wish with a weight."""

    preference: NodeSelectorTerm
    weight: int


class NodeAffinity(Model, frozen=True, kw_only=True):
    """Which nodes are wanted."""

    preferred_during_scheduling_ignored_during_execution: tuple[PreferredSchedulingTerm, ...] = ()
    required_during_scheduling_ignored_during_execution: NodeSelector | None = None


class PodAffinityTerm(Model, frozen=True, kw_only=True):
    """Which pods to be near to, or far from."""

    label_selector: LabelSelector | None = None
    match_label_keys: tuple[str, ...] = ()
    mismatch_label_keys: tuple[str, ...] = ()
    namespace_selector: LabelSelector | None = None
    namespaces: tuple[str, ...] = ()
    topology_key: str


class WeightedPodAffinityTerm(Model, frozen=True, kw_only=True):
    """A wish about other pods, with a weight."""

    pod_affinity_term: PodAffinityTerm
    weight: int


class PodAffinity(Model, frozen=True, kw_only=True):
    """Which pods to be near to."""

    preferred_during_scheduling_ignored_during_execution: tuple[WeightedPodAffinityTerm, ...] = ()
    required_during_scheduling_ignored_during_execution: tuple[PodAffinityTerm, ...] = ()


class PodAntiAffinity(Model, frozen=True, kw_only=True):
    """Which pods to be far from."""

    preferred_during_scheduling_ignored_during_execution: tuple[WeightedPodAffinityTerm, ...] = ()
    required_during_scheduling_ignored_during_execution: tuple[PodAffinityTerm, ...] = ()


class Affinity(Model, frozen=True, kw_only=True):
    """Where the pod wants to run."""

    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAntiAffinity | None = None


class Toleration(Model, frozen=True, kw_only=True):
    """Which taints of a node do not matter."""

    effect: str = ""
    key: str = ""
    operator: str = ""
    toleration_seconds: int | None = None
    value: str = ""


class HostAlias(Model, frozen=True, kw_only=True):
    """A line of /etc/hosts."""

    hostnames: tuple[str, ...] = ()
    ip: str


class PodDNSConfigOption(Model, frozen=True, kw_only=True):
    """One resolver option."""

    name: str = ""
    value: str = ""


class PodDNSConfig(Model, frozen=True, kw_only=True):
    """How names are resolved."""

    nameservers: tuple[str, ...] = ()
    options: tuple[PodDNSConfigOption, ...] = ()
    searches: tuple[str, ...] = ()


class Sysctl(Model, frozen=True, kw_only=True):
    """A kernel setting."""

    name: str
    value: str


class PodSecurityContext(Model, frozen=True, kw_only=True):
    """Security settings of a pod."""

    app_armor_profile: AppArmorProfile | None = None
    fs_group: int | None = None
    fs_group_change_policy: str = ""
    run_as_group: int | None = None
    run_as_non_root: bool | None = None
    run_as_user: int | None = None
    se_linux_change_policy: str = ""
    se_linux_options: SELinuxOptions | None = None
    seccomp_profile: SeccompProfile | None = None
    supplemental_groups: tuple[int, ...] = ()
    supplemental_groups_policy: str = ""
    sysctls: tuple[Sysctl, ...] = ()
    windows_options: WindowsSecurityContextOptions | None = None


class PodDisruptionBudgetSpec(Model, frozen=True, kw_only=True):
    """How many pods may be disturbed at once."""

    max_unavailable: IntOrString | None = None
    min_available: IntOrString | None = None
    selector: LabelSelector | None = None
    unhealthy_pod_eviction_policy: str = ""
