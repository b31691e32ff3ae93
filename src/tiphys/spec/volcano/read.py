"""Where `spec.parse` meets Volcano's documents: their types, and the workflows they become."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from tiphys.spec.volcano.check import check_flow, check_job
from tiphys.spec.volcano.compile import compile_flow, compile_job
from tiphys.spec.volcano.control import read_control

if TYPE_CHECKING:
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
) -> tuple[list[Parsed[Workflow]], list[Problem]]:
    """Check the documents and give the workflows they become, with all that is wrong."""
    from tiphys.spec.parse import Parsed as Found  # noqa: PLC0415

    made: list[Parsed[Workflow]] = []
    problems: list[Problem] = []
    known = {each.value.metadata.name: each.value for each in templates}
    for template in templates:
        report = Report(template.document)
        check_job(template.value.spec, "", report)
        problems += report.problems
    for flow in flows:
        report = Report(flow.document)
        check_flow(flow.value, known, report)
        steps = {step.name: step for step in flow.value.spec.flows}
        control = read_control(flow.value.metadata, steps, report)
        made.append(Found(compile_flow(flow.value, known, control, report), flow.document))
        problems += report.problems
    for job in jobs:
        report = Report(job.document)
        made.append(Found(compile_job(job.value, report), job.document))
        problems += report.problems
    return made, problems
