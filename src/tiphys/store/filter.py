"""From a `WorkflowFilter` to the WHERE of a list. Pieces of text are ours; values are bound."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from tiphys.store.row import FINISHED, WorkflowFilter

if TYPE_CHECKING:
    from tiphys.store.selector import Requirement

Piece = tuple[str, list[object]]

PHASE_LABEL = "workflows.argoproj.io/phase"
COMPLETED_LABEL = "workflows.argoproj.io/completed"


class Clause(msgspec.Struct, frozen=True):
    """What comes behind ``FROM workflows w``, and the columns to put the list in order by."""

    text: str
    values: list[object]
    at: str = "w.created_at"
    number: str = "w.number"
    label: str = ""
    """The condition on the label that drives the list (``labels t``); its values come first."""
    rest: str = ""
    """What else is asked of the workflows of that label."""

    @property
    def keys(self) -> str:
        """Give the FROM and WHERE for those who want no more than to count, or ``at`` and
        ``number``."""
        if self.label and not self.rest:
            return f" FROM labels t WHERE {self.label}"
        return f" FROM workflows w{self.text}"


def where(wanted: WorkflowFilter, narrow: Piece | None = None) -> Clause:
    """Give the joins and conditions of a list; ``narrow`` is one more that follows from the name.

    The first label with one wanted value drives the list: its rows come in the order of creation.
    """
    requirements = _requirements(wanted.label_selector)
    driver = next((r for r in requirements if _drives(r)), None)
    pieces = _columns(wanted)
    pieces += [narrow] if narrow else []
    pieces += [_label(requirement) for requirement in requirements if requirement is not driver]
    if driver is not None and driver.values is not None:
        pieces.insert(0, ("t.name = ? AND t.value = ?", [driver.name, *driver.values]))
    text = " AND ".join(text for text, _ in pieces)
    text = f" WHERE {text}" if text else ""
    values = [value for _, values in pieces for value in values]
    if driver is not None:
        text = f" JOIN labels t ON t.workflow = w.number{text}"
    if narrow is not None:
        # SQLite's words: the few numbers are looked up, and no index is walked beside them.
        text = f" NOT INDEXED{text}"
    if wanted.finished_before is not None:
        return Clause(text, values, "w.finished_at")
    if driver is None:
        return Clause(text, values)
    label, *rest = (piece for piece, _ in pieces)
    return Clause(text, values, "t.created_at", "t.workflow", label, " AND ".join(rest))


def arms(wanted: WorkflowFilter) -> list[WorkflowFilter]:
    """Split a list by phases: each part is in order by an index, and together they are merged."""
    phases = wanted.phases
    if wanted.finished_before is not None and not phases:
        phases = FINISHED  # No other has an end.
    if wanted.label_selector or len(phases) < 2:
        return [wanted]
    return [msgspec.structs.replace(wanted, phases=(phase,)) for phase in dict.fromkeys(phases)]


def tallied(wanted: WorkflowFilter) -> Clause | None:
    """Give the conditions on ``tallies`` that count a list; None where they do not suffice."""
    plain = WorkflowFilter(phases=wanted.phases, namespace=wanted.namespace, queue=wanted.queue)
    if wanted != plain:
        return None
    clause = where(plain)
    return Clause(clause.text.replace("w.", "t."), clause.values)


def _requirements(selector: str) -> list[Requirement]:
    if not selector:
        return []
    from tiphys.store.selector import parse_selector  # noqa: PLC0415 - most lists have none

    return list(parse_selector(selector))


def _drives(requirement: Requirement) -> bool:
    special = requirement.name in {PHASE_LABEL, COMPLETED_LABEL}
    one = requirement.values is not None and len(requirement.values) == 1
    return requirement.wanted and one and not special


def _columns(wanted: WorkflowFilter) -> list[Piece]:
    pieces: list[Piece] = []
    simple = (
        ("w.namespace = ?", wanted.namespace or None),
        ("w.queue = ?", wanted.queue or None),
        ("w.created_at >= ?", wanted.since),
        ("w.created_at < ?", wanted.before),
        ("w.finished_at < ?", wanted.finished_before),
        ("w.finished_at > ?", wanted.finished_after),
    )
    pieces += [(text, [value]) for text, value in simple if value is not None]
    if wanted.phases:
        pieces.append(_among("w.phase", wanted.phases))
    if wanted.name_contains:
        pieces.append(("w.name LIKE ? ESCAPE '\\'", [f"%{_escape(wanted.name_contains.lower())}%"]))
    return pieces


def _escape(text: str) -> str:
    for special in ("\\", "%", "_"):
        text = text.replace(special, "\\" + special)
    return text


def _among(column: str, values: tuple[str, ...], *, wanted: bool = True) -> Piece:
    marks = ", ".join("?" * len(values))
    return f"{column} {'IN' if wanted else 'NOT IN'} ({marks})", list(values)


def _label(requirement: Requirement) -> Piece:
    if requirement.name == PHASE_LABEL:
        return _phase_label(requirement)
    if requirement.name == COMPLETED_LABEL:
        return _completed_label(requirement)
    if requirement.wanted and requirement.values is not None:
        # The label finds its workflows: the cost is that of the matches, not of the list.
        among, values = _among("l.value", requirement.values)
        text = f"w.number IN (SELECT l.workflow FROM labels l WHERE l.name = ? AND {among})"
        return text, [requirement.name, *values]
    text, values = "l.workflow = w.number AND l.name = ?", [requirement.name]
    if requirement.values is not None:
        among, more = _among("l.value", requirement.values)
        text, values = f"{text} AND {among}", values + more
    negation = "" if requirement.wanted else "NOT "
    return f"{negation}EXISTS (SELECT 1 FROM labels l WHERE {text})", values


def _phase_label(requirement: Requirement) -> Piece:
    """Argo writes the phase as a label too; here it is the column."""
    if requirement.values is None:
        return f"w.phase {'<>' if requirement.wanted else '='} ''", []
    return _among("w.phase", requirement.values, wanted=requirement.wanted)


def _completed_label(requirement: Requirement) -> Piece:
    if requirement.values is None:
        return f"w.phase {'<>' if requirement.wanted else '='} ''", []
    holds = {"true": FINISHED, "false": ("Pending", "Running")}
    phases = [phase for value in requirement.values for phase in holds.get(value, ())]
    return _among("w.phase", tuple(phases) or ("-",), wanted=requirement.wanted)
