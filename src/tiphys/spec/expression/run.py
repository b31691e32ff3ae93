"""One evaluation: its environment, its host, and the budget that bounds it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from tiphys.spec.expression import syntax
from tiphys.spec.expression.fault import MAX_STEPS, LimitFault, check_text
from tiphys.spec.expression.host import Host
from tiphys.spec.expression.value import Value, weigh

_TEXT_PER_STEP = 256
_PARTS_PER_STEP = 8


@dataclass(slots=True)
class Scope:
    """One turn of a predicate."""

    item: Value = None
    index: int = 0
    accumulated: Value = None


@dataclass(slots=True)
class Run:
    """One evaluation."""

    environment: Mapping[str, Value]
    host: Host
    steps: int = 0
    variables: dict[str, Value] = field(default_factory=dict)
    scopes: list[Scope] = field(default_factory=list)

    def charge(self, steps: int) -> None:
        """Pay for work that grows with the data."""
        self.steps += steps
        if self.steps > MAX_STEPS:
            raise LimitFault(f"expression takes more than {MAX_STEPS} steps")

    def bounded(self, result: Value) -> Value:
        """Pay for what an operator or a function made."""
        if isinstance(result, str):
            if len(result) >= _TEXT_PER_STEP:
                self.charge(len(check_text(result)) // _TEXT_PER_STEP)
        elif isinstance(result, (list, dict)):
            self.charge(len(result))
            if _nests(result):
                self.walk(result)
        return result

    def walk(self, value: Value) -> None:
        """Pay for going through all of a value."""
        if isinstance(value, str):
            self.charge(len(value) // _TEXT_PER_STEP)
        elif isinstance(value, (list, dict)):
            self.charge(weigh(value) // _PARTS_PER_STEP)


def _nests(value: list[Value] | dict[Value, Value]) -> bool:
    parts = value.values() if isinstance(value, dict) else value
    return any(isinstance(part, (list, dict)) for part in parts)


Step: TypeAlias = Callable[[Run], Value]
"""A node, made into a function of the run."""
Build: TypeAlias = Callable[[syntax.Node, frozenset[str]], Step]
"""What makes one; the names are those declared with ``let`` around the node."""
