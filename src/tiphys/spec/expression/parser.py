"""Tokens of expr-lang → a tree, with bounds on its size and depth.

Precedence climbing, as in expr-lang itself, with its odd corners: ``??`` may not be mixed with
other operators, ``a < b < c`` is a chain of comparisons, ``|`` hands the left side to a function.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from tiphys.spec.expression import syntax
from tiphys.spec.expression.fault import MAX_DEPTH, MAX_NODES, Fault, LimitFault
from tiphys.spec.expression.lexer import Kind, Token, tokenize
from tiphys.spec.expression.signature import BUILTIN_NAMES

_UNARY = {"not": 50, "!": 50, "-": 90, "+": 90}
_BINARY = {
    "|": 0, "or": 10, "||": 10, "and": 15, "&&": 15, "==": 20, "!=": 20, "<": 20, ">": 20,
    ">=": 20, "<=": 20, "in": 20, "matches": 20, "contains": 20, "startsWith": 20,
    "endsWith": 20, "..": 25, "+": 30, "-": 30, "*": 60, "/": 60, "%": 60, "**": 100,
    "^": 100, "??": 500,
}  # fmt: skip
_RIGHT = frozenset({"**", "^"})
_COMPARISONS = frozenset({"<", ">", "<=", ">="})
_NEGATABLE = frozenset({"in", "matches", "contains", "startsWith", "endsWith"})
_ONE_PREDICATE = ("expression", "predicate")
PREDICATES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(
        [
            "all",
            "none",
            "any",
            "one",
            "filter",
            "map",
            "find",
            "findIndex",
            "findLast",
            "findLastIndex",
            "groupBy",
        ],
        _ONE_PREDICATE,
    ),
    "count": ("expression", "predicate?"),
    "sum": ("expression", "predicate?"),
    "sortBy": ("expression", "predicate", "expression?"),
    "reduce": ("expression", "predicate", "expression?"),
}
_WORDS = {"true": True, "false": False, "nil": None}
_T = TypeVar("_T", bound="syntax.Node")


def parse(text: str) -> syntax.Node:
    """Parse ``text``; raise a ``Fault`` with its place."""
    parser = _Parser(tokenize(text))
    try:
        node = parser.sequence()
    except RecursionError:
        raise LimitFault(f"expression is nested deeper than {MAX_DEPTH} levels") from None
    if parser.current.kind is not Kind.END:
        raise parser.unexpected()
    return node


class _Parser:
    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.index = 0
        self.current = tokens[0]
        self.nodes = 0
        self.nesting = 0
        self.predicates = 0

    # --- tokens ---

    def advance(self) -> Token:
        token = self.current
        if self.index + 1 < len(self.tokens):
            self.index += 1
        self.current = self.tokens[self.index]
        return token

    def at(self, *values: str) -> bool:
        token = self.current
        return token.kind in {Kind.OPERATOR, Kind.BRACKET} and token.value in values

    def expect(self, value: str) -> Token:
        if not self.at(value):
            raise self.unexpected()
        return self.advance()

    def expect_name(self) -> Token:
        if self.current.kind is not Kind.NAME:
            raise self.unexpected()
        return self.advance()

    def unexpected(self) -> Fault:
        return Fault(f"unexpected token {self.current}", self.current.position)

    # --- bounds ---

    def count(self, node: _T) -> _T:
        self.nodes += 1
        if self.nodes > MAX_NODES:
            raise LimitFault("compilation failed: expression exceeds maximum allowed nodes")
        if node.depth > MAX_DEPTH:
            raise LimitFault(f"expression is nested deeper than {MAX_DEPTH} levels")
        return node

    # --- grammar ---

    def sequence(self) -> syntax.Node:
        first = self.expression()
        items = [first]
        while self.at(";"):
            self.advance()
            if self.current.kind is Kind.END:
                break
            items.append(self.expression())
        if len(items) == 1:
            return first
        return self.count(
            syntax.Sequence(position=first.position, depth=_below(items), items=tuple(items))
        )

    def expression(self, precedence: int = 0) -> syntax.Node:
        self.nesting += 1
        if self.nesting > MAX_DEPTH:
            raise LimitFault(f"expression is nested deeper than {MAX_DEPTH} levels")
        if precedence == 0 and self.at("let"):
            node = self.let()
        elif precedence == 0 and self.at("if"):
            node = self.conditional_if()
        else:
            node = self.operators(self.primary(), precedence)
            if precedence == 0:
                node = self.ternary(node)
        self.nesting -= 1
        return node

    def operators(self, left: syntax.Node, precedence: int) -> syntax.Node:
        previous = ""
        while self.current.kind is Kind.OPERATOR:
            operator, negated = self.binary_operator(precedence)
            if operator is None:
                break
            if operator.value == "|":
                left = self.call(self.expect_name(), [left])
            elif previous == "??" and operator.value != "??":
                raise Fault(
                    f"Operator ({operator.value}) and coalesce expressions (??) cannot be mixed. "
                    "Wrap either by parentheses.",
                    operator.position,
                )
            elif operator.value in _COMPARISONS:
                left = self.comparison(left, operator)
            else:
                left = self.binary(left, operator)
                if negated:
                    left = self.unary(Token(Kind.OPERATOR, "not", operator.position), left)
            previous = operator.value
        return left

    def binary_operator(self, precedence: int) -> tuple[Token | None, bool]:
        """Take the next binary operator if it binds at least as tightly as ``precedence``."""
        token = self.current
        negated = token.value == "not"
        if negated:
            following = self.tokens[self.index + 1]
            if following.value not in _NEGATABLE:
                self.advance()
                raise self.unexpected()
            token = following
        if _BINARY.get(token.value, -1) < precedence:
            return None, False
        if negated:
            self.advance()
        return self.advance(), negated

    def binary(self, left: syntax.Node, operator: Token) -> syntax.Node:
        level = _BINARY[operator.value]
        right = self.expression(level if operator.value in _RIGHT else level + 1)
        return self.join(operator.value, left, right, operator.position)

    def join(self, operator: str, left: syntax.Node, right: syntax.Node, at: int) -> syntax.Node:
        run = isinstance(left, syntax.Binary)
        depth = max(left.depth + (0 if run else 1), right.depth + 1)
        return self.count(
            syntax.Binary(position=at, depth=depth, operator=operator, left=left, right=right)
        )

    def unary(self, token: Token, operand: syntax.Node) -> syntax.Node:
        return self.count(
            syntax.Unary(
                position=token.position,
                depth=operand.depth + 1,
                operator=token.value,
                operand=operand,
            )
        )

    def comparison(self, left: syntax.Node, operator: Token) -> syntax.Node:
        result: syntax.Node | None = None
        while True:
            right = self.expression(_BINARY[operator.value] + 1)
            one = self.join(operator.value, left, right, operator.position)
            result = one if result is None else self.join("&&", result, one, operator.position)
            if not self.at(*_COMPARISONS):
                return result
            left, operator = right, self.advance()

    def let(self) -> syntax.Node:
        self.advance()
        name = self.expect_name()
        self.expect("=")
        value = self.expression()
        self.expect(";")
        body = self.sequence()
        return self.count(
            syntax.Let(
                position=name.position,
                depth=_below((value, body)),
                name=name.value,
                value=value,
                body=body,
            )
        )

    def conditional_if(self) -> syntax.Node:
        start = self.advance()
        condition = self.expression()
        then = self.braced()
        self.expect("else")
        otherwise = self.nested_if() if self.at("if") else self.braced()
        return self.choice(condition, then, otherwise, start.position)

    def nested_if(self) -> syntax.Node:
        # Through expression(), so that a ladder of "else if" counts as nesting.
        return self.expression()

    def braced(self) -> syntax.Node:
        self.expect("{")
        node = self.sequence()
        self.expect("}")
        return node

    def choice(
        self, condition: syntax.Node, then: syntax.Node, otherwise: syntax.Node, at: int
    ) -> syntax.Node:
        return self.count(
            syntax.Conditional(
                position=at,
                depth=_below((condition, then, otherwise)),
                condition=condition,
                then=then,
                otherwise=otherwise,
            )
        )

    def ternary(self, node: syntax.Node) -> syntax.Node:
        while self.at("?"):
            self.advance()
            if self.at(":"):
                self.advance()
                then = node
            else:
                then = self.expression()
                self.expect(":")
            otherwise = self.expression()
            node = self.choice(node, then, otherwise, self.current.position)
        return node

    def primary(self) -> syntax.Node:
        token = self.current
        if token.kind is Kind.OPERATOR and token.value in _UNARY:
            self.advance()
            return self.postfix(self.unary(token, self.expression(_UNARY[token.value])))
        if self.at("("):
            self.advance()
            inner = self.sequence()
            self.expect(")")
            return self.postfix(inner)
        if self.predicates and self.at("#", "."):
            return self.postfix(self.pointer())
        if self.at("::"):
            self.advance()
            return self.postfix(self.call(self.expect_name(), []))
        return self.operand()

    def pointer(self) -> syntax.Node:
        token, name = self.current, ""
        if token.value == "#":
            self.advance()
            if self.current.kind is Kind.NAME:
                name = self.advance().value
        return self.count(syntax.Pointer(position=token.position, name=name))

    def operand(self) -> syntax.Node:
        token = self.current
        if token.kind is Kind.NAME:
            self.advance()
            if token.value in _WORDS:
                # Like numbers, these take no postfix: true.x is an error.
                return self.literal(_WORDS[token.value], token)
            if self.at("("):
                return self.postfix(self.call(token, []))
            return self.postfix(self.count(syntax.Name(position=token.position, name=token.value)))
        if token.kind is Kind.NUMBER:
            self.advance()
            return self.literal(_number(token), token)
        if token.kind is Kind.STRING:
            self.advance()
            return self.postfix(self.literal(token.value, token))
        if self.at("["):
            return self.postfix(self.array())
        if self.at("{"):
            return self.postfix(self.mapping())
        raise self.unexpected()

    def literal(self, value: bool | int | float | str | None, token: Token) -> syntax.Node:
        return self.count(syntax.Literal(position=token.position, value=value))

    # --- calls ---

    def call(self, token: Token, given: list[syntax.Node]) -> syntax.Node:
        name = token.value
        if name in PREDICATES:
            arguments = self.predicate_arguments(name, given)
        else:
            arguments = self.arguments(given)
        depth = _below(arguments)
        if name in BUILTIN_NAMES:
            return self.count(
                syntax.Builtin(position=token.position, depth=depth, name=name, arguments=arguments)
            )
        callee = self.count(syntax.Name(position=token.position, name=name))
        return self.count(
            syntax.Call(position=token.position, depth=depth, callee=callee, arguments=arguments)
        )

    def arguments(self, given: Iterable[syntax.Node] = ()) -> tuple[syntax.Node, ...]:
        self.expect("(")
        items = list(given)
        items.extend(self.items(")"))
        return tuple(items)

    def items(self, closing: str) -> list[syntax.Node]:
        """Read expressions up to ``closing``; one comma may trail."""
        items: list[syntax.Node] = []
        while not self.at(closing):
            if items:
                self.expect(",")
                if self.at(closing):
                    break
            items.append(self.expression())
        self.expect(closing)
        return items

    def predicate_arguments(self, name: str, given: list[syntax.Node]) -> tuple[syntax.Node, ...]:
        self.expect("(")
        shapes = PREDICATES[name][len(given) :]
        for number, shape in enumerate(shapes):
            if self.at(")"):
                if shape.endswith("?"):
                    break
                raise Fault(f"expected at least {len(shapes)} arguments", self.current.position)
            if number:
                self.expect(",")
            if self.at(")") and shape.endswith("?"):
                break
            given.append(self.predicate() if shape.startswith("predicate") else self.expression())
        if self.at(","):
            self.advance()
        self.expect(")")
        return tuple(given)

    def predicate(self) -> syntax.Node:
        start = self.current
        self.predicates += 1
        if self.at("{"):
            body = self.braced()
        else:
            body = self.expression()
            if self.at(";"):
                raise Fault("wrap predicate with brackets { and }", self.current.position)
        self.predicates -= 1
        return self.count(
            syntax.Predicate(position=start.position, depth=body.depth + 1, body=body)
        )

    # --- collections ---

    def array(self) -> syntax.Node:
        token = self.advance()
        items = tuple(self.items("]"))
        return self.count(syntax.Array(position=token.position, depth=_below(items), items=items))

    def mapping(self) -> syntax.Node:
        token = self.advance()
        pairs: list[tuple[syntax.Node, syntax.Node]] = []
        while not self.at("}"):
            if pairs:
                self.expect(",")
                if self.at("}"):
                    break
            key = self.key()
            self.expect(":")
            pairs.append((key, self.expression()))
        self.expect("}")
        depth = _below([part for pair in pairs for part in pair])
        return self.count(syntax.Mapping(position=token.position, depth=depth, pairs=tuple(pairs)))

    def key(self) -> syntax.Node:
        token = self.current
        if token.kind in {Kind.NUMBER, Kind.STRING, Kind.NAME}:
            self.advance()
            return self.literal(token.value, token)
        if self.at("("):
            return self.expression()
        raise Fault(
            "a map key must be a quoted string, a number, a identifier, or an expression "
            f"enclosed in parentheses (unexpected token {token})",
            token.position,
        )

    # --- what follows an operand ---

    def postfix(self, node: syntax.Node) -> syntax.Node:
        while True:
            token = self.current
            if self.at(".", "?."):
                self.advance()
                optional = token.value == "?."
                if optional and self.at("["):
                    node = self.index_or_slice(node, optional=True)
                else:
                    node = self.property(node, optional=optional)
            elif self.at("["):
                node = self.index_or_slice(node, optional=False)
            else:
                return node

    def property(self, node: syntax.Node, *, optional: bool) -> syntax.Node:
        token = self.advance()
        word = token.kind is Kind.OPERATOR and token.value.isalpha()
        if token.kind is not Kind.NAME and not word:
            raise Fault("expected name", self.current.position)
        chained = isinstance(node, syntax.Chain)
        if isinstance(node, syntax.Chain):
            node = node.body
        key = self.literal(token.value, token)
        called = self.at("(")
        member: syntax.Node = self.count(
            syntax.Member(
                position=token.position,
                depth=node.depth + 1,
                base=node,
                key=key,
                optional=optional,
                method=called,
            )
        )
        if called:
            arguments = self.arguments()
            member = self.count(
                syntax.Call(
                    position=token.position,
                    depth=_below((member, *arguments)),
                    callee=member,
                    arguments=arguments,
                )
            )
        return self.chain(member, token) if chained or optional else member

    def chain(self, node: syntax.Node, token: Token) -> syntax.Node:
        return self.count(syntax.Chain(position=token.position, depth=node.depth + 1, body=node))

    def index_or_slice(self, node: syntax.Node, *, optional: bool) -> syntax.Node:
        token = self.advance()
        if self.at(":"):
            self.advance()
            return self.slice(node, None, token)
        start = self.expression()
        if self.at(":"):
            self.advance()
            return self.slice(node, start, token)
        self.expect("]")
        member = self.count(
            syntax.Member(
                position=token.position,
                depth=_below((node, start)),
                base=node,
                key=start,
                optional=optional,
            )
        )
        return self.chain(member, token) if optional else member

    def slice(self, node: syntax.Node, start: syntax.Node | None, token: Token) -> syntax.Node:
        stop = None if self.at("]") else self.expression()
        self.expect("]")
        parts = [node, *(part for part in (start, stop) if part is not None)]
        return self.count(
            syntax.Slice(
                position=token.position, depth=_below(parts), base=node, start=start, stop=stop
            )
        )


def _below(nodes: Iterable[syntax.Node]) -> int:
    return 1 + max((node.depth for node in nodes), default=0)


def _number(token: Token) -> int | float:
    text = token.value.replace("_", "").lower()
    prefix = text[:2]
    try:
        if prefix in {"0x", "0b", "0o"} and not (prefix != "0x" and ("." in text or "e" in text)):
            value = int(text, 0)
        elif "." in text or "e" in text:
            return _finite(float(text), token)
        else:
            value = int(text)
    except ValueError:
        raise Fault(f"invalid number literal {token.value}", token.position) from None
    if value > 2**63 - 1:
        raise Fault(
            f'invalid integer literal: strconv.ParseInt: parsing "{text}": value out of range',
            token.position,
        )
    return value


def _finite(number: float, token: Token) -> float:
    if number in {float("inf"), float("-inf")}:
        raise Fault("float literal is too large", token.position)
    return number
