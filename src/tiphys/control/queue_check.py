"""Whether the queues exist that a text names for itself, decided before anything is stored.

Queues of this machine alone: what runs on a cluster waits in queues of the cluster, and who runs it
there knows them. Where nobody has set up queues, a file that was written for a cluster runs all the
same: all work waits in the one queue that there is. A node that comes to an unknown queue besides
others (its workflow template names one, or it was removed meanwhile) ends as an error that says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from tiphys.config import SchedulerSettings
from tiphys.control.choice import choose
from tiphys.errors import Problem, SpecError
from tiphys.ports import LOCAL, SCHEDULER_LABEL
from tiphys.scheduling.admission import QUEUE_KEYS
from tiphys.scheduling.queue import DEFAULT
from tiphys.spec import model
from tiphys.spec.report import Report
from tiphys.spec.yaml import Document, Path

_SHOWN = 20
"""So many names are given as a hint."""


def check_queues(
    workflow: model.Workflow, document: Document, settings: SchedulerSettings, known: Sequence[str]
) -> None:
    """Raise SpecError with every place that names a queue which is none of those that take work."""
    problems = queue_problems(workflow, lambda: document, settings, known)
    if problems:
        raise SpecError(problems)


def queue_problems(
    workflow: model.Workflow,
    read: Callable[[], Document],
    settings: SchedulerSettings,
    known: Sequence[str],
) -> list[Problem]:
    """Give a problem for each such place; the text is read only if there is one."""
    if set(known) == {DEFAULT}:
        return []
    settled, fallen = choose(workflow, settings)
    if fallen or settled.metadata.labels.get(SCHEDULER_LABEL, LOCAL) != LOCAL:
        return []
    wrong = [each for each in (*_named(workflow), *_of_jobs(workflow)) if each[1] not in known]
    wrong = [(path, name) for path, name in wrong if "{{" not in name]
    if not wrong:
        return []
    report = Report(read())
    for path, name in dict.fromkeys((_placed(path, report), name) for path, name in wrong):
        message = f"there is no queue {name[:200]!r} that takes work"
        report.add(path, message, hint=named(known))
    return report.problems


def _named(workflow: model.Workflow) -> Iterator[tuple[Path, str]]:
    """Give the queue of the workflow and those of single templates, with their places."""
    meta, pods = workflow.metadata, workflow.spec.pod_metadata or model.Metadata()
    own = list(_marks(("metadata",), meta.annotations, meta.labels))
    own += _marks(("spec", "podMetadata"), pods.annotations, pods.labels)
    # One counts: the first key, as an annotation before a label, the workflow's before its pods'.
    yield from sorted(own, key=lambda each: (QUEUE_KEYS.index(str(each[0][-1])), each[0][-2]))[:1]
    for number, template in enumerate(workflow.spec.templates):
        path: Path = ("spec", "templates", number, "metadata")
        yield from list(_marks(path, template.metadata.annotations, template.metadata.labels))[:1]


def _of_jobs(workflow: model.Workflow) -> Iterator[tuple[Path, str]]:
    """Give the queues of Volcano Jobs."""
    for number, template in enumerate(workflow.spec.templates):
        queue = (template.volcano_job or {}).get("queue")
        if isinstance(queue, str) and queue:
            yield ("spec", "templates", number, "volcanoJob", "queue"), queue


def _placed(path: Path, report: Report) -> Path:
    """Give the place that people know: the templates of a flow stand in texts of their own."""
    if "volcanoJob" not in path or report.document is None:
        return path
    places: dict[Any, Path] = {"Job": ("spec", "queue"), "JobFlow": ("spec", "flows")}
    return places.get(report.document.value.get("kind"), path)


def _marks(
    path: Path, annotations: Mapping[str, str], labels: Mapping[str, str]
) -> Iterator[tuple[Path, str]]:
    for key in QUEUE_KEYS:
        for kind, marks in (("annotations", annotations), ("labels", labels)):
            if marks.get(key):
                yield (*path, kind, key), marks[key]


def named(known: Sequence[str]) -> str:
    """Say which queues there are."""
    more = f" and {len(known) - _SHOWN} more" if len(known) > _SHOWN else ""
    return f"there are {', '.join(sorted(known)[:_SHOWN])}{more}"
