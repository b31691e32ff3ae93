"""Which pods of a Volcano Job have to run at the same time, and what they ask for together.

Reads the run alone. Files written for a cluster ask for what a cluster has. One machine can run
most of their tasks one after another, each cut down to fit; those of a gang have to fit together.
"""

from __future__ import annotations

from collections.abc import Sequence
from weakref import WeakKeyDictionary

from tiphys.control.placing import sum_of
from tiphys.engine.job import JobFrame, least_of
from tiphys.engine.node import Node
from tiphys.engine.run import Run
from tiphys.scheduling import Resources
from tiphys.scheduling.resource import NOTHING
from tiphys.spec import model
from tiphys.spec.model.volcano import JobSpec, JobTask

_KNOWN: WeakKeyDictionary[JobFrame, Resources] = WeakKeyDictionary()


def least_of_job(run: Run, job: Node) -> Resources:
    """What the pods of a Job ask for that run at once, or none does."""
    frame = run.frames.get(job.id)
    if not isinstance(frame, JobFrame):
        return NOTHING
    known = _KNOWN.get(frame)
    if known is None:
        known = _KNOWN[frame] = _least(frame.spec)
    return known


def number_of(pod: Node) -> int:
    """Which of its task's replicas a pod is: its name ends so."""
    number = pod.ours.pod.rpartition("-")[2]
    return int(number) if number.isdecimal() else 0


def _least(spec: JobSpec) -> Resources:
    # What waits for other tasks comes later, and is no member of the gang.
    first = [task for task in spec.tasks if task.depends_on is None]
    least = sum(map(least_of, first))
    if spec.min_available is not None:
        least = min(spec.min_available, sum(task.replicas for task in first))
    return _most([(_wants(task), task.replicas) for task in first], least)


def _wants(task: JobTask) -> Resources:
    pod = task.template.spec
    return sum_of(model.Template(sidecars=pod.containers, init_containers=pod.init_containers))


def _most(pods: Sequence[tuple[Resources, int]], count: int) -> Resources:
    """What ``count`` of the pods ask for at most, whichever they are."""
    total: dict[str, int] = {}
    for name in {name for wants, _ in pods for name in wants}:
        left = count
        for wants, replicas in sorted(pods, key=lambda pod: -pod[0].get(name)):
            total[name] = total.get(name, 0) + min(left, replicas) * wants.get(name)
            left -= min(left, replicas)
    return Resources(total)
