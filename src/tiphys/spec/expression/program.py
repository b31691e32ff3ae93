"""A compiled expr-lang expression.

``compile_expression`` parses once; ``Program.evaluate`` checks the types against the environment
(once per combination of types) and runs. This is the only door to the interpreter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from tiphys.spec.expression import syntax
from tiphys.spec.expression.checker import check
from tiphys.spec.expression.fault import MAX_DEPTH, Fault, LimitFault
from tiphys.spec.expression.function import ARGO_FUNCTIONS
from tiphys.spec.expression.host import DEFAULT_HOST, Host
from tiphys.spec.expression.interpreter import build
from tiphys.spec.expression.nature import ABSENT, Nature, nature_of
from tiphys.spec.expression.parser import parse
from tiphys.spec.expression.regex import shared_budget
from tiphys.spec.expression.run import Run, Step

_GIVEN = frozenset(ARGO_FUNCTIONS) | {"$env"}


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """An expression, ready to run. Immutable but for its memory of passed checks."""

    text: str
    variables: frozenset[str]
    """Top-level names it uses, without functions and its own ``let`` names."""
    paths: frozenset[tuple[str, ...]]
    """Member chains it uses: ``("steps", "a", "outputs", "result")``."""
    order: tuple[tuple[str, ...], ...] = field(repr=False)
    """The same paths in the order in which expr-lang's walk meets them."""
    tree: syntax.Node = field(repr=False)
    step: Step = field(repr=False)
    names: tuple[str, ...] = field(repr=False)
    """All names it uses or declares; what the environment holds of others does not matter."""
    checked: set[tuple[Nature, ...]] = field(repr=False, default_factory=set)

    def evaluate(self, env: Mapping[str, object], host: Host = DEFAULT_HOST) -> object:
        """Run with ``env``, nested maps of values; Argo's functions are there besides."""
        environment = {**ARGO_FUNCTIONS, **env}
        try:
            self._check(environment)
            with shared_budget():
                return self.step(Run(environment, host))
        except Fault as fault:
            raise fault.error(self.text) from None
        except RecursionError:
            raise LimitFault("data is nested too deeply").error(self.text) from None

    def _check(self, environment: Mapping[str, object]) -> None:
        shape = tuple(
            nature_of(environment[name]) if name in environment else ABSENT for name in self.names
        )
        if shape in self.checked:
            return
        known = {name: nature_of(environment[name]) for name in self.names if name in environment}
        check(self.tree, known)
        self.checked.add(shape)


@lru_cache(maxsize=4096)
def compile_expression(text: str) -> Program:
    """Parse ``text``; ``ExpressionError`` tells the place of a mistake."""
    try:
        tree = parse(text)
        names, declared, paths = _references(tree)
        order = tuple(path for path in paths if path[0] not in _GIVEN)
        return Program(
            text=text,
            variables=frozenset(name for name in names if name not in _GIVEN),
            paths=frozenset(order),
            order=order,
            tree=tree,
            step=build(tree),
            names=tuple(sorted((names | declared) - {"$env"})),
        )
    except Fault as fault:
        raise fault.error(text) from None
    except RecursionError:
        message = f"expression is nested deeper than {MAX_DEPTH} levels"
        raise LimitFault(message).error(text) from None


def _references(tree: syntax.Node) -> tuple[set[str], set[str], list[tuple[str, ...]]]:
    """Give the names used, those declared, and the member chains from the leaves up."""
    paths: dict[tuple[str, ...], None] = {}
    visited: list[tuple[syntax.Node, frozenset[str]]] = []
    waiting: list[tuple[syntax.Node, frozenset[str]]] = [(tree, frozenset())]
    while waiting:
        node, local = waiting.pop()
        visited.append((node, local))
        if isinstance(node, syntax.Let):
            waiting.extend([(node.value, local), (node.body, local | {node.name})])
        else:
            waiting.extend((below, local) for below in syntax.children(node))
    for node, local in reversed(visited):
        path = member_path(node)
        if path is not None and path[0] not in local:
            paths[path] = None
    declared = {node.name for node, _ in visited if isinstance(node, syntax.Let)}
    return {path[0] for path in paths}, declared, list(paths)


def member_path(node: syntax.Node) -> tuple[str, ...] | None:
    """Give the keys of ``a.b['c']``, or None where one is not a constant string."""
    parts: list[str] = []
    while isinstance(node, syntax.Member):
        key = node.key
        if not isinstance(key, syntax.Literal) or not isinstance(key.value, str):
            return None
        parts.append(key.value)
        node = node.base
    if not isinstance(node, syntax.Name):
        return None
    parts.append(node.name)
    return tuple(reversed(parts))
