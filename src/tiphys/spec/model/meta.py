"""Metadata of objects, and selectors over it."""

from typing import Any

from msgspec import field

from tiphys.spec.model.base import Model, Quantity


class ManagedFieldsEntry(Model, frozen=True, kw_only=True):
    """Who owns which field; kept, never read."""

    api_version: str = ""
    fields_type: str = ""
    fields_v1: dict[str, Any] | None = None
    manager: str = ""
    operation: str = ""
    subresource: str = ""
    time: str | None = None


class OwnerReference(Model, frozen=True, kw_only=True):
    """The object that this one belongs to."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    block_owner_deletion: bool | None = None
    controller: bool | None = None
    uid: str = ""


class ObjectMeta(Model, frozen=True, kw_only=True):
    """Name, namespace, labels and annotations of an object."""

    name: str = ""
    annotations: dict[str, str] = field(default_factory=dict)
    creation_timestamp: str | None = None
    deletion_grace_period_seconds: int | None = None
    deletion_timestamp: str | None = None
    finalizers: tuple[str, ...] = ()
    generate_name: str = ""
    generation: int | None = None
    labels: dict[str, str] = field(default_factory=dict)
    managed_fields: tuple[ManagedFieldsEntry, ...] = ()
    namespace: str = ""
    owner_references: tuple[OwnerReference, ...] = ()
    resource_version: str = ""
    self_link: str = ""
    uid: str = ""


class Metadata(Model, frozen=True, kw_only=True):
    """Labels and annotations for the pods of a template."""

    annotations: dict[str, str] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)


class LabelSelectorRequirement(Model, frozen=True, kw_only=True):
    """One condition on a label."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


class LabelSelector(Model, frozen=True, kw_only=True):
    """Which labels an object must have."""

    match_expressions: tuple[LabelSelectorRequirement, ...] = ()
    match_labels: dict[str, str] = field(default_factory=dict)


class LocalObjectReference(Model, frozen=True, kw_only=True):
    """The name of an object in the same namespace."""

    name: str = ""


class TypedLocalObjectReference(Model, frozen=True, kw_only=True):
    """Kind and name of an object in the same namespace."""

    kind: str
    name: str
    api_group: str = ""


class TypedObjectReference(Model, frozen=True, kw_only=True):
    """Kind and name of an object, possibly in another namespace."""

    kind: str
    name: str
    api_group: str = ""
    namespace: str = ""


class ConfigMapKeySelector(Model, frozen=True, kw_only=True):
    """One key of a ConfigMap."""

    name: str = ""
    key: str
    optional: bool | None = None


class SecretKeySelector(Model, frozen=True, kw_only=True):
    """One key of a Secret."""

    name: str = ""
    key: str
    optional: bool | None = None


class ObjectFieldSelector(Model, frozen=True, kw_only=True):
    """A field of the pod itself."""

    api_version: str = ""
    field_path: str


class ResourceFieldSelector(Model, frozen=True, kw_only=True):
    """A resource amount of a container."""

    container_name: str = ""
    divisor: Quantity | None = None
    resource: str
