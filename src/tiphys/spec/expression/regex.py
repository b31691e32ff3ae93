"""Matching of Go's regular expressions in time linear in the text.

Python's ``re`` tries one way after the other, so a pattern such as ``(a+)+$`` can hold the engine
for hours; a pattern and a text both come from users here. So the program of ``pattern`` is run as
a set of threads, all at once, one character at a time (Thompson, Pike). Where only yes or no is
asked, sets of threads are remembered as states, which makes most steps one look-up.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import lru_cache

from tiphys.spec.expression.fault import LimitFault
from tiphys.spec.expression.pattern import Compiled, compile_pattern

__all__ = ["Match", "compile_pattern", "find", "find_all", "matches", "shared_budget"]

MAX_WORK = 1_500_000
"""Thread steps of one evaluation, over all its searches: under a second."""
_MAX_STATES = 5_000

Threads = tuple[int, ...]
Context = tuple[str, str]
"""The kind of the character before and after a position."""


@dataclass(slots=True)
class _Budget:
    left: int = MAX_WORK

    def spend(self, work: int) -> None:
        self.left -= work
        if self.left < 0:
            raise LimitFault(f"regular expressions take more than {MAX_WORK} steps")


_BUDGET: ContextVar[_Budget | None] = ContextVar("regex_budget", default=None)


@contextmanager
def shared_budget() -> Iterator[None]:
    """Bound the work of all searches inside together, not of each alone."""
    token = _BUDGET.set(_Budget())
    try:
        yield
    finally:
        _BUDGET.reset(token)


@dataclass(slots=True)
class _Machine:
    compiled: Compiled
    closures: dict[tuple[Threads, Context], tuple[Threads, bool]] = field(default_factory=dict)
    moves: dict[tuple[Threads, str], Threads] = field(default_factory=dict)


@lru_cache(maxsize=256)
def _machine(text: str) -> _Machine:
    return _Machine(compile_pattern(text))


def matches(pattern: str, text: str) -> bool:
    """Tell whether ``pattern`` matches somewhere in ``text``."""
    machine = _machine(pattern)
    threads: Threads = ()
    budget = _BUDGET.get() or _Budget()
    before = ""
    for position in range(len(text) + 1):
        character = text[position : position + 1]
        if 0 not in threads:
            threads = (*threads, 0)
        takers, accepted = _closed(machine, threads, (_kind(before), _kind(character)))
        if accepted:
            return True
        if not character:
            break
        threads, cost = _moved(machine, takers, character)
        budget.spend(cost)
        before = character
    return False


def _kind(character: str) -> str:
    if not character:
        return "edge"
    if character == "\n":
        return "line"
    return "word" if character.isascii() and (character.isalnum() or character == "_") else ""


def _closed(machine: _Machine, threads: Threads, context: Context) -> tuple[Threads, bool]:
    """Follow all that takes no character; give the instructions that take one."""
    key = (threads, context)
    known = machine.closures.get(key)
    if known is not None:
        return known
    ops = machine.compiled.ops
    seen: set[int] = set()
    takers: list[int] = []
    accepted = False
    waiting = list(reversed(threads))
    while waiting:
        at = waiting.pop()
        if at in seen:
            continue
        seen.add(at)
        op = ops[at]
        if op.kind == "take":
            takers.append(at)
        elif op.kind == "accept":
            accepted = True
        else:
            waiting.extend(reversed(_next(op.kind, op.first, op.second, op.name, at, context)))
    if len(machine.closures) > _MAX_STATES:
        machine.closures.clear()
    machine.closures[key] = (tuple(takers), accepted)
    return tuple(takers), accepted


def _next(kind: str, first: int, second: int, name: str, at: int, context: Context) -> Threads:
    if kind == "split":
        return (at + first, at + second)
    if kind == "jump":
        return (at + first,)
    if kind == "assert" and not _holds(name, context):
        return ()
    return (at + 1,)


def _holds(name: str, context: Context) -> bool:
    before, after = context
    if name == "start":
        return before == "edge"
    if name == "end":
        return after == "edge"
    if name == "line start":
        return before in {"edge", "line"}
    if name == "line end":
        return after in {"edge", "line"}
    return ((before == "word") != (after == "word")) == (name == "word")


def _moved(machine: _Machine, takers: Threads, character: str) -> tuple[Threads, int]:
    key = (takers, character)
    known = machine.moves.get(key)
    if known is not None:
        return known, 1
    ops = machine.compiled.ops
    moved = tuple(
        at + 1 for at in takers if (chars := ops[at].chars) is not None and chars.has(character)
    )
    if len(machine.moves) > _MAX_STATES:
        machine.moves.clear()
    machine.moves[key] = moved
    return moved, len(takers) + 1


@dataclass(frozen=True, slots=True)
class Match:
    """Where a pattern matched: the positions of the whole and of each group (-1: not taken)."""

    places: tuple[int, ...]
    names: tuple[str, ...]

    @property
    def start(self) -> int:
        """Where the match begins."""
        return self.places[0]

    @property
    def end(self) -> int:
        """Where the match ends."""
        return self.places[1]


@dataclass(slots=True)
class _Thread:
    at: int
    places: tuple[int, ...]


def find(pattern: str, text: str) -> Match | None:
    """Find the leftmost match, preferring as Perl does."""
    return _find_from(pattern, text, 0, _BUDGET.get() or _Budget())


def _find_from(pattern: str, text: str, start: int, budget: _Budget) -> Match | None:
    compiled = compile_pattern(pattern)
    ops = compiled.ops
    empty = (-1,) * (2 * len(compiled.groups))
    current: list[_Thread] = []
    found: tuple[int, ...] | None = None
    for position in range(start, len(text) + 1):
        character = text[position : position + 1]
        context = (_kind(text[position - 1 : position] if position else ""), _kind(character))
        if found is None:
            current.append(_Thread(0, empty))
        elif not current:
            break
        following: list[_Thread] = []
        ready = _follow(compiled, current, position, context)
        # Threads that carry positions cost more than remembered states.
        budget.spend(4 * len(ready) + 4)
        for thread in ready:
            op = ops[thread.at]
            if op.kind == "accept":
                # Threads behind this one are of lower preference: they end here.
                found = thread.places
                break
            if character and op.chars is not None and op.chars.has(character):
                following.append(_Thread(thread.at + 1, thread.places))
        current = following
    return None if found is None else Match(found, compiled.groups)


def _follow(
    compiled: Compiled, threads: list[_Thread], position: int, context: Context
) -> list[_Thread]:
    ready: list[_Thread] = []
    seen: set[int] = set()
    waiting = list(reversed(threads))
    while waiting:
        thread = waiting.pop()
        if thread.at in seen:
            continue
        seen.add(thread.at)
        op = compiled.ops[thread.at]
        if op.kind in {"take", "accept"}:
            ready.append(thread)
        elif op.kind == "save":
            places = (*thread.places[: op.first], position, *thread.places[op.first + 1 :])
            waiting.append(_Thread(thread.at + 1, places))
        else:
            targets = _next(op.kind, op.first, op.second, op.name, thread.at, context)
            waiting.extend(_Thread(at, thread.places) for at in reversed(targets))
    return ready


def find_all(pattern: str, text: str, limit: int = -1) -> list[Match]:
    """Find all matches that do not overlap; an empty one right after a match does not count."""
    found: list[Match] = []
    position, last_end = 0, -1
    budget = _BUDGET.get() or _Budget()
    while position <= len(text) and (limit < 0 or len(found) < limit):
        match = _find_from(pattern, text, position, budget)
        if match is None:
            break
        if match.end > match.start:
            position = match.end
        elif match.start == last_end:
            position = match.end + 1
            last_end = match.end
            continue
        else:
            position = match.end + 1
        found.append(match)
        last_end = match.end
    return found
