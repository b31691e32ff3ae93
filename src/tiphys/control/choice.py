"""Which scheduler a workflow gets: the one that it names, the configured one, or this machine.

Pure. With ``scheduler.volcano.enabled`` off (``ENABLE_VOLCANO_SCHEDULER``), work for Volcano runs
on this machine: it keeps a note of what it asked for, so that a resubmission asks again, and the
queue that it names, which is one of the cluster's, plays no part. Work for Kueue is work for the
cluster that names one of Kueue's queues; ``kueue.label`` says by which label.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from tiphys.config import SchedulerSettings
from tiphys.core.label import QUEUE as OWN_QUEUE
from tiphys.core.priority import DEFAULT_CLASS, PRIORITY_CLASSES
from tiphys.errors import InvalidInputError
from tiphys.kueue.label import QUEUE
from tiphys.ports import KUEUE, LOCAL, SCHEDULER_LABEL, VOLCANO
from tiphys.spec import model

ASKED = "tiphys.dev/asked-scheduler"
"""The annotation of a workflow that runs here instead of where it asked for."""
FELL_BACK = "SchedulerFallback"
"""The kind of the event that tells it."""
_WHY = (
    "Volcano is off (scheduler.volcano.enabled, ENABLE_VOLCANO_SCHEDULER):"
    " it runs on this machine, in the default queue"
)
_CLASS = "tiphys.dev/priority-class"
_CLASSES = {number: name for name, number in PRIORITY_CLASSES.items() if name != DEFAULT_CLASS}
"""A normal priority is that of work which names no class."""
replace = msgspec.structs.replace


def choose(workflow: model.Workflow, settings: SchedulerSettings) -> tuple[model.Workflow, str]:
    """Settle where a workflow runs; say why it is not where it asked for, "" if it is."""
    meta = workflow.metadata
    labels, annotations = dict(meta.labels), dict(meta.annotations)
    asked = annotations.pop(ASKED, "")
    named = labels.pop(SCHEDULER_LABEL, "")
    wanted = named or asked or settings.default
    why = ""
    if wanted == VOLCANO and not settings.volcano.enabled:
        annotations[ASKED] = wanted
        wanted, why = LOCAL, _WHY
    if wanted == KUEUE:
        labels[QUEUE] = _kueues(labels, annotations)
        _check_whole(annotations)
    if wanted != LOCAL or named == LOCAL:  # Said is said: whoever submits it again means it, too.
        labels[SCHEDULER_LABEL] = wanted
    if (labels, annotations) == (meta.labels, meta.annotations):
        return workflow, why
    changed = replace(meta, labels=labels, annotations=annotations)
    return replace(workflow, metadata=changed), why


def _kueues(labels: Mapping[str, str], annotations: Mapping[str, str]) -> str:
    """Give the queue of work for Kueue: the one that the submission names, or its own label."""
    queue = annotations.get(OWN_QUEUE) or labels.get(OWN_QUEUE) or labels.get(QUEUE, "")
    if not queue:
        raise InvalidInputError(
            f"work for Kueue needs a queue: name one (queue_id, or the label {QUEUE});"
            " k8s-native runs without"
        )
    return queue


def _check_whole(annotations: Mapping[str, str]) -> None:
    """Refuse a workflow as one unit that does not say what it needs: it could only be held."""
    from tiphys.kueue.layer import Unit, unit_of  # noqa: PLC0415 - few hosts have a cluster
    from tiphys.kueue.need import whole  # noqa: PLC0415 - few hosts have a cluster

    owner = {"metadata": {"annotations": annotations}}
    if unit_of(owner) is Unit.WORKFLOW:
        whole(owner)


def classed(
    spec: model.WorkflowSpec, workflow: model.Workflow, settings: SchedulerSettings
) -> model.WorkflowSpec:
    """Give work for Volcano the priority class of its priority, where there are such classes.

    Volcano knows classes, and no numbers of ours; those that ship are made when they are absent.
    """
    labels = workflow.metadata.labels
    if labels.get(SCHEDULER_LABEL) != VOLCANO or not settings.volcano.presets:
        return spec
    named = labels.get(_CLASS, "") or _CLASSES.get(spec.priority or 0, "")
    if spec.pod_priority_class_name or named not in _CLASSES.values():
        return spec
    return replace(spec, pod_priority_class_name=named)


def has_fallen_back(annotations: Mapping[str, str]) -> bool:
    """Whether a workflow runs here though it asked for a cluster."""
    return ASKED in annotations
