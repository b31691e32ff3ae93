"""How many children may be active at once.

``parallelism`` of the run and of a template, and ``failFast``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from tiphys.engine.node import Node
    from tiphys.engine.run import Run
    from tiphys.spec import model

FAIL_FAST = "template has failed or errored children and failFast enabled"


class Frame(Protocol):
    """What both kinds of frames have."""

    node: Node
    template: model.Template


def blocked(run: Run, frame: Frame) -> str:
    """Tell why no further child may start now; "" where one may."""
    limit = run.spec.parallelism
    if run.suspended:  # Only when it is restored: else nothing is looked at while it is.
        run.parked[frame] = None
        return "the run is suspended"
    if limit is not None and run.active_pods >= limit:
        run.parked[frame] = None
        return "the run's parallelism is reached"
    run.parked.pop(frame, None)
    counts = run.counts.get(frame.node.id)
    if counts is None:
        return ""
    if frame.template.fail_fast and counts.unsuccessful > 0:
        return FAIL_FAST
    most = frame.template.parallelism
    if most is not None and counts.children >= most:
        return "the template's parallelism is reached"
    return ""


def no_room(run: Run, boundary: Node | None) -> bool:
    """Whether a further attempt of a node below ``boundary`` must wait."""
    limit = run.spec.parallelism
    if run.suspended or (limit is not None and run.active_pods >= limit):
        return True
    if boundary is None or boundary.id not in run.frames:
        return False
    most = run.frames[boundary.id].template.parallelism
    return most is not None and run.counts[boundary.id].children >= most


def failed_fast(run: Run, frame: Frame) -> bool:
    """Whether the template must fail now: a child failed, and no pod of it is active any more."""
    counts = run.counts.get(frame.node.id)
    return bool(
        frame.template.fail_fast
        and counts is not None
        and counts.unsuccessful > 0
        and counts.pods == 0
    )
