"""What a field of the model may hold, worked out when a document first has it.

msgspec can describe its types as well, but only a whole tree at once: the hundreds of types that a
Workflow reaches cost more than all that a small file needs. Here a Struct is looked at when a value
of it is met.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import msgspec

from tiphys.spec.model import Model

STRUCT, ITEMS, MAPPING, MARKED = "struct", "items", "mapping", "marked"
TEXT, WHOLE, NUMBER, TRUTH = "text", "whole", "number", "truth"
EITHER, ANYTHING = "either", "anything"


class Shape(msgspec.Struct, frozen=True):
    """The kind of a value, and what more there is to know of it."""

    kind: str
    inner: Any = None
    """The Struct's class, or the shape of items and values."""
    source: str = ""
    """Of marked text: what it may be written as (``any`` or ``number``)."""


class StructField(msgspec.Struct, frozen=True):
    """What the walk needs to know about a field."""

    name: str
    """The attribute that holds it."""
    info: Shape
    required: bool


_PLAIN: Mapping[Any, Shape] = {
    str: Shape(TEXT),
    int: Shape(WHOLE),
    float: Shape(NUMBER),
    bool: Shape(TRUTH),
    Any: Shape(ANYTHING),
}


@cache
def fields_of(cls: type[msgspec.Struct]) -> Mapping[str, StructField]:
    """Give the fields of a Struct by their JSON names."""
    return {
        each.encode_name: StructField(each.name, shape_of(each.type), each.required)
        for each in msgspec.structs.fields(cls)
    }


@cache
def required_of(cls: type[msgspec.Struct]) -> tuple[str, ...]:
    """Give the JSON names of the fields without which there is no Struct."""
    return tuple(name for name, found in fields_of(cls).items() if found.required)


def shape_of(annotation: Any) -> Shape:
    """Give the shape of a type of the model; None is nobody's: a null is an absent value."""
    plain = _PLAIN.get(annotation)
    if plain is not None:
        return plain
    origin = get_origin(annotation)
    if origin is None:
        return _of_class(annotation)
    arguments = get_args(annotation)
    if origin is Annotated:
        return _marked(arguments)
    if origin in (Union, UnionType):
        return _of_union([each for each in arguments if each is not NoneType])
    if origin is tuple:
        return Shape(ITEMS, shape_of(arguments[0]))
    if origin is dict:
        return Shape(MAPPING, shape_of(arguments[1]))
    raise TypeError(f"the model uses a type that the walk does not know: {annotation}")


def _of_class(annotation: Any) -> Shape:
    if isinstance(annotation, type) and issubclass(annotation, msgspec.Struct):
        return Shape(STRUCT, annotation)
    raise TypeError(f"the model uses a type that the walk does not know: {annotation}")


def _marked(arguments: tuple[Any, ...]) -> Shape:
    for meta in arguments[1:]:
        if isinstance(meta, msgspec.Meta) and meta.extra and "from" in meta.extra:
            return Shape(MARKED, source=meta.extra["from"])
    return shape_of(arguments[0])


def _of_union(members: list[Any]) -> Shape:
    if len(members) == 1:
        return shape_of(members[0])
    if set(members) == {int, str}:
        return Shape(EITHER)
    raise TypeError(f"the model uses a union that the walk does not know: {members}")


def struct(cls: type[Model]) -> Shape:
    """Give the shape of a whole document."""
    return Shape(STRUCT, cls)
