"""Which flows Volcano's own JobFlow controller can be trusted with.

Its behaviour is known (docs/adr/0006-jobflow-control.md lists the traps). What it lacks or gets
wrong is driven by our engine in its place; the reason is told, so that people can see it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from tiphys.core.name import MAX_LABEL
from tiphys.spec.model.volcano import JobFlow, JobSpec, LifecyclePolicy
from tiphys.spec.volcano.control import ANNOTATION

_STUCK = frozenset({"AbortJob", "TerminateJob", "ResumeJob"})
"""Actions after which upstream's flow waits for ever."""


def reasons(
    flow: JobFlow, jobs: Mapping[str, Mapping[str, Any]], name: str, namespace: str
) -> list[str]:
    """Say why a flow with these Jobs, by their steps, needs our engine; nothing if it is plain."""
    found = []
    if flow.metadata.annotations.get(ANNOTATION):
        found.append(f"the annotation {ANNOTATION}")
    for step in flow.spec.flows:
        if step.depends_on is not None and step.depends_on.probe is not None:
            found.append(f"{step.name}: a probe")
        if step.patch is not None:
            found.append(f"{step.name}: a patch")
        # Upstream writes both into labels.
        if max(len(name), len(step.name)) + len(namespace) + 1 > MAX_LABEL:
            found.append(f"{step.name}: names that are too long for labels")
        found += [f"{step.name}: {why}" for why in _job_reasons(jobs.get(step.name, {}))]
    return found


def _job_reasons(job: Mapping[str, Any]) -> Iterator[str]:
    spec = msgspec.convert(job, JobSpec, strict=False)
    if spec.ttl_seconds_after_finished is not None:
        yield "ttlSecondsAfterFinished, after which its Job would run again"
    policies: list[LifecyclePolicy] = [*spec.policies]
    for task in spec.tasks:
        policies += task.policies
    for action in sorted({policy.action for policy in policies} & _STUCK):
        yield f"the action {action}"
