"""A tree of expr-lang → a function of one run.

Each node becomes a Python closure, once per program; running is calling them. There is no ``eval``
and no attribute access on Python objects: members are keys of maps, or entries of ``method``'s
tables. Loops pay for each turn out of the run's budget.
"""

from __future__ import annotations

from collections.abc import Callable

from tiphys.spec.expression import builtin, regex, syntax, value
from tiphys.spec.expression.fault import MAX_STEPS, Fault, LimitFault
from tiphys.spec.expression.goformat import text_of
from tiphys.spec.expression.gostring import byte_length, byte_slice, encode
from tiphys.spec.expression.host import Host
from tiphys.spec.expression.method import method_of
from tiphys.spec.expression.moment import Zone, from_datetime
from tiphys.spec.expression.predicate import PREDICATE_BUILDERS
from tiphys.spec.expression.run import Run, Step
from tiphys.spec.expression.value import AnyMap, Function, Value, to_bool, type_name


class _Broken(Exception):  # noqa: N818 - ends a chain of ?. at a nil
    pass


def build(node: syntax.Node, local: frozenset[str] = frozenset()) -> Step:
    """Make the closure of ``node``; ``local`` are the names declared with let around it."""
    builder = _BUILDERS[type(node)]
    return builder(node, local)


def _literal(node: syntax.Literal, _: frozenset[str]) -> Step:
    return _constant(node.value)


def _name(node: syntax.Name, local: frozenset[str]) -> Step:
    name = node.name
    if name in local:
        return lambda run: run.variables[name]
    if name == "$env":
        return lambda run: dict(run.environment)
    return lambda run: run.environment.get(name)


def _pointer(node: syntax.Pointer, _: frozenset[str]) -> Step:
    if node.name == "":
        return lambda run: run.scopes[-1].item
    if node.name == "index":
        return lambda run: run.scopes[-1].index
    if node.name == "acc":
        return lambda run: run.scopes[-1].accumulated
    raise Fault(f"unknown pointer #{node.name}", node.position)


def _unary(node: syntax.Unary, local: frozenset[str]) -> Step:
    operand = build(node.operand, local)
    position = node.position
    if node.operator == "+":
        return operand
    apply: Callable[[Value], Value] = value.negate if node.operator == "-" else _not

    def step(run: Run) -> Value:
        try:
            return apply(operand(run))
        except Fault as fault:
            raise fault.at(position) from None

    return step


def _not(operand: Value) -> bool:
    return not to_bool(operand)


def _matches(a: Value, b: Value) -> bool:
    if a is None or b is None:
        return False
    return regex.matches(builtin.string(b), builtin.string(a))


def _texts(apply: Callable[[str, str], bool]) -> Callable[[Value, Value], bool]:
    def both(a: Value, b: Value) -> bool:
        if a is None or b is None:
            return False
        return apply(builtin.string(a), builtin.string(b))

    return both


def _range(a: Value, b: Value) -> list[Value]:
    low, high = value.to_int(a), value.to_int(b)
    if high - low >= MAX_STEPS:
        raise LimitFault("memory budget exceeded")
    return list(range(low, high + 1))


_OPERATORS: dict[str, Callable[[Value, Value], Value]] = {
    "+": value.add,
    "-": value.subtract,
    "*": value.multiply,
    "/": value.divide,
    "%": value.modulo,
    "**": value.power,
    "^": value.power,
    "==": value.equal,
    "!=": lambda a, b: not value.equal(a, b),
    "<": lambda a, b: value.compare("<", a, b),
    "<=": lambda a, b: value.compare("<=", a, b),
    ">": lambda a, b: value.compare(">", a, b),
    ">=": lambda a, b: value.compare(">=", a, b),
    "in": lambda a, b: value.contains(b, a),
    "matches": _matches,
    "contains": _texts(lambda a, b: b in a),
    "startsWith": _texts(str.startswith),
    "endsWith": _texts(str.endswith),
    "..": _range,
}
_WALKING = frozenset({"==", "!=", "in"})
"""Operators that look at all of a list or map."""
_SIZED = frozenset({str, list})
_PEEKING = frozenset({"len", "type", "first", "last", "get", "take"})
"""Builtins that do not look at all of their arguments."""
_OR = frozenset({"||", "or"})
_LOGICAL = _OR | {"&&", "and"}
_LAZY = _LOGICAL | {"??"}


def _binary(node: syntax.Binary, local: frozenset[str]) -> Step:
    """Build a run of operators as a loop, so that a long sum is not a deep recursion."""
    spine: list[syntax.Binary] = []
    first: syntax.Node = node
    while isinstance(first, syntax.Binary):
        spine.append(first)
        first = first.left
    start = build(first, local)
    links: list[tuple[str, Step, int]] = []
    for one in reversed(spine):
        known = _known_bool(one.right)
        if known is None or one.operator not in _LOGICAL:
            links.append((one.operator, build(one.right, local), one.position))
        elif known is (one.operator in _OR):
            # expr-lang folds "x or true" and "x and false" away, x included.
            start, links = _constant(known), []
    if not links:
        return start
    if len(links) == 1 and links[0][0] not in _LAZY:
        return _one_operator(start, *links[0])

    def step(run: Run) -> Value:
        result = start(run)
        for operator, right, position in links:
            try:
                result = _apply(run, operator, result, right)
            except Fault as fault:
                raise fault.at(position) from None
        return result

    return step


def _constant(result: Value) -> Step:
    return lambda run: result


def _known_bool(node: syntax.Node) -> bool | None:
    """Tell the value of ``true``, ``not true`` and the like."""
    if isinstance(node, syntax.Literal) and isinstance(node.value, bool):
        return node.value
    if isinstance(node, syntax.Unary) and node.operator in {"!", "not"}:
        inner = _known_bool(node.operand)
        return None if inner is None else not inner
    return None


def _one_operator(left: Step, operator: str, right: Step, position: int) -> Step:
    apply, walking = _OPERATORS[operator], operator in _WALKING

    def step(run: Run) -> Value:
        a, b = left(run), right(run)
        try:
            if walking:
                run.walk(a)
                run.walk(b)
            result = apply(a, b)
        except Fault as fault:
            raise fault.at(position) from None
        return run.bounded(result) if type(result) in _SIZED else result

    return step


def _apply(run: Run, operator: str, left: Value, right: Step) -> Value:
    if operator in {"&&", "and"}:
        # The right side is not asked for a bool: expr-lang hands it on as it is.
        return right(run) if to_bool(left) else False
    if operator in {"||", "or"}:
        return True if to_bool(left) else right(run)
    if operator == "??":
        return right(run) if left is None else left
    other = right(run)
    if operator in _WALKING:
        run.walk(left)
        run.walk(other)
    return run.bounded(_OPERATORS[operator](left, other))


def _chain(node: syntax.Chain, local: frozenset[str]) -> Step:
    body = build(node.body, local)

    def step(run: Run) -> Value:
        try:
            return body(run)
        except _Broken:
            return None

    return step


def _member(node: syntax.Member, local: frozenset[str]) -> Step:
    base, key = build(node.base, local), build(node.key, local)
    optional, position = node.optional, node.position

    def step(run: Run) -> Value:
        source = base(run)
        if optional and source is None:
            raise _Broken
        try:
            return fetch(source, key(run))
        except Fault as fault:
            raise fault.at(position) from None

    return step


def fetch(source: Value, key: Value) -> Value:
    """Take a member: of a map, a list, the bytes of a string, or a method of a time."""
    if isinstance(source, dict):
        if not isinstance(key, str) and key is not None and not isinstance(source, AnyMap):
            raise Fault(
                f"reflect.Value.MapIndex: value of type {type_name(key)} is not assignable "
                "to type string"
            )
        return source.get("" if key is None else builtin.hashable(key))
    if isinstance(source, (list, str)):
        index = value.to_int(key)
        data = source if isinstance(source, list) else encode(source)
        place = index + len(data) if index < 0 else index
        if not 0 <= place < len(data):
            raise Fault(f"index out of range: {place} (array length is {len(data)})")
        return data[place]
    found = method_of(source, key) if isinstance(key, str) else None
    if found is not None:
        return found
    raise Fault(f"cannot fetch {text_of(key)} from {type_name(source)}")


def _slice(node: syntax.Slice, local: frozenset[str]) -> Step:
    base = build(node.base, local)
    start = build(node.start, local) if node.start is not None else None
    stop = build(node.stop, local) if node.stop is not None else None
    position = node.position

    def step(run: Run) -> Value:
        source = base(run)
        try:
            low = 0 if start is None else value.to_int(start(run))
            high = None if stop is None else value.to_int(stop(run))
            return _cut(source, low, high)
        except Fault as fault:
            raise fault.at(position) from None

    return step


def _cut(source: Value, low: int, high: int | None) -> Value:
    if not isinstance(source, (str, list)):
        raise Fault(f"cannot slice {low}")
    length = byte_length(source) if isinstance(source, str) else len(source)
    high = length if high is None else high
    low = max(low + length, 0) if low < 0 else low
    high = max(high + length, 0) if high < 0 else min(high, length)
    low = min(low, high)
    return byte_slice(source, low, high) if isinstance(source, str) else source[low:high]


def _call(node: syntax.Call, local: frozenset[str]) -> Step:
    callee = build(node.callee, local)
    arguments = [build(argument, local) for argument in node.arguments]
    position = node.position

    def step(run: Run) -> Value:
        given = [argument(run) for argument in arguments]
        function = callee(run)
        try:
            for one in given:
                run.walk(one)
            return run.bounded(call_function(function, given, run.host))
        except Fault as fault:
            raise fault.at(position) from None

    return step


def call_function(function: Value, given: list[Value], host: Host) -> Value:
    """Call a function value."""
    if function is None:
        raise Fault("invalid operation: cannot call nil")
    if not isinstance(function, Function):
        raise Fault(f"invalid operation: cannot call non-function of type {type_name(function)}")
    try:
        return function.call(host, *given) if function.needs_host else function.call(*given)
    except TypeError as error:
        # A wrong number of arguments: Python's own check of the call.
        few = "missing" in str(error)
        word = "few" if few else "many"
        raise Fault(f"reflect: Call with too {word} input arguments") from None


def _builtin(node: syntax.Builtin, local: frozenset[str]) -> Step:
    special = PREDICATE_BUILDERS.get(node.name)
    if special is not None:
        return special(node, local, build)
    arguments = [build(argument, local) for argument in node.arguments]
    position, name = node.position, node.name
    if name == "now":
        return _now(arguments)
    function, peeks = builtin.BUILTINS[name], name in _PEEKING

    def step(run: Run) -> Value:
        given = [argument(run) for argument in arguments]
        try:
            if not peeks:
                for one in given:
                    run.walk(one)
            return run.bounded(function(*given))
        except Fault as fault:
            raise fault.at(position) from None
        except TypeError:
            raise Fault(
                f"invalid number of arguments for {name} (got {len(given)})", position
            ) from None

    return step


def _now(arguments: list[Step]) -> Step:
    def step(run: Run) -> Value:
        at = from_datetime(run.host.now)
        if not arguments:
            return at
        zone = arguments[0](run)
        if not isinstance(zone, Zone):
            raise Fault(f"invalid number of arguments (expected 0, got {len(arguments)})")
        return at.seen_in(zone)

    return step


def _let(node: syntax.Let, local: frozenset[str]) -> Step:
    bound = build(node.value, local)
    body = build(node.body, local | {node.name})
    name = node.name

    def step(run: Run) -> Value:
        run.variables[name] = bound(run)
        return body(run)

    return step


def _sequence(node: syntax.Sequence, local: frozenset[str]) -> Step:
    steps = [build(item, local) for item in node.items]

    def step(run: Run) -> Value:
        result = None
        for one in steps:
            result = one(run)
        return result

    return step


def _conditional(node: syntax.Conditional, local: frozenset[str]) -> Step:
    condition, then = build(node.condition, local), build(node.then, local)
    otherwise, position = build(node.otherwise, local), node.position

    def step(run: Run) -> Value:
        chosen = condition(run)
        if chosen is True:
            return then(run)
        if chosen is False:
            return otherwise(run)
        try:
            to_bool(chosen)
        except Fault as fault:
            raise fault.at(position) from None
        return None

    return step


def _array(node: syntax.Array, local: frozenset[str]) -> Step:
    items = [build(item, local) for item in node.items]
    return lambda run: run.bounded([item(run) for item in items])


def _mapping(node: syntax.Mapping, local: frozenset[str]) -> Step:
    pairs = [(build(key, local), build(item, local)) for key, item in node.pairs]

    def step(run: Run) -> Value:
        return run.bounded({builtin.string(key(run)): item(run) for key, item in pairs})

    return step


def _predicate(node: syntax.Predicate, local: frozenset[str]) -> Step:
    return build(node.body, local)


_BUILDERS: dict[type, Callable[..., Step]] = {
    syntax.Literal: _literal,
    syntax.Name: _name,
    syntax.Pointer: _pointer,
    syntax.Unary: _unary,
    syntax.Binary: _binary,
    syntax.Chain: _chain,
    syntax.Member: _member,
    syntax.Slice: _slice,
    syntax.Call: _call,
    syntax.Builtin: _builtin,
    syntax.Let: _let,
    syntax.Sequence: _sequence,
    syntax.Conditional: _conditional,
    syntax.Array: _array,
    syntax.Mapping: _mapping,
    syntax.Predicate: _predicate,
}
