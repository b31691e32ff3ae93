"""What the checks of one spec share: its templates, its names, the library, the report."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from tiphys.spec.library import Library
from tiphys.spec.model import Template, TemplateRef, WorkflowSpec
from tiphys.spec.report import Report
from tiphys.spec.validate.tags import Scope, has_tag, is_reference
from tiphys.spec.yaml import Path

_MAX_FOLDED = 20
# Far more than anybody needs, far less than Python's stack.
_MAX_REFERENCES = 40


class Context(msgspec.Struct):
    """The spec under check and its surroundings. Paths start at the spec."""

    spec: WorkflowSpec
    report: Report
    library: Library
    namespace: str
    scope: Scope
    """The names that exist everywhere in the workflow."""
    check_template: Callable[[Template, Path, Context], None]
    """Set by the package, as templates hold steps and steps lead to templates."""
    is_template: bool = False
    """A WorkflowTemplate is checked, so some values will only come with a workflow."""
    seen: set[tuple[bool, str, str]] = msgspec.field(default_factory=set)
    """Templates of other documents that were followed already."""
    templates: dict[str, Template] = msgspec.field(default_factory=dict)
    depth: int = 0
    """How many documents lie between this one and the workflow."""

    def __post_init__(self) -> None:
        for template in self.spec.templates:
            self.templates.setdefault(template.name, template)

    def own_template(self, name: str, path: Path) -> Template | None:
        """Give a template of the same document; report it where there is none."""
        if has_tag(name):
            return None
        found = self.templates.get(name)
        if found is None:
            hint = self.report.close_to(name, self.templates)
            self.report.add(path, f"there is no template {name[:100]!r}", hint=hint)
        return found

    def referred_template(self, ref: TemplateRef, path: Path) -> Template | None:
        """Give a template of another document, checked as part of this workflow."""
        for key, text in (("name", ref.name), ("template", ref.template)):
            if not text:
                self.report.add((*path, key), f"templateRef needs a {key}")
                return None
        if has_tag(ref.name) or has_tag(ref.template):
            return None
        scope, space = ref.cluster_scope, self.namespace
        spec = self.library.spec(ref.name, cluster_scope=scope, namespace=space)
        if spec is None:
            kind = "ClusterWorkflowTemplate" if scope else "WorkflowTemplate"
            self.report.add((*path, "name"), f"there is no {kind} {ref.name[:100]!r}")
            return None
        names = {template.name: template for template in spec.templates}
        if ref.template not in names:
            hint = self.report.close_to(ref.template, names)
            message = f"{ref.name!r} has no template {ref.template[:100]!r}"
            self.report.add((*path, "template"), message, hint=hint)
            return None
        self._follow(ref, spec, names[ref.template], path)
        return names[ref.template]

    def _follow(self, ref: TemplateRef, spec: WorkflowSpec, target: Template, path: Path) -> None:
        """Check a template of another document; its problems are told at the place of the call."""
        key = (ref.cluster_scope, ref.name, ref.template)
        if key in self.seen or self.depth >= _MAX_REFERENCES:
            return
        self.seen.add(key)
        inner = Report()
        index = spec.templates.index(target)
        depth = self.depth + 1
        context = msgspec.structs.replace(self, spec=spec, report=inner, templates={}, depth=depth)
        self.check_template(target, ("templates", index), context)
        self.fold(inner, ref.name, path)

    def fold(self, inner: Report, name: str, path: Path) -> None:
        """Tell the problems of another document here."""
        for problem in [p for p in inner.problems if not p.warning][:_MAX_FOLDED]:
            message = f"in {name!r}, {problem.path}: {problem.message}"
            self.report.add(path, message, code=problem.code, hint=problem.hint)

    def make_outputs_global(self, template: Template) -> None:
        """Make known what a template exports with ``globalName``."""
        for kind in ("parameters", "artifacts"):
            for each in getattr(template.outputs, kind):
                prefix = f"workflow.outputs.{kind}."
                if is_reference(each.global_name):
                    self.scope.open.add(prefix)
                elif each.global_name:
                    self.scope.add(prefix + each.global_name)
