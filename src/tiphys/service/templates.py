"""Templates kept for later workflows, in a project or for all."""

from __future__ import annotations

from typing import Any

import msgspec

from tiphys.control.host import Host
from tiphys.control.submit import read_files
from tiphys.errors import NotFoundError, Problem, SpecError
from tiphys.service.cabinet import Cabinet
from tiphys.service.submission import settled, visible
from tiphys.spec import model
from tiphys.spec.parse import Bundle, Parsed
from tiphys.spec.validate import validate_workflow_template
from tiphys.store import ObjectRow

NAMESPACED, FOR_ALL, OF_JOBS = "WorkflowTemplate", "ClusterWorkflowTemplate", "JobTemplate"


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
        """Check and keep one; with ``name`` it must be that one.

        Where a WorkflowTemplate is kept, a JobTemplate may be as well.
        """
        bundle = settled(
            read_files([("template.yaml", text.encode())]), project, for_all=kind == FOR_ALL
        )
        if bundle.job_templates and kind == NAMESPACED:
            kind = OF_JOBS
        meta = self._check(bundle, kind, project, name)
        self._host.keep(bundle, self._host.library.extended(bundle))
        await self._host.control.settle()
        return self.find(kind, project, meta.name)

    def _check(self, bundle: Bundle, kind: str, project: str, name: str) -> model.ObjectMeta:
        found: dict[str, tuple[Parsed[Any], ...]] = {
            NAMESPACED: bundle.workflow_templates,
            FOR_ALL: bundle.cluster_workflow_templates,
            OF_JOBS: bundle.job_templates,
        }
        if len(found[kind]) != 1 or _others(bundle) != 1:
            raise _wrong(f"expected one {kind} and nothing else", "template_yaml")
        (parsed,) = found[kind]
        meta: model.ObjectMeta = parsed.value.metadata
        if not meta.name or (name and meta.name != name):
            raise _wrong(f"the template must be named {name or 'something'}", "metadata.name")
        if kind == OF_JOBS:
            return meta  # Checked as it was read: it refers to nothing.
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
            library = msgspec.structs.replace(library, cluster_workflow_templates=kept)
        elif row.kind == OF_JOBS:
            rest = dict(library.job_templates)
            rest.pop((row.namespace, row.name), None)
            library = msgspec.structs.replace(library, job_templates=rest)
        else:
            left = dict(library.workflow_templates)
            left.pop((row.namespace, row.name), None)
            library = msgspec.structs.replace(library, workflow_templates=left)
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
        bundle.job_templates,
    )
    return sum(len(kind) for kind in kinds)


def names_in(row: ObjectRow) -> tuple[list[str], str]:
    """Give what a stored template holds: its templates or tasks, and where it begins."""
    if row.kind == OF_JOBS:
        from tiphys.spec.model.volcano import JobTemplate  # noqa: PLC0415 - few have any

        job = msgspec.json.decode(row.body, type=JobTemplate)
        return [task.name for task in job.spec.tasks], ""
    template: model.WorkflowTemplate | model.ClusterWorkflowTemplate
    if row.kind == FOR_ALL:
        template = msgspec.json.decode(row.body, type=model.ClusterWorkflowTemplate)
    else:
        template = msgspec.json.decode(row.body, type=model.WorkflowTemplate)
    return [each.name for each in template.spec.templates], template.spec.entrypoint
