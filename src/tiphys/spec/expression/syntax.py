"""The nodes of an expr-lang tree.

Each node carries the position of its text and its depth, which the parser bounds. A run of left
associative operators counts as one level, since the interpreter walks it in a loop.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """What all nodes have."""

    position: int
    depth: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Literal(Placed):
    """nil, a bool, a number or a string."""

    value: bool | int | float | str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Name(Placed):
    """A variable of the environment, or a ``let``."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Pointer(Placed):
    """``#``, ``#index``, ``#acc``."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Unary(Placed):
    """``not x``, ``-x``."""

    operator: str
    operand: Node


@dataclass(frozen=True, slots=True, kw_only=True)
class Binary(Placed):
    """``x + y``."""

    operator: str
    left: Node
    right: Node


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain(Placed):
    """Where a broken ``?.`` ends: the whole of it becomes nil."""

    body: Node


@dataclass(frozen=True, slots=True, kw_only=True)
class Member(Placed):
    """``x.name``, ``x[key]``, ``x?.name``."""

    base: Node
    key: Node
    optional: bool = False
    method: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice(Placed):
    """``x[a:b]``."""

    base: Node
    start: Node | None
    stop: Node | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Call(Placed):
    """A call of something that is not a builtin."""

    callee: Node
    arguments: tuple[Node, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Builtin(Placed):
    """A call of a builtin."""

    name: str
    arguments: tuple[Node, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Predicate(Placed):
    """What filter and its kin run for each element."""

    body: Node


@dataclass(frozen=True, slots=True, kw_only=True)
class Let(Placed):
    """``let name = value; body``."""

    name: str
    value: Node
    body: Node


@dataclass(frozen=True, slots=True, kw_only=True)
class Sequence(Placed):
    """``a; b``: the value of the last."""

    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditional(Placed):
    """``c ? a : b`` and ``if c { a } else { b }``."""

    condition: Node
    then: Node
    otherwise: Node


@dataclass(frozen=True, slots=True, kw_only=True)
class Array(Placed):
    """``[a, b]``."""

    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mapping(Placed):
    """``{a: b}``."""

    pairs: tuple[tuple[Node, Node], ...] = field(default=())


Node: TypeAlias = (
    Literal
    | Name
    | Pointer
    | Unary
    | Binary
    | Chain
    | Member
    | Slice
    | Call
    | Builtin
    | Predicate
    | Let
    | Sequence
    | Conditional
    | Array
    | Mapping
)


def children(node: Node) -> tuple[Node, ...]:  # noqa: PLR0911 - one arm for each kind of node
    """Give the nodes directly below ``node``, left to right."""
    match node:
        case Unary(operand=below) | Chain(body=below) | Predicate(body=below):
            return (below,)
        case Binary(left=left, right=right):
            return (left, right)
        case Member(base=base, key=key):
            return (base, key)
        case Slice(base=base, start=start, stop=stop):
            return (base, *(part for part in (start, stop) if part is not None))
        case Call(callee=callee, arguments=arguments):
            return (callee, *arguments)
        case Builtin(arguments=items) | Sequence(items=items) | Array(items=items):
            return items
        case Let(value=value, body=body):
            return (value, body)
        case Conditional(condition=condition, then=then, otherwise=otherwise):
            return (condition, then, otherwise)
        case Mapping(pairs=pairs):
            return tuple(part for pair in pairs for part in pair)
        case _:
            return ()
