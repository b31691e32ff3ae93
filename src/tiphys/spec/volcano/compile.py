"""A JobFlow or a Job as a workflow: the same templates, nodes and rules as any other.

A flow becomes a DAG, each of its steps a task whose template is of the type ``volcanoJob``; what
the control annotation says becomes ``when``, loops and retries of the same engine. A Job alone
becomes a workflow with one such template.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from tiphys.spec import walk
from tiphys.spec.mark import KIND, MANIFEST, RETAIN, free_of_marks
from tiphys.spec.model import (
    Arguments,
    Backoff,
    ContinueOn,
    DAGTask,
    DAGTemplate,
    Inputs,
    Metadata,
    ObjectMeta,
    Parameter,
    PersistentVolumeClaim,
    RetryStrategy,
    Sequence,
    Template,
    TTLStrategy,
    Workflow,
    WorkflowSpec,
    WorkflowStep,
)
from tiphys.spec.model.volcano import Flow, JobFlow, JobSpec, JobTemplate, VolcanoJob
from tiphys.spec.report import Report
from tiphys.spec.volcano.check import check_job, check_names, targets_of
from tiphys.spec.volcano.control import Control, Loop, Retry, Step
from tiphys.spec.volcano.patch import merge

JOB = "job"
replace = msgspec.structs.replace


def compile_job(job: VolcanoJob, report: Report) -> Workflow:
    """Turn a Job into a workflow with one template."""
    name = job.metadata.name or f"{job.metadata.generate_name}xxxxx"
    check_job(job.spec, report)
    check_names(job.spec, name, report)
    template = Template(name=JOB, metadata=_own(job.metadata), volcano_job=_plain(job.spec))
    return Workflow(
        metadata=_meta(job.metadata, "Job", msgspec.to_builtins(job)),
        spec=WorkflowSpec(
            entrypoint=JOB,
            templates=(template,),
            ttl_strategy=_ttl(job.spec),
            volume_claim_templates=_claims(job.spec, JOB),
        ),
    )


def compile_flow(
    flow: JobFlow, templates: Mapping[str, JobTemplate], control: Control, report: Report
) -> Workflow:
    """Turn a flow that was checked into a workflow with a DAG."""
    found: list[Template] = []
    tasks: list[DAGTask] = []
    claims: list[PersistentVolumeClaim] = []
    switched = _switched(control)
    for index, step in enumerate(flow.spec.flows):
        said = control.steps.get(step.name, Step())
        spec = _job_spec(step, said, templates, report, index)
        if spec is None:
            continue
        _check_step(flow, step, spec, report, index)
        found += _templates(step.name, spec, said)
        tasks.append(_task(step, said, switched.get(step.name, ()), control))
        claims += _claims(spec, step.name)
    entry = _free("flow", {each.name for each in found})
    dag = Template(name=entry, dag=DAGTemplate(tasks=tuple(tasks)))
    meta = _meta(flow.metadata, "JobFlow", msgspec.to_builtins(flow))
    if flow.spec.job_retain_policy == "delete":
        meta = replace(meta, labels={**meta.labels, RETAIN: "delete"})
    return Workflow(
        metadata=meta,
        spec=WorkflowSpec(
            entrypoint=entry,
            templates=(dag, *found),
            arguments=Arguments(parameters=_parameters(control.parameters)),
            volume_claim_templates=tuple(claims),
        ),
    )


def _check_step(flow: JobFlow, step: Flow, spec: JobSpec, report: Report, index: int) -> None:
    """Check the Job of a step: what the template alone cannot tell."""
    path = ("spec", "flows", index)
    if step.patch is not None:
        check_job(spec, report, (*path, "patch"))
    name = flow.metadata.name or f"{flow.metadata.generate_name}xxxxx"
    check_names(spec, f"{name}-{step.name}", report, path)


def _meta(meta: ObjectMeta, kind: str, manifest: dict[str, Any]) -> ObjectMeta:
    manifest.pop("status", None)
    kept = msgspec.json.encode(manifest).decode()
    labels, annotations = free_of_marks(meta.labels), free_of_marks(meta.annotations)
    return replace(meta, labels={**labels, KIND: kind}, annotations={**annotations, MANIFEST: kept})


def _own(meta: ObjectMeta) -> Metadata:
    """What is said about a Job itself: on a cluster it stands on the Job there."""
    return Metadata(labels=meta.labels, annotations=meta.annotations)


def _ttl(spec: JobSpec) -> TTLStrategy | None:
    """How long a Job alone is kept; one of a flow stays as long as its flow."""
    if spec.ttl_seconds_after_finished is None:
        return None
    return TTLStrategy(seconds_after_completion=spec.ttl_seconds_after_finished)


def _plain(spec: JobSpec) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(spec))
    return found


def _parameters(values: Mapping[str, str]) -> tuple[Parameter, ...]:
    return tuple(Parameter(name=name, value=value) for name, value in values.items())


def _job_spec(
    step: Flow, said: Step, templates: Mapping[str, JobTemplate], report: Report, index: int
) -> JobSpec | None:
    """Give the template's spec with the step's patch laid over it."""
    path = ("spec", "flows", index)
    name = said.template or step.name
    template = templates.get(name)
    if template is None:
        hint = report.close_to(name, templates)
        report.add((*path, "name"), f"there is no JobTemplate {name[:60]!r}", hint=hint)
        return None
    patch = step.patch
    change = None if patch is None else patch.job_spec or patch.spec
    if not change:
        return template.spec
    field = "jobSpec" if patch is not None and patch.job_spec else "spec"
    inner = Report(report.document, prefix=(*report.prefix, *path, "patch", field))
    found = walk.read(merge(_plain(template.spec), change), JobSpec, inner)
    report.problems += inner.problems
    return found


def _task(step: Flow, said: Step, cases: tuple[str, ...], control: Control) -> DAGTask:
    loop, when = said.loop, [*cases, *([said.when] if said.when else [])]
    probe = step.depends_on.probe if step.depends_on else None
    until = loop is not None and loop.until
    return DAGTask(
        name=step.name,
        template=_until_name(step.name) if until else step.name,
        dependencies=targets_of(step),
        when=" && ".join(f"({each})" for each in when) if len(when) > 1 else "".join(when),
        with_items=loop.items if loop else None,
        with_sequence=_sequence(loop) if loop else None,
        continue_on=ContinueOn(failed=True, error=True) if said.continue_on_failure else None,
        arguments=Arguments(parameters=_parameters(said.parameters)),
        ready=None if probe is None else msgspec.to_builtins(probe),
    )


def _sequence(loop: Loop) -> Sequence | None:
    if loop.count is None and loop.end is None:
        return None
    return Sequence(count=loop.count, start=loop.start, end=loop.end)


def _switched(control: Control) -> dict[str, tuple[str, ...]]:
    """Give each step that a switch may choose the conditions under which it is chosen."""
    found: dict[str, tuple[str, ...]] = {}
    for step in control.steps.values():
        if step.switch is None:
            continue
        value = f"'{step.switch.value}'"
        for case, names in step.switch.cases.items():
            for name in names:
                found[name] = (*found.get(name, ()), f"{value} == '{case}'")
        others = " && ".join(f"{value} != '{case}'" for case in step.switch.cases)
        for name in step.switch.default:
            found[name] = (*found.get(name, ()), others or "true")
    return found


def _templates(name: str, spec: JobSpec, said: Step) -> list[Template]:
    inputs = Inputs(parameters=tuple(Parameter(name=each) for each in said.parameters))
    job = Template(
        name=name,
        inputs=inputs,
        volcano_job=_plain(spec),
        retry_strategy=None if said.retry is None else _retry(said.retry),
    )
    if said.loop is None or not said.loop.until:
        return [job]
    return [job, _until(name, inputs, said.loop)]


def _retry(retry: Retry) -> RetryStrategy:
    backoff = None
    if retry.backoff or retry.max:
        backoff = Backoff(
            duration=retry.backoff or "0s", factor=retry.factor, max_duration=retry.max
        )
    return RetryStrategy(limit=retry.limit, retry_policy="Always", backoff=backoff)


def _free(name: str, taken: set[str]) -> str:
    """Give a name that no step has."""
    return name if name not in taken else _free(f"{name}-0", taken)


def _until_name(name: str) -> str:
    return f"{name}-until"


def _until(name: str, inputs: Inputs, loop: Loop) -> Template:
    """A template that runs the job, and then itself again unless the condition holds."""
    kept = Arguments(
        parameters=tuple(
            Parameter(name=each.name, value=f"{{{{inputs.parameters.{each.name}}}}}")
            for each in inputs.parameters
        )
    )
    counted = Parameter(name="round", value="{{=string(asInt(inputs.parameters.round) + 1)}}")
    again = replace(kept, parameters=(*kept.parameters, counted))
    left = f"{{{{inputs.parameters.round}}}} < {loop.limit}"
    return Template(
        name=_until_name(name),
        inputs=replace(inputs, parameters=(*inputs.parameters, Parameter(name="round", value="1"))),
        steps=(
            (WorkflowStep(name="run", template=name, arguments=kept),),
            (
                WorkflowStep(
                    name="again",
                    template=_until_name(name),
                    when=f"!({loop.until}) && {left}",
                    arguments=again,
                ),
            ),
        ),
    )


def _claims(spec: JobSpec, template: str) -> tuple[PersistentVolumeClaim, ...]:
    """Volumes for which the Job makes claims of its own."""
    return tuple(
        PersistentVolumeClaim(
            metadata=ObjectMeta(name=claim_name(template, index)), spec=volume.volume_claim
        )
        for index, volume in enumerate(spec.volumes)
        if volume.volume_claim is not None and not volume.volume_claim_name
    )


def claim_name(template: str, index: int) -> str:
    """Name the claim of a Job's volume."""
    return f"{template}-volume-{index}"
