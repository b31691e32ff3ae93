"""What workflows may refer to: templates, config maps, secrets, claims.

An immutable value: the server builds a new one when something changes, and a run keeps the one
it started with.
"""

from __future__ import annotations

from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, TypeVar

import msgspec

from tiphys.core import priority
from tiphys.spec.model import (
    ClusterWorkflowTemplate,
    ConfigMap,
    PersistentVolumeClaim,
    Secret,
    Template,
    TemplateRef,
    WorkflowSpec,
    WorkflowTemplate,
)

if TYPE_CHECKING:
    from tiphys.spec.model.volcano import JobTemplate
    from tiphys.spec.parse import Bundle, Parsed

DEFAULT_NAMESPACE = "default"

Key = tuple[str, str]
"""Namespace and name."""

PRIORITY_CLASSES: Mapping[str, int] = {
    "system-node-critical": 2_000_001_000,
    "system-cluster-critical": 2_000_000_000,
    **priority.PRIORITY_CLASSES,
}
"""Kubernetes' own two, and ours."""

N = TypeVar("N", WorkflowTemplate, ConfigMap, Secret, PersistentVolumeClaim, "JobTemplate")


class Library(msgspec.Struct, frozen=True, kw_only=True):
    """Lookup by namespace and name; "" stands for the library's own namespace."""

    namespace: str = DEFAULT_NAMESPACE
    workflow_templates: Mapping[Key, WorkflowTemplate] = {}
    cluster_workflow_templates: Mapping[str, ClusterWorkflowTemplate] = msgspec.field(
        default_factory=dict
    )
    config_maps: Mapping[Key, ConfigMap] = {}
    secrets: Mapping[Key, Secret] = {}
    volume_claims: Mapping[Key, PersistentVolumeClaim] = {}
    job_templates: Mapping[Key, JobTemplate] = {}
    """Volcano's. Flows are made of them as they are read; a run needs them no more."""
    priority_classes: Mapping[str, int] = msgspec.field(default_factory=lambda: PRIORITY_CLASSES)
    """Names that ``priorityClassName`` may have, and what they are worth."""

    @classmethod
    def of(cls, bundle: Bundle, *, namespace: str = DEFAULT_NAMESPACE) -> Library:
        """Make a library of all that a bundle holds."""
        return cls(namespace=namespace).extended(bundle)

    def extended(self, bundle: Bundle) -> Library:
        """Give a library with the bundle's objects added; they replace those of the same name."""
        cluster = {
            each.value.metadata.name: each.value for each in bundle.cluster_workflow_templates
        }
        return Library(
            namespace=self.namespace,
            workflow_templates=self._joined(self.workflow_templates, bundle.workflow_templates),
            cluster_workflow_templates={**self.cluster_workflow_templates, **cluster},
            config_maps=self._joined(self.config_maps, bundle.config_maps),
            secrets=self._joined(self.secrets, bundle.secrets),
            volume_claims=self._joined(self.volume_claims, bundle.volume_claims),
            job_templates=self._joined(self.job_templates, bundle.job_templates),
            priority_classes={**self.priority_classes, **_priority_classes(bundle)},
        )

    def _joined(self, known: Mapping[Key, N], added: Iterable[Parsed[N]]) -> dict[Key, N]:
        joined = dict(known)
        for each in added:
            meta = each.value.metadata
            joined[self._key(meta.namespace, meta.name)] = each.value
        return joined

    def _key(self, namespace: str, name: str) -> Key:
        return namespace or self.namespace, name

    def spec(
        self, name: str, *, cluster_scope: bool = False, namespace: str = ""
    ) -> WorkflowSpec | None:
        """Give the spec of a WorkflowTemplate or ClusterWorkflowTemplate."""
        if cluster_scope:
            cluster = self.cluster_workflow_templates.get(name)
            return cluster.spec if cluster else None
        found = self.workflow_templates.get(self._key(namespace, name))
        return found.spec if found else None

    def template(self, ref: TemplateRef, *, namespace: str = "") -> Template | None:
        """Give the template that ``templateRef`` names."""
        spec = self.spec(ref.name, cluster_scope=ref.cluster_scope, namespace=namespace)
        templates = spec.templates if spec else ()
        return next((each for each in templates if each.name == ref.template), None)

    def config_value(self, name: str, key: str, *, namespace: str = "") -> str | None:
        """Give one text of a ConfigMap."""
        found = self.config_maps.get(self._key(namespace, name))
        return found.data.get(key) if found else None

    def secret_value(self, name: str, key: str, *, namespace: str = "") -> bytes | None:
        """Give one value of a Secret, decoded."""
        found = self.secrets.get(self._key(namespace, name))
        if found is None:
            return None
        if key in found.string_data:
            return found.string_data[key].encode()
        try:
            return b64decode(found.data[key], validate=True) if key in found.data else None
        except Base64Error:
            return None

    def volume_claim(self, name: str, *, namespace: str = "") -> PersistentVolumeClaim | None:
        """Give a claim by name."""
        return self.volume_claims.get(self._key(namespace, name))


def _priority_classes(bundle: Bundle) -> dict[str, int]:
    """Read the PriorityClass documents of a bundle."""
    found: dict[str, int] = {}
    for each in bundle.others:
        meta, value = each.value.get("metadata"), each.value.get("value", 0)
        if each.value.get("kind") == "PriorityClass" and isinstance(meta, dict):
            found[str(meta.get("name", ""))] = value if isinstance(value, int) else 0
    return found
