"""The builtins that run a predicate for each element: filter, map, reduce and their kin."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tiphys.spec.expression import builtin, syntax, value
from tiphys.spec.expression.fault import Fault
from tiphys.spec.expression.gostring import encode
from tiphys.spec.expression.run import Build, Run, Scope, Step
from tiphys.spec.expression.value import Groups, Value, to_bool

Body = Callable[[Value, int], Value]
Builder = Callable[[syntax.Builtin, frozenset[str], Build], Step]


def _items(run: Run, source: Step, node: syntax.Builtin) -> list[Value]:
    items = source(run)
    if isinstance(items, list):
        return items
    if isinstance(items, str):
        # Go counts the bytes of a string as its elements.
        return list(encode(items))
    if isinstance(items, dict):
        if not items:
            return []
        raise Fault("reflect: call of reflect.Value.Index on map Value", node.position)
    kind = {"invalid": "zero"}.get(builtin.kind_name(items), builtin.kind_name(items))
    raise Fault(f"reflect: call of reflect.Value.Len on {kind} Value", node.position)


@contextmanager
def _scope(run: Run, cost: int, body: Step) -> Iterator[tuple[Scope, Body]]:
    scope = Scope()
    run.scopes.append(scope)

    def turn(item: Value, index: int) -> Value:
        run.charge(cost)
        scope.item, scope.index = item, index
        return body(run)

    try:
        yield scope, turn
    finally:
        run.scopes.pop()


def _size(node: syntax.Node) -> int:
    """Give the price of one turn: a step for every four nodes of the predicate.

    Predicates inside do not count: they pay for their own turns.
    """
    total, waiting = 0, [node]
    while waiting:
        one = waiting.pop()
        total += 1
        below = syntax.children(one)
        waiting.extend(each for each in below if not isinstance(each, syntax.Predicate))
    return max(total // 4, 1)


Loop = Callable[[list[Value], Body], Value]


def _simple(loop: Loop) -> Builder:
    """Build a function of a list and one predicate, which may be left out as identity."""

    def builder(node: syntax.Builtin, local: frozenset[str], build: Build) -> Step:
        source = build(node.arguments[0], local)
        if len(node.arguments) == 1:
            return lambda run: loop(_items(run, source, node), lambda item, _: item)
        body, cost = build(node.arguments[1], local), _size(node.arguments[1])

        def step(run: Run) -> Value:
            items = _items(run, source, node)
            with _scope(run, cost, body) as (_, turn):
                try:
                    return run.bounded(loop(items, turn))
                except Fault as fault:
                    raise fault.at(node.position) from None

        return step

    return builder


def _kept(items: list[Value], turn: Body) -> Iterator[tuple[int, Value]]:
    return ((at, item) for at, item in enumerate(items) if to_bool(turn(item, at)))


def _kept_backwards(items: list[Value], turn: Body) -> Iterator[tuple[int, Value]]:
    places = range(len(items) - 1, -1, -1)
    return ((at, items[at]) for at in places if to_bool(turn(items[at], at)))


def _one(items: list[Value], turn: Body) -> bool:
    return sum(1 for _ in _kept(items, turn)) == 1


def _sum(items: list[Value], turn: Body) -> Value:
    total: Value = 0
    for at, item in enumerate(items):
        total = value.add(total, turn(item, at))
    return total


def _group(items: list[Value], turn: Body) -> Groups:
    groups = Groups()
    for at, item in enumerate(items):
        groups.setdefault(builtin.hashable(turn(item, at)), []).append(item)
    return groups


def _sort_by(node: syntax.Builtin, local: frozenset[str], build: Build) -> Step:
    source, body = build(node.arguments[0], local), build(node.arguments[1], local)
    cost = _size(node.arguments[1])
    order = build(node.arguments[2], local) if len(node.arguments) > 2 else None

    def step(run: Run) -> Value:
        items = _items(run, source, node)
        direction = order(run) if order else "asc"
        if direction not in ("asc", "desc"):
            raise Fault("unknown order, use asc or desc", node.position)
        with _scope(run, cost, body) as (_, turn):
            keys = [turn(item, at) for at, item in enumerate(items)]
        try:
            return builtin.sort_by(items, keys, descending=direction == "desc")
        except Fault as fault:
            raise fault.at(node.position) from None

    return step


def _reduce(node: syntax.Builtin, local: frozenset[str], build: Build) -> Step:
    source, body = build(node.arguments[0], local), build(node.arguments[1], local)
    cost = _size(node.arguments[1])
    initial = build(node.arguments[2], local) if len(node.arguments) > 2 else None

    def step(run: Run) -> Value:
        items = _items(run, source, node)
        with _scope(run, cost, body) as (scope, turn):
            start = 0
            if initial is not None:
                scope.accumulated = initial(run)
            elif not items:
                raise Fault("reduce of empty array with no initial value", node.position)
            else:
                scope.accumulated, start = items[0], 1
            for at in range(start, len(items)):
                scope.accumulated = run.bounded(turn(items[at], at))
            return scope.accumulated

    return step


PREDICATE_BUILDERS: dict[str, Builder] = {
    "all": _simple(lambda items, turn: all(to_bool(turn(i, at)) for at, i in enumerate(items))),
    "none": _simple(lambda items, turn: next(_kept(items, turn), None) is None),
    "any": _simple(lambda items, turn: next(_kept(items, turn), None) is not None),
    "one": _simple(_one),
    "filter": _simple(lambda items, turn: [item for _, item in _kept(items, turn)]),
    "map": _simple(lambda items, turn: [turn(item, at) for at, item in enumerate(items)]),
    "count": _simple(lambda items, turn: sum(1 for _ in _kept(items, turn))),
    "sum": _simple(_sum),
    "find": _simple(lambda items, turn: next(_kept(items, turn), (0, None))[1]),
    "findIndex": _simple(lambda items, turn: next(_kept(items, turn), (None, None))[0]),
    "findLast": _simple(lambda items, turn: next(_kept_backwards(items, turn), (0, None))[1]),
    "findLastIndex": _simple(
        lambda items, turn: next(_kept_backwards(items, turn), (None, None))[0]
    ),
    "groupBy": _simple(_group),
    "sortBy": _sort_by,
    "reduce": _reduce,
}
