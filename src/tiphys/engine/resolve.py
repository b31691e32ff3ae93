"""Finding templates: by name, by reference, inline; with the run's defaults merged in.

A ``Base`` is the place in which plain names are looked up: the workflow itself, or the
(Cluster)WorkflowTemplate that the surrounding template came from. Each template is prepared once
(``Prepared``) and rendered for every node.
"""

from __future__ import annotations

import re

import msgspec

from tiphys.spec import model
from tiphys.spec.library import Library
from tiphys.spec.merge import apply_template_defaults
from tiphys.spec.template import TaggedText, compile_template
from tiphys.spec.template_type import template_type

try:
    # As the standard library's ``random`` does: ``hashlib`` loads all there is, OpenSSL's as well,
    # which takes longer than the hashing.
    from _blake2 import blake2b
except ImportError:
    from hashlib import blake2b


class UnresolvedError(Exception):
    """A template cannot be found or made; the message is for the node."""


class Base(msgspec.Struct, frozen=True):
    """Where plain template names are looked up."""

    scope: str
    """``local/NAME``, ``namespaced/NAME`` or ``cluster/NAME``, as in Argo's templateScope."""
    spec: model.WorkflowSpec


POD_KINDS = frozenset({"container", "script", "resource", "data", "container_set"})


class Prepared(msgspec.Struct):
    """A template made ready to be rendered again and again."""

    template: model.Template
    base: Base
    kind: str
    retry: model.RetryStrategy | None
    raw: str
    """Its JSON, inputs' parameters left out: their values come with each call."""
    text: TaggedText
    plain: bool
    """No tag in it."""
    fixed: bool
    """Nor does it take anything: every call gets the very same template."""
    read_results: frozenset[str] | None = None
    _digest: str = ""

    @property
    def digest(self) -> str:
        """The same for templates that say the same, whichever workflow they stand in."""
        if not self._digest:
            self._digest = blake2b(self.raw.encode(), digest_size=12).hexdigest()
        return self._digest

    def reads_result_of(self, name: str) -> bool:
        """Whether this steps or DAG template refers to the result of its step ``name``."""
        if self.read_results is None:
            word = "tasks" if self.template.dag is not None else "steps"
            found = re.findall(word + _RESULT, self.raw)
            self.read_results = frozenset(plain or quoted for plain, quoted in found)
        return name in self.read_results


# ``.name.outputs.result`` or ``['name'].outputs.result``, inside of JSON text.
_RESULT = r"""(?:\.([^.\s\[{}]+)|\[(?:'|\\")(.+?)(?:'|\\")\])\.outputs.result"""


class Templates:
    """All templates that a run can reach, each prepared at its first use."""

    def __init__(
        self, name: str, namespace: str, spec: model.WorkflowSpec, library: Library
    ) -> None:
        self.local = Base(f"local/{name}", spec)
        self._namespace = namespace
        self._spec = spec
        self._library = library
        self._bases: dict[tuple[bool, str], Base] = {}
        self._prepared: dict[tuple[str, str], Prepared] = {}

    def find(self, base: Base, holder: model.WorkflowStep | model.DAGTask) -> Prepared:
        """Give the template that ``holder`` names, seen from ``base``."""
        if holder.inline is not None:
            return self._prepare(holder.inline, base)
        if holder.template_ref is not None:
            return self._referenced(holder.template_ref)
        key = (base.scope, holder.template)
        known = self._prepared.get(key)
        if known is None:
            template = _named(base.spec, holder.template)
            if template is None:
                raise UnresolvedError(f"template {holder.template} not found")
            known = self._prepared[key] = self._prepare(template, base)
        return known

    def _referenced(self, ref: model.TemplateRef) -> Prepared:
        base = self._base(ref)
        key = (base.scope, ref.template)
        known = self._prepared.get(key)
        if known is None:
            template = _named(base.spec, ref.template)
            if template is None:
                raise UnresolvedError(
                    f"template {ref.template} not found in workflow template {ref.name}"
                )
            known = self._prepared[key] = self._prepare(template, base)
        return known

    def _base(self, ref: model.TemplateRef) -> Base:
        key = (ref.cluster_scope, ref.name)
        known = self._bases.get(key)
        if known is None:
            spec = self._library.spec(
                ref.name, cluster_scope=ref.cluster_scope, namespace=self._namespace
            )
            if spec is None:
                raise UnresolvedError(f"workflow template {ref.name} not found")
            scope = "cluster" if ref.cluster_scope else "namespaced"
            known = self._bases[key] = Base(f"{scope}/{ref.name}", spec)
        return known

    def _prepare(self, template: model.Template, base: Base) -> Prepared:
        template = _with_pod_metadata(template, base.spec.pod_metadata)
        template = apply_template_defaults(template, self._spec.template_defaults)
        kind = template_type(template)
        if not kind:
            raise UnresolvedError(f"template '{template.name}' type is unknown")
        bare = msgspec.structs.replace(
            template, inputs=msgspec.structs.replace(template.inputs, parameters=())
        )
        raw = msgspec.json.encode(bare).decode()
        text = compile_template(raw)
        return Prepared(
            template=template,
            base=base,
            kind=kind,
            retry=template.retry_strategy or self._spec.retry_strategy,
            raw=raw,
            text=text,
            plain=not text.tags,
            fixed=not (text.tags or template.inputs.parameters or template.inputs.artifacts),
        )


def _named(spec: model.WorkflowSpec, name: str) -> model.Template | None:
    return next((t for t in spec.templates if t.name == name), None)


def _with_pod_metadata(template: model.Template, extra: model.Metadata | None) -> model.Template:
    if extra is None:
        return template
    mine = template.metadata
    merged = msgspec.structs.replace(
        mine,
        labels={**mine.labels, **extra.labels},
        annotations={**mine.annotations, **extra.annotations},
    )
    return msgspec.structs.replace(template, metadata=merged)
