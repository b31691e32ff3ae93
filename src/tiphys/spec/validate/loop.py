"""Loops: withItems, withParam, withSequence.

A loop that is written out in the file is counted without being unrolled.
"""

from __future__ import annotations

from tiphys.spec.model import DAGTask, Sequence, WorkflowStep
from tiphys.spec.report import Report
from tiphys.spec.validate.language import check_whole
from tiphys.spec.validate.tags import Scope
from tiphys.spec.yaml import Path

MAX_FANOUT = 100_000


def check_loop(step: WorkflowStep | DAGTask, path: Path, scope: Scope, report: Report) -> None:
    """Check the loop of a step or task and make its ``item`` known."""
    kinds = {
        "withItems": bool(step.with_items),
        "withParam": bool(step.with_param),
        "withSequence": step.with_sequence is not None,
    }
    if sum(kinds.values()) > 1:
        report.add(path, "only one of withItems, withParam and withSequence can be given")
    if step.with_items:
        _check_items(step.with_items, (*path, "withItems"), scope, report)
    if step.with_param:
        scope.add("item")
        scope.open.add("item.")
    if step.with_sequence is not None:
        scope.add("item")
        _check_sequence(step.with_sequence, (*path, "withSequence"), report)


def is_loop(step: WorkflowStep | DAGTask) -> bool:
    """Tell whether a step or task becomes many nodes."""
    return bool(step.with_items or step.with_param or step.with_sequence is not None)


def _check_items(items: tuple[object, ...], path: Path, scope: Scope, report: Report) -> None:
    if len(items) > MAX_FANOUT:
        _too_many(len(items), path, report)
        return
    for index, item in enumerate(items):
        if isinstance(item, dict):
            scope.add(*(f"item.{key}" for key in item))
        elif isinstance(item, list):
            scope.add(*(f"item.[{place}]" for place in range(len(item))))
        elif item is None:
            report.add((*path, index), "an item may not be null")
        else:
            scope.add("item")


def _check_sequence(sequence: Sequence, path: Path, report: Report) -> None:
    if sequence.count is not None and sequence.end is not None:
        report.add(path, "give either 'count' or 'end', not both")
    elif sequence.count is None and sequence.end is None:
        report.add(path, "'count' or 'end' is required")
    for name in ("count", "start", "end"):
        check_whole(getattr(sequence, name), (*path, name), report)
    size = _size(sequence)
    if size > MAX_FANOUT:
        _too_many(size, path, report)


def _size(sequence: Sequence) -> int:
    """Count a sequence whose bounds are plain numbers; 0 for any other."""
    try:
        if sequence.count is not None:
            return int(sequence.count)
        return abs(int(sequence.end or "") - int(sequence.start or "0")) + 1
    except ValueError:
        return 0


def _too_many(count: int, path: Path, report: Report) -> None:
    message = f"the loop makes {count:,} nodes, at most {MAX_FANOUT:,} are allowed"
    report.add(path, message, code="fanout_limit")
