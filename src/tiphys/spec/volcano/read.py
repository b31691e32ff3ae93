"""Where `spec.parse` meets Volcano's documents: their types, and the workflows they become."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from tiphys.errors import Problem
from tiphys.spec.model import Model, Workflow
from tiphys.spec.model.volcano import (
    BATCH_VERSION,
    FLOW_VERSION,
    JobFlow,
    JobTemplate,
    VolcanoJob,
)
from tiphys.spec.report import Report
from tiphys.spec.volcano.check import check_flow, check_template
from tiphys.spec.volcano.compile import compile_flow, compile_job
from tiphys.spec.volcano.control import read_control

if TYPE_CHECKING:
    from tiphys.spec.library import Library
    from tiphys.spec.parse import Parsed

KINDS: Mapping[str, tuple[type[Model], str]] = {
    "JobFlow": (JobFlow, FLOW_VERSION),
    "JobTemplate": (JobTemplate, FLOW_VERSION),
    "Job": (VolcanoJob, BATCH_VERSION),
}


def compile_all(
    flows: Sequence[Parsed[JobFlow]],
    jobs: Sequence[Parsed[VolcanoJob]],
    templates: Sequence[Parsed[JobTemplate]],
    library: Library | None = None,
) -> tuple[list[Parsed[Workflow]], list[Problem]]:
    """Check the documents and give the workflows they become, with all that is wrong."""
    from tiphys.spec.parse import Parsed as Found  # noqa: PLC0415

    made: list[Parsed[Workflow]] = []
    problems: list[Problem] = []
    for template in templates:
        report = Report(template.document)
        check_template(template.value, report)
        problems += report.problems
    for flow in flows:
        report = Report(flow.document)
        known = _known(flow.value.metadata.namespace, templates, library)
        check_flow(flow.value, report)
        steps = {step.name: step for step in flow.value.spec.flows}
        control = read_control(flow.value.metadata, steps, report)
        workflow = compile_flow(flow.value, known, control, report)
        if not _is_wrong(report):
            made.append(Found(workflow, flow.document))
        problems += report.problems
    for job in jobs:
        report = Report(job.document)
        workflow = compile_job(job.value, report)
        if not _is_wrong(report):
            made.append(Found(workflow, job.document))
        problems += report.problems
    return made, problems


def _is_wrong(report: Report) -> bool:
    """Whether there are errors: what comes of such a document would only have more of them."""
    return any(not problem.warning for problem in report.problems)


def _known(
    namespace: str, templates: Iterable[Parsed[JobTemplate]], library: Library | None
) -> dict[str, JobTemplate]:
    """Give the templates that a flow of a namespace may use; those beside it come first."""
    found: dict[str, JobTemplate] = {}
    if library is not None:
        own = namespace or library.namespace
        found = {
            name: each for (place, name), each in library.job_templates.items() if place == own
        }
    for template in templates:
        meta = template.value.metadata
        if not (namespace and meta.namespace) or meta.namespace == namespace:
            found[meta.name] = template.value
    return found
