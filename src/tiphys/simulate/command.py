"""What ``tiphys simulate`` does, without the command line: read, run, show.

The command line parses its options, calls ``simulate`` once for each plan, and prints.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tiphys.errors import InvalidInputError
from tiphys.scheduling import QueueTree, Resources
from tiphys.scheduling.estimate import History
from tiphys.scheduling.preset import fit
from tiphys.scheduling.queue_file import read_queues, resources
from tiphys.simulate.gantt import gantt_json, gantt_svg, gantt_text
from tiphys.simulate.report import Report, report_text, summarize
from tiphys.simulate.run import Outcome, run
from tiphys.simulate.task import planned, read_trace
from tiphys.simulate.workflow import DEFAULT_SECONDS, run_workflows, runs_of
from tiphys.spec.parse import parse_files


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
    return resources(amounts, "capacity: ")


def load_queues(path: Path, capacity: Resources) -> tuple[QueueTree, str]:
    """Read a queue plan, fitted to the machine; with one warning where it had to shrink."""
    try:
        documents = list(yaml.safe_load_all(path.read_text(encoding="utf-8")))
    except yaml.YAMLError as error:
        raise InvalidInputError(f"{path}: {error}") from error
    return fit(read_queues(documents[0] if len(documents) == 1 else documents), capacity)


def simulate(
    capacity: Resources,
    *,
    files: Sequence[Path] = (),
    traces: Sequence[Path] = (),
    queues: QueueTree | None = None,
    history: History | None = None,
    default_seconds: float = DEFAULT_SECONDS,
) -> Simulation:
    """Play workflow files, or recorded executions, on an imagined machine."""
    if bool(files) == bool(traces):
        raise InvalidInputError("give workflow files or traces, one of the two")
    if traces:
        tasks = [task for path in traces for task in planned(read_trace(path), capacity)]
        outcome = run(tasks, capacity, queues)
    else:
        bundle = parse_files([(str(path), path.read_bytes()) for path in files])
        bundle.raise_errors()
        outcome = run_workflows(
            runs_of(bundle), capacity, queues, history=history, default_seconds=default_seconds
        )
    return Simulation(outcome, summarize(outcome))
