"""The library finds what workflows refer to, by namespace and name."""

from __future__ import annotations

from tiphys.spec.library import Library
from tiphys.spec.model import TemplateRef
from tiphys.spec.parse import parse_text

FILE = """
apiVersion: argoproj.io/v1alpha1
kind: WorkflowTemplate
metadata: {name: t}
spec: {templates: [{name: a, suspend: {}}]}
---
apiVersion: argoproj.io/v1alpha1
kind: WorkflowTemplate
metadata: {name: t, namespace: other}
spec: {templates: [{name: b, suspend: {}}]}
---
apiVersion: argoproj.io/v1alpha1
kind: ClusterWorkflowTemplate
metadata: {name: t}
spec: {templates: [{name: c, suspend: {}}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: m}
data: {k: v}
---
apiVersion: v1
kind: Secret
metadata: {name: s}
data: {a: aGk=, bad: '%%'}
stringData: {b: plain}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: p}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
"""


def test_templates_are_found_in_their_namespace_or_in_the_cluster() -> None:
    library = Library.of(parse_text(FILE))

    assert library.template(TemplateRef(name="t", template="a"))
    assert library.template(TemplateRef(name="t", template="a"), namespace="default")
    assert library.template(TemplateRef(name="t", template="b"), namespace="other")
    assert library.template(TemplateRef(name="t", template="c", cluster_scope=True))


def test_what_is_not_there_is_none() -> None:
    library = Library.of(parse_text(FILE))

    assert library.template(TemplateRef(name="t", template="b")) is None
    assert library.spec("x", cluster_scope=True) is None
    assert library.config_value("m", "x") is None
    assert library.secret_value("x", "a") is None
    assert library.volume_claim("p", namespace="other") is None


def test_values_of_config_maps_secrets_and_claims_are_found() -> None:
    library = Library.of(parse_text(FILE))

    assert library.config_value("m", "k") == "v"
    assert library.secret_value("s", "a") == b"hi"
    assert library.secret_value("s", "b") == b"plain"
    assert library.secret_value("s", "bad") is None
    claim = library.volume_claim("p")
    assert claim
    assert claim.spec.resources.requests == {"storage": "1Gi"}


def test_extending_leaves_the_old_library_as_it_was() -> None:
    old = Library.of(parse_text(FILE))

    new = old.extended(parse_text(FILE.replace("{k: v}", "{k: w}")))

    assert (old.config_value("m", "k"), new.config_value("m", "k")) == ("v", "w")
