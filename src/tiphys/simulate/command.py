"""What ``tiphys simulate`` does, without the command line: read, run, show.

The command line parses its options, calls ``simulate`` once for each plan, and prints what
``side_by_side`` gives.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as Collection
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tiphys.control.submit import read_files
from tiphys.core.duration import parse_duration_or_seconds
from tiphys.errors import InvalidInputError
from tiphys.scheduling import QueueTree, Resources
from tiphys.scheduling.estimate import History, key_of
from tiphys.scheduling.preset import fit
from tiphys.scheduling.queue import DEFAULT
from tiphys.scheduling.queue_file import read_queues, resources
from tiphys.simulate.gantt import gantt_json, gantt_svg, gantt_text, stacked_svg
from tiphys.simulate.machine import Machine, Outcome, Source
from tiphys.simulate.report import Report, changes, compare_text, report_text, summarize
from tiphys.simulate.run import Present, Tasks
from tiphys.simulate.task import Task, planned, read_trace
from tiphys.simulate.workflow import DEFAULT_SECONDS, Engines, runs_of
from tiphys.spec import yaml
from tiphys.spec.library import Library


@dataclass(frozen=True, slots=True)
class Simulation:
    """One plan, played through."""

    outcome: Outcome
    report: Report

    def text(self, *, width: int = 72) -> str:
        """Show it to a person."""
        return f"{report_text(self.report)}\n\n{gantt_text(self.outcome, width=width)}"

    def to_dict(self) -> dict[str, Any]:
        """Give it as plain data."""
        return {"report": self.report.to_dict(), "gantt": gantt_json(self.outcome)}

    def json(self) -> str:
        """Give it as JSON."""
        return json.dumps(self.to_dict(), indent=2)

    def svg(self) -> str:
        """Give the picture."""
        return gantt_svg(self.outcome)


def parse_capacity(text: str) -> Resources:
    """Read ``cpu=16,memory=64Gi``."""
    amounts: dict[str, str] = {}
    for part in text.split(","):
        name, equals, amount = part.strip().partition("=")
        if not equals or not name or not amount:
            raise InvalidInputError(f"capacity {part!r}: name=amount is expected, as in cpu=16")
        amounts["memory" if name == "mem" else name] = amount
    found = resources(amounts, "capacity: ")
    for kind, has in found.items:
        if has <= 0:
            raise InvalidInputError(f"capacity: {kind}: a machine has more than {amounts[kind]}")
    return found


def load_queues(path: Path, capacity: Resources) -> tuple[QueueTree, str]:
    """Read a queue plan, fitted to the machine; with one warning where it had to shrink."""
    try:
        text = path.read_bytes()
    except OSError as error:
        raise InvalidInputError(f"{path}: {error.strerror or error}") from error
    values = [document.value for document in yaml.load(text, file=str(path))]
    try:
        tree = read_queues(values[0] if len(values) == 1 else values)
    except InvalidInputError as error:
        raise InvalidInputError(f"{path}: {error}") from error
    return fit(tree, capacity)


@dataclass(frozen=True, slots=True)
class Trace:
    """A recorded execution, the queue it goes to and when it arrives."""

    path: Path
    queue: str = DEFAULT
    at: float = 0.0


def parse_trace(text: str) -> Trace:
    """Read ``t.json``, ``t.json,queue=batch`` or ``t.json,queue=batch,at=10m``."""
    path, *options = text.split(",")
    found = Trace(Path(path))
    for option in options:
        key, _, value = option.partition("=")
        if key == "queue" and value:
            found = replace(found, queue=value)
        elif key == "at" and value:
            found = replace(found, at=parse_duration_or_seconds(value))
            if found.at < 0:
                raise InvalidInputError(f"trace {text!r}: nothing arrives before the beginning")
        else:
            raise InvalidInputError(f"trace {text!r}: {option!r} is neither queue=… nor at=…")
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What is to be run: workflows with what is expected of them, and recorded executions."""

    files: Sequence[tuple[str, bytes]] = ()
    traces: Sequence[Trace] = ()
    parameters: Mapping[str, str] = field(default_factory=dict)
    history: History | None = None
    known_seconds: Mapping[str, float] = field(default_factory=dict)
    """What templates take, by their keys without a project: that of the workflow, whichever."""
    default_seconds: float = DEFAULT_SECONDS
    queue: str = ""
    """Of all workflows, whatever they say; "" for their own."""
    priority: int | None = None
    library: Library | None = None
    """JobTemplates that flows may be made of."""
    present: Sequence[Task] = ()
    """What is there already and comes first; it takes room and is left out of the report."""


def simulate(capacity: Resources, load: Load, queues: QueueTree | None = None) -> Simulation:
    """Play workflows and recorded executions on an imagined machine."""
    if not load.files and not load.traces:
        raise InvalidInputError("there is nothing to simulate: give workflow files or traces")
    leaves = (queues or QueueTree.default()).leaves()
    for trace in load.traces:
        if trace.queue not in leaves:
            raise InvalidInputError(f"trace {trace.path}: no queue {trace.queue!r} takes work")
    machine = Machine(capacity, queues)
    sources: list[Source] = [Present(load.present, machine)] if load.present else []
    if load.files:
        bundle = read_files(load.files, load.library)
        runs = runs_of(bundle, load.parameters, queue=load.queue, priority=load.priority)
        if not runs:
            raise InvalidInputError("there is no Workflow in these files")
        history = load.history or _history(load.known_seconds, {run.namespace for run in runs})
        sources.append(Engines(runs, machine, history, load.default_seconds))
    if load.traces:
        sources.append(Tasks(_tasks(load.traces, capacity), machine))
    outcome = machine.run(*sources)
    forget(outcome, {task.id for task in load.present})
    return Simulation(outcome, summarize(outcome))


def _history(seconds: Mapping[str, float], projects: Collection[str]) -> History:
    known = ((name, project, took) for name, took in seconds.items() for project in projects)
    return History({key_of(name, project=project): [took] for name, project, took in known})


def forget(outcome: Outcome, ids: Collection[str]) -> None:
    """Take works out of an outcome, as if nobody had seen them."""
    for known in (outcome.records, outcome.stuck):
        for work_id in ids & known.keys():
            del known[work_id]
    outcome.preemptions = [
        (at, each) for at, each in outcome.preemptions if not {each.victim, each.beneficiary} & ids
    ]
    outcome.warnings = [w for w in outcome.warnings if w.partition(" ")[0] not in ids]


def _tasks(traces: Sequence[Trace], capacity: Resources) -> list[Task]:
    """Read traces; one that is given more than once counts as several workflows."""
    found: list[Task] = []
    seen: Counter[str] = Counter()
    for trace in traces:
        tasks = planned(read_trace(trace.path, queue=trace.queue, arrives_at=trace.at), capacity)
        name = tasks[0].workflow if tasks else ""
        seen[name] += 1
        found += tasks if seen[name] == 1 else [_copy(task, seen[name]) for task in tasks]
    return found


def _copy(task: Task, number: int) -> Task:
    mark = f"#{number}"
    return replace(
        task,
        id=task.id + mark,
        workflow=task.workflow + mark,
        parents=tuple(parent + mark for parent in task.parents),
    )


def side_by_side(plans: Sequence[tuple[str, Simulation]], form: str, *, width: int = 72) -> str:
    """Show one plan, or compare two; ``form`` is ``text``, ``json`` or ``svg``."""
    if form == "svg":
        names = [(name if len(plans) > 1 else "", plan.outcome) for name, plan in plans]
        return stacked_svg(names)
    if len(plans) == 1:
        plan = plans[0][1]
        return plan.json() if form == "json" else plan.text(width=width)
    (left, one), (right, two) = plans
    if form == "json":
        shown = [{"name": name, **plan.to_dict()} for name, plan in plans]
        both = {"plans": shown, "change": changes(one.report, two.report)}
        return json.dumps(both, indent=2)
    charts = [f"{name}\n{gantt_text(plan.outcome, width=width)}" for name, plan in plans]
    return "\n\n".join([compare_text(one.report, two.report, (left, right)), *charts])
