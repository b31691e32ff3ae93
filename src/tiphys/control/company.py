"""Who has to run at the same time as a pod of a Volcano Job, for it to get anywhere.

Reads the run alone. Files written for a cluster ask for what a cluster has. One machine can run
most of their tasks one after another, each cut down to fit; those of a gang have to fit together,
and beside a server whoever asks it.
"""

from __future__ import annotations

from collections.abc import Sequence

from tiphys.control.placing import sum_of, wanted_by
from tiphys.engine.job import JobFrame, least_of
from tiphys.engine.node import Node
from tiphys.engine.run import Run
from tiphys.scheduling import Resources
from tiphys.scheduling.resource import NOTHING
from tiphys.spec import model
from tiphys.spec.model.volcano import JobTask


def least_of_job(run: Run, job: Node) -> Resources:
    """What the pods of a Job ask for that run at once, or none does."""
    frame = run.frames.get(job.id)
    if not isinstance(frame, JobFrame):
        return NOTHING
    spec = frame.spec
    pods = [(_wants(task), task.replicas, least_of(task)) for task in spec.tasks]
    if any(task.depends_on is not None for task in spec.tasks):
        # Who is depended on goes on running, and the others cannot do without.
        return sum((wants.scaled(max(1, least)) for wants, _, least in pods), NOTHING)
    count = sum(least for *_, least in pods) if spec.min_available is None else spec.min_available
    return _most([(wants, replicas) for wants, replicas, _ in pods], count)


def _wants(task: JobTask) -> Resources:
    pod = task.template.spec
    return sum_of(model.Template(sidecars=pod.containers, init_containers=pod.init_containers))


def _most(pods: Sequence[tuple[Resources, int]], count: int) -> Resources:
    """What ``count`` of the pods ask for at most."""
    total: dict[str, int] = {}
    for name in {name for wants, _ in pods for name in wants}:
        left = count
        for wants, replicas in sorted(pods, key=lambda pod: -pod[0].get(name)):
            total[name] = total.get(name, 0) + min(left, replicas) * wants.get(name)
            left -= min(left, replicas)
    return Resources(total)


def relied_on(run: Run, job: Node) -> Resources:
    """What the Jobs before this one ask for that still run: it waited only until they did."""
    before = [run.nodes[each] for each in job.ours.parents if each in run.nodes]
    jobs = dict.fromkeys(each for node in before for each in (node.id, node.boundary_id))
    frames = (frame for frame in map(run.frames.get, jobs) if isinstance(frame, JobFrame))
    pods = (node.id for frame in frames for node in frame.started_nodes())
    return sum(
        (wanted_by(run.leaves[each].template) for each in pods if each in run.leaves), NOTHING
    )
