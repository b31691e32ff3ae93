"""Older forms of fields to today's.

Argo 4.0 dropped ``schedule``, ``mutex``, ``semaphore`` and ``podPriority``; files still have
them. `spec.parse` upgrades all that it reads, so nothing behind it knows the older forms.
``podPriority`` has no newer form: it stays where it is, for pods only.
"""

from __future__ import annotations

from typing import Any, TypeVar

from msgspec import structs

from tiphys.spec.model import (
    ClusterWorkflowTemplate,
    CronWorkflow,
    DAGTask,
    Model,
    Synchronization,
    Template,
    Workflow,
    WorkflowSpec,
    WorkflowStep,
    WorkflowTemplate,
)

M = TypeVar("M", bound=Model)
C = TypeVar("C", WorkflowStep, DAGTask)


def upgrade(document: M) -> M:
    """Give the document in today's form; most come back as they are."""
    if isinstance(document, (Workflow, WorkflowTemplate, ClusterWorkflowTemplate)):
        return structs.replace(document, spec=_spec(document.spec))
    if isinstance(document, CronWorkflow):
        return structs.replace(document, spec=_cron(document))
    return document


def _cron(document: CronWorkflow) -> Model:
    spec = document.spec
    schedules = spec.schedules
    if spec.schedule and spec.schedule not in schedules:
        schedules = (spec.schedule, *schedules)
    inner = _spec(spec.workflow_spec)
    return structs.replace(spec, schedule="", schedules=schedules, workflow_spec=inner)


def _spec(spec: WorkflowSpec) -> WorkflowSpec:
    defaults = spec.template_defaults
    return structs.replace(
        spec,
        synchronization=_locks(spec.synchronization),
        templates=tuple(_template(template) for template in spec.templates),
        template_defaults=_template(defaults) if defaults else None,
    )


def _template(template: Template) -> Template:
    changed: dict[str, Any] = {}
    if template.synchronization:
        changed["synchronization"] = _locks(template.synchronization)
    steps, dag = template.steps, template.dag
    if steps and any(step.inline for group in steps for step in group):
        changed["steps"] = tuple(tuple(_call(step) for step in group) for group in steps)
    if dag and any(task.inline for task in dag.tasks):
        changed["dag"] = structs.replace(dag, tasks=tuple(_call(task) for task in dag.tasks))
    return structs.replace(template, **changed) if changed else template


def _call(call: C) -> C:
    return structs.replace(call, inline=_template(call.inline)) if call.inline else call


def _locks(locks: Synchronization | None) -> Synchronization | None:
    if locks is None or (locks.mutex is None and locks.semaphore is None):
        return locks
    mutexes = (locks.mutex, *locks.mutexes) if locks.mutex else locks.mutexes
    semaphores = (locks.semaphore, *locks.semaphores) if locks.semaphore else locks.semaphores
    return Synchronization(mutexes=mutexes, semaphores=semaphores)
