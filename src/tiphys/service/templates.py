"""Templates kept for later workflows, in a project or for all."""

from __future__ import annotations

from dataclasses import replace as _replaced

import msgspec

from tiphys.control.host import Host
from tiphys.control.submit import read_files
from tiphys.errors import NotFoundError, Problem, SpecError
from tiphys.service.cabinet import Cabinet
from tiphys.service.submission import settled, visible
from tiphys.spec import model
from tiphys.spec.parse import Bundle
from tiphys.spec.validate import validate_workflow_template
from tiphys.store import ObjectRow

NAMESPACED, FOR_ALL = "WorkflowTemplate", "ClusterWorkflowTemplate"
AnyTemplate = model.WorkflowTemplate | model.ClusterWorkflowTemplate
_TYPES: dict[str, type[AnyTemplate]] = {
    NAMESPACED: model.WorkflowTemplate,
    FOR_ALL: model.ClusterWorkflowTemplate,
}


class Templates:
    """Saves, lists and removes templates; the host's library follows."""

    def __init__(self, host: Host, cabinet: Cabinet) -> None:
        self._host, self._cabinet = host, cabinet

    def rows(self, kind: str, projects: set[str] | None) -> list[ObjectRow]:
        """List templates of some projects, or of all."""
        rows = self._host.store.objects(kind)
        return [row for row in rows if projects is None or row.namespace in projects]

    def find(self, kind: str, project: str, name: str) -> ObjectRow:
        """Find one."""
        for row in self._host.store.objects(kind):
            if (row.namespace, row.name) == (project, name):
                return row
        raise NotFoundError(f"there is no template {name[:200]!r}")

    async def save(self, kind: str, project: str, text: str, *, name: str = "") -> ObjectRow:
        """Check and keep one; with ``name`` it must be that one."""
        bundle = settled(
            read_files([("template.yaml", text.encode())]), project, for_all=kind == FOR_ALL
        )
        meta = self._check(bundle, kind, project, name)
        self._host.keep(bundle, self._host.library.extended(bundle))
        await self._host.control.settle()
        return self.find(kind, project, meta.name)

    def _check(self, bundle: Bundle, kind: str, project: str, name: str) -> model.ObjectMeta:
        found = bundle.cluster_workflow_templates if kind == FOR_ALL else bundle.workflow_templates
        if len(found) != 1 or _others(bundle) != 1:
            raise _wrong(f"expected one {kind} and nothing else", "template_yaml")
        (parsed,) = found
        meta: model.ObjectMeta = parsed.value.metadata
        if not meta.name or (name and meta.name != name):
            raise _wrong(f"the template must be named {name or 'something'}", "metadata.name")
        library = visible(self._host.library.extended(bundle), project)
        problems = validate_workflow_template(parsed.value, library, parsed.document)
        errors = [problem for problem in problems if not problem.warning]
        if errors:
            raise SpecError(errors)
        return meta

    async def remove(self, row: ObjectRow) -> None:
        """Remove one; runs that began with it keep it."""
        library = self._host.library
        if row.kind == FOR_ALL:
            kept = dict(library.cluster_workflow_templates)
            kept.pop(row.name, None)
            library = _replaced(library, cluster_workflow_templates=kept)
        else:
            left = dict(library.workflow_templates)
            left.pop((row.namespace, row.name), None)
            library = _replaced(library, workflow_templates=left)
        self._host.keep(Bundle(), library)
        await self._cabinet.remove(row.kind, row.namespace, row.name)


def _wrong(message: str, path: str) -> SpecError:
    return SpecError([Problem(code="invalid_spec", message=message, path=path)])


def _others(bundle: Bundle) -> int:
    kinds = (
        bundle.workflows,
        bundle.workflow_templates,
        bundle.cluster_workflow_templates,
        bundle.cron_workflows,
        bundle.config_maps,
        bundle.secrets,
        bundle.volume_claims,
    )
    return sum(len(kind) for kind in kinds)


def read_template(row: ObjectRow) -> AnyTemplate:
    """Read a stored template."""
    return msgspec.json.decode(row.body, type=_TYPES[row.kind])
