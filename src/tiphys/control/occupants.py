"""Which workflows are in the queues of this machine, and which will come to them.

Reads runs, those of a host or stored ones. What runs on a cluster waits in the cluster's queues and
is in none of ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import msgspec

from tiphys.control.choice import has_fallen_back
from tiphys.control.task import scheduler_of
from tiphys.engine.run import Run
from tiphys.errors import TiphysError
from tiphys.ports import LOCAL
from tiphys.scheduling import Scheduler
from tiphys.scheduling.admission import QUEUE_KEYS, queue_of
from tiphys.scheduling.occupancy import Guest, Occupancy
from tiphys.scheduling.queue import DEFAULT
from tiphys.spec import model
from tiphys.spec.library import Library
from tiphys.store import WorkflowRow


def occupancy_of(scheduler: Scheduler, runs: Iterable[Run]) -> Occupancy:
    """Count the live ones among ``runs`` by queue."""
    return Occupancy(scheduler, (_guest(run) for run in runs if _is_here(run)))


class Scene(msgspec.Struct, frozen=True):
    """What goes on in the queues: the workflows, and where a host is up, its scheduler."""

    runs: Callable[[], Iterable[Run]] = tuple
    scheduler: Scheduler | None = None

    def occupancy(self) -> Occupancy | None:
        """Count workflows by queue; None where no host could tell what waits and what runs."""
        return None if self.scheduler is None else occupancy_of(self.scheduler, self.runs())

    def present(self, queue: str) -> set[str]:
        """Find the unfinished workflows of which work is in a queue, or will come to it."""
        bound, occupancy = bound_for(queue, self.runs()), self.occupancy()
        return bound if occupancy is None else bound | occupancy.present(queue)


def _is_here(run: Run) -> bool:
    return not run.ended and scheduler_of(run) == LOCAL


def _guest(run: Run) -> Guest:
    return Guest(run.uid, home_of(run), begun=run.started_at is not None)


def home_of(run: Run) -> str:
    """Give the queue of a run's nodes that name none themselves."""
    if has_fallen_back(run.annotations):
        return DEFAULT
    pods = run.spec.pod_metadata or model.Metadata()
    return queue_of({**pods.labels, **run.labels}, {**pods.annotations, **run.annotations})


def bound_for(queue: str, runs: Iterable[Run]) -> set[str]:
    """Find the live runs that name ``queue``: for themselves, or for nodes there are or will be."""
    found = set()
    for run in runs:
        if not _is_here(run) or has_fallen_back(run.annotations):
            continue
        if queue == home_of(run) or queue in _named(run.spec, run.library, run.namespace):
            found.add(run.uid)
    return found


def stored_runs(rows: Iterable[WorkflowRow]) -> Iterator[Run]:
    """Read runs without their nodes; those that nobody can read will never come to a queue."""
    from tiphys.control.recover import load  # noqa: PLC0415 - not for the runs of a host

    for row in rows:
        try:
            yield load(row)
        except (msgspec.MsgspecError, TiphysError, KeyError, ValueError, AssertionError):
            continue


def _named(spec: model.WorkflowSpec, library: Library, namespace: str) -> set[str]:
    """Collect the queues that templates name, those of other files that they refer to included."""
    found: set[str] = set()
    seen: set[tuple[str, bool]] = set()
    left: list[model.WorkflowSpec] = [spec]
    while left:
        for mapping in _mappings(msgspec.to_builtins(left.pop())):
            found.update(str(mapping[key]) for key in QUEUE_KEYS if mapping.get(key))
            job, ref = mapping.get("volcanoJob"), mapping.get("templateRef")
            if isinstance(job, dict) and job.get("queue"):
                found.add(str(job["queue"]))
            if isinstance(ref, dict):
                key = (str(ref.get("name", "")), bool(ref.get("clusterScope")))
                other = library.spec(key[0], cluster_scope=key[1], namespace=namespace)
                if key not in seen and other is not None:
                    left.append(other)
                seen.add(key)
    return found


def _mappings(value: Any) -> Iterator[Mapping[str, Any]]:
    """Give every mapping inside of plain data."""
    left = [value]
    while left:
        each = left.pop()
        if isinstance(each, dict):
            yield each
            left.extend(each.values())
        elif isinstance(each, list | tuple):
            left.extend(each)
