"""The check of types before an expression runs, as expr-lang does when it compiles.

Most of an Argo environment is unknown (members of maps may be anything), so the checker speaks
where constants, results of builtins or top-level variables are used wrongly: ``1 + 'a'``, an
unknown name, ``retries > 1`` while retries is a string. It runs once per program and combination
of types.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NoReturn

from tiphys.spec.expression import syntax
from tiphys.spec.expression.fault import Fault
from tiphys.spec.expression.nature import (
    ANY,
    ARRAY,
    BOOL,
    FUNCTION,
    INT,
    MAP,
    STRING,
    UNKNOWN,
    Nature,
    array_of,
    assignable,
    comparable,
    nature_of,
)
from tiphys.spec.expression.regex import compile_pattern
from tiphys.spec.expression.signature import (
    BUILTIN_NAMES,
    BUILTIN_SIGNATURES,
    FUNCTION_SIGNATURES,
    METHOD_SIGNATURES,
    Signature,
)
from tiphys.spec.expression.typerule import BOOLEAN_LOOPS, LOOP_RULES, OPERATIONS, RULES


def check(tree: syntax.Node, known: Mapping[str, Nature]) -> Nature:
    """Check ``tree`` against the types of the environment; a ``Fault`` tells what is wrong."""
    return _Checker(known).visit(tree)


@dataclass(slots=True)
class _Loop:
    collection: Nature
    pointers: dict[str, Nature]


def _fail(node: syntax.Node, message: str) -> NoReturn:
    raise Fault(message, node.position)


def _check_pattern(node: syntax.Binary) -> None:
    pattern = node.right.value if isinstance(node.right, syntax.Literal) else None
    if isinstance(pattern, str):
        try:
            compile_pattern(pattern)
        except Fault as fault:
            raise fault.at(node.position) from None


@dataclass(slots=True)
class _Checker:
    known: Mapping[str, Nature]
    local: dict[str, Nature] = field(default_factory=dict)
    loops: list[_Loop] = field(default_factory=list)

    def visit(self, node: syntax.Node) -> Nature:
        visitor = _VISITORS.get(type(node))
        return visitor(self, node) if visitor else UNKNOWN

    def literal(self, node: syntax.Literal) -> Nature:
        return nature_of(node.value)

    def name(self, node: syntax.Name) -> Nature:
        if node.name in self.local:
            return self.local[node.name]
        if node.name == "$env":
            return UNKNOWN
        if node.name in self.known:
            return self.known[node.name]
        if node.name in BUILTIN_NAMES:
            return FUNCTION
        _fail(node, f"unknown name {node.name}")

    def pointer(self, node: syntax.Pointer) -> Nature:
        if not self.loops:
            _fail(node, "cannot use pointer accessor outside predicate")
        loop = self.loops[-1]
        if node.name == "":
            return UNKNOWN if loop.collection.unknown else loop.collection.of_elements()
        if node.name not in loop.pointers:
            _fail(node, f"unknown pointer #{node.name}")
        return loop.pointers[node.name]

    def unary(self, node: syntax.Unary) -> Nature:
        operand = self.visit(node.operand)
        if node.operator in {"!", "not"}:
            if operand.kind == "bool" or operand.unknown:
                return BOOL
        elif operand.number:
            return operand
        elif operand.unknown:
            return UNKNOWN
        message = f"invalid operation: {node.operator} (mismatched type {operand.name})"
        _fail(node, message)

    def binary(self, node: syntax.Binary) -> Nature:
        """Check a run of operators from its left end, in a loop."""
        spine: list[syntax.Binary] = []
        first: syntax.Node = node
        while isinstance(first, syntax.Binary):
            spine.append(first)
            first = first.left
        left = self.visit(first)
        for one in reversed(spine):
            left = self.operation(one, left, self.visit(one.right))
        return left

    def operation(self, node: syntax.Binary, left: Nature, right: Nature) -> Nature:
        if node.operator == "matches":
            _check_pattern(node)
        result = (
            self.membership(node, left, right)
            if node.operator == "in"
            else OPERATIONS[node.operator](left, right)
        )
        if result is None:
            _fail(
                node,
                f"invalid operation: {node.operator} "
                f"(mismatched types {left.name} and {right.name})",
            )
        return result

    def membership(self, node: syntax.Binary, left: Nature, right: Nature) -> Nature | None:
        if right.kind == "map":
            key = STRING if right.name.startswith("map[string]") else ANY
            if not left.unknown and not assignable(left, key):
                _fail(node, f"cannot use {left.name} as type {key.name} in map key")
            return BOOL
        if right.kind == "array":
            if not comparable(left, right.of_elements()):
                name = right.of_elements().name
                _fail(node, f"cannot use {left.name} as type {name} in array")
            return BOOL
        if right.unknown or (left.unknown and right.kind == "string"):
            return BOOL
        return None

    def chain(self, node: syntax.Chain) -> Nature:
        return self.visit(node.body)

    def member(self, node: syntax.Member) -> Nature:
        key = node.key.value if isinstance(node.key, syntax.Literal) else None
        name = key if isinstance(key, str) else None
        if isinstance(node.base, syntax.Name) and node.base.name == "$env":
            return self.environment_member(node, name)
        base, index = self.visit(node.base), self.visit(node.key)
        if base.unknown:
            return UNKNOWN
        if name is not None and base.kind == "nil":
            _fail(node, f"type nil has no field {name}")
        if name is not None and name in METHOD_SIGNATURES.get(base.kind, {}):
            return FUNCTION
        if base.kind == "map":
            text_keys = base.name.startswith("map[string]")
            if text_keys and not assignable(index, STRING) and not index.unknown:
                _fail(node.key, f"cannot use {index.name} to get an element from {base.name}")
            return base.of_elements()
        if base.kind == "array":
            if index.kind != "int" and not index.unknown:
                _fail(
                    node.key,
                    f"array elements can only be selected using an integer (got {index.name})",
                )
            return base.of_elements()
        if name is not None:
            what = "method" if node.method else "field"
            _fail(node, f"type {base.name} has no {what} {name}")
        _fail(node, f"type {base.name}[{index.name}] is undefined")

    def environment_member(self, node: syntax.Member, name: str | None) -> Nature:
        if name is None:
            return UNKNOWN
        if name not in self.known and not node.optional:
            # The names behind $env are not gathered, so absence cannot be told from here.
            return UNKNOWN
        return self.known.get(name, UNKNOWN)

    def slice(self, node: syntax.Slice) -> Nature:
        base = self.visit(node.base)
        if base.unknown:
            return UNKNOWN
        if base.kind not in {"string", "array"}:
            _fail(node, f"cannot slice {base.name}")
        for bound in (node.start, node.stop):
            if bound is None:
                continue
            index = self.visit(bound)
            if index.kind != "int" and not index.unknown:
                _fail(bound, f"non-integer slice index {index.name}")
        return base

    def call(self, node: syntax.Call) -> Nature:
        callee = self.visit(node.callee)
        if callee.unknown:
            # Nothing is known of the function, and expr-lang does not look at its arguments.
            return UNKNOWN
        name, signature = self.callee(node.callee)
        if callee.kind == "nil":
            _fail(node, f"{name} is nil; cannot call nil as function")
        if callee.kind != "func":
            _fail(node, f"{callee.name} is not callable")
        if signature is None:
            return UNKNOWN
        return self.arguments(name, signature, node.arguments, node)

    def callee(self, node: syntax.Node) -> tuple[str, Signature | None]:
        """Find the name and the signature of what is called."""
        if isinstance(node, syntax.Name):
            return node.name, FUNCTION_SIGNATURES.get(node.name)
        if isinstance(node, syntax.Member) and isinstance(node.key, syntax.Literal):
            name = str(node.key.value)
            base = self.visit(node.base)
            return name, METHOD_SIGNATURES.get(base.kind, {}).get(name)
        return "function", None

    def arguments(
        self,
        name: str,
        signature: Signature,
        given: tuple[syntax.Node, ...],
        node: syntax.Node,
    ) -> Nature:
        wanted, result = signature
        natures = [self.visit(argument) for argument in given]
        if len(given) != len(wanted):
            amount = "too many" if len(given) > len(wanted) else "not enough"
            _fail(node, f"{amount} arguments to call {name}")
        for argument, nature, target in zip(given, natures, wanted, strict=True):
            if nature.kind == "int" and target.number:
                continue
            if nature.kind == "nil":
                if target.kind not in {"any", "zone"}:
                    _fail(
                        argument,
                        f"cannot use nil as argument (type {target.name}) to call {name}",
                    )
            elif not nature.unknown and not assignable(nature, target):
                _fail(
                    argument,
                    f"cannot use {nature.name} as argument (type {target.name}) to call {name} ",
                )
        return result

    def builtin(self, node: syntax.Builtin) -> Nature:
        loop_rule = LOOP_RULES.get(node.name)
        if loop_rule is not None:
            return self.loop(node, loop_rule)
        if node.name == "get":
            return self.get(node)
        signatures = BUILTIN_SIGNATURES.get(node.name)
        if signatures is None:
            given = [self.visit(argument) for argument in node.arguments]
            try:
                return RULES[node.name](node.name, given)
            except Fault as fault:
                raise fault.at(node.position) from None
        problem: Fault | None = None
        for signature in signatures:
            try:
                return self.arguments(node.name, signature, node.arguments, node)
            except Fault as fault:
                problem = fault
        raise problem or Fault(f"no matching overload for {node.name}", node.position)

    def get(self, node: syntax.Builtin) -> Nature:
        if len(node.arguments) != 2:
            count = len(node.arguments)
            _fail(node, f"invalid number of arguments (expected 2, got {count})")
        base, key = self.visit(node.arguments[0]), self.visit(node.arguments[1])
        if base.unknown:
            return UNKNOWN
        if base.kind == "array":
            if key.kind != "int" and not key.unknown:
                _fail(node.arguments[1], f"non-integer slice index {key.name}")
            return base.of_elements()
        if base.kind == "map":
            if base.name.startswith("map[string]") and not key.unknown and key.kind != "string":
                message = f"cannot use {key.name} to get an element from {base.name}"
                _fail(node.arguments[1], message)
            return base.of_elements()
        _fail(node.arguments[0], f"type {base.name} does not support indexing")

    def loop(self, node: syntax.Builtin, rule: Callable[[Nature, Nature], Nature]) -> Nature:
        collection = self.visit(node.arguments[0])
        if collection.kind != "array" and not collection.unknown:
            _fail(
                node.arguments[0],
                f"builtin {node.name} takes only array (got {collection.name})",
            )
        if len(node.arguments) == 1:
            return rule(collection, collection.of_elements())
        pointers = {"index": INT} if node.name in {"map", "reduce"} else {}
        if node.name == "reduce":
            pointers["acc"] = UNKNOWN
        self.loops.append(_Loop(collection, pointers))
        result = self.visit(node.arguments[1])
        self.loops.pop()
        for argument in node.arguments[2:]:
            self.visit(argument)
        if result.kind == "nil":
            _fail(node.arguments[1], "predicate should has one input and one output param")
        if node.name in BOOLEAN_LOOPS and result.kind != "bool" and not result.unknown:
            _fail(node.arguments[1], f"predicate should return boolean (got {result.name})")
        return rule(collection, result)

    def predicate(self, node: syntax.Predicate) -> Nature:
        return self.visit(node.body)

    def let(self, node: syntax.Let) -> Nature:
        if node.name in self.known:
            _fail(node, f"cannot redeclare {node.name}")
        if node.name in BUILTIN_NAMES:
            _fail(node, f"cannot redeclare builtin {node.name}")
        if node.name in self.local:
            _fail(node, f"cannot redeclare variable {node.name}")
        nature = self.visit(node.value)
        self.local[node.name] = nature
        result = self.visit(node.body)
        del self.local[node.name]
        return result

    def sequence(self, node: syntax.Sequence) -> Nature:
        return [self.visit(item) for item in node.items][-1]

    def conditional(self, node: syntax.Conditional) -> Nature:
        condition = self.visit(node.condition)
        if condition.kind != "bool" and not condition.unknown:
            message = f"non-bool expression (type {condition.name}) used as condition"
            _fail(node.condition, message)
        then, otherwise = self.visit(node.then), self.visit(node.otherwise)
        if then.kind == "nil":
            return otherwise
        if otherwise.kind == "nil":
            return then
        if not assignable(then, otherwise):
            return UNKNOWN
        if then.kind == otherwise.kind == "array" and then.element != otherwise.element:
            return ARRAY
        return then

    def array(self, node: syntax.Array) -> Nature:
        natures = [self.visit(item) for item in node.items]
        kinds = {_go_kind(nature) for nature in natures}
        return array_of(natures[-1] if natures else UNKNOWN) if len(kinds) <= 1 else ARRAY

    def mapping(self, node: syntax.Mapping) -> Nature:
        for key, value in node.pairs:
            self.visit(key)
            self.visit(value)
        return MAP


def _go_kind(nature: Nature) -> str:
    # nil and unknown have no kind in Go, and so count as the same.
    return "" if nature.kind in {"nil", "unknown"} else nature.kind


_VISITORS: dict[type, Callable[..., Nature]] = {
    syntax.Literal: _Checker.literal,
    syntax.Name: _Checker.name,
    syntax.Pointer: _Checker.pointer,
    syntax.Unary: _Checker.unary,
    syntax.Binary: _Checker.binary,
    syntax.Chain: _Checker.chain,
    syntax.Member: _Checker.member,
    syntax.Slice: _Checker.slice,
    syntax.Call: _Checker.call,
    syntax.Builtin: _Checker.builtin,
    syntax.Predicate: _Checker.predicate,
    syntax.Let: _Checker.let,
    syntax.Sequence: _Checker.sequence,
    syntax.Conditional: _Checker.conditional,
    syntax.Array: _Checker.array,
    syntax.Mapping: _Checker.mapping,
}
