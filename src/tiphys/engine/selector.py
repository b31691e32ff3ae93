"""Which nodes a person means: Argo's node field selectors, ``displayName=a,phase!=Succeeded``.

Pure. The grammar is that of Kubernetes' field selectors: conditions joined by commas, all of which
must hold, and a backslash before a comma, an equals sign or a backslash that is part of a value. A
field that no node has is refused here; Argo takes it for one that is always empty.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import msgspec

from tiphys.engine.node import Node
from tiphys.errors import InvalidInputError

_CONDITION = re.compile(r"(?P<field>[^=!]*)(?P<how>!=|==|=)(?P<value>.*)", re.DOTALL)
_PART = re.compile(r"(?:\\.|[^,\\])+", re.DOTALL)
_ESCAPED = re.compile(r"\\(.?)", re.DOTALL)
_INPUT = re.compile(r"inputs\.parameters\.(?P<name>.+)\.value", re.DOTALL)


def template_of(node: Node) -> str:
    """Give the name of the template behind a node, also where it belongs to another object."""
    return node.template_name if node.template_ref is None else node.template_ref.template


_FIELDS: Mapping[str, Callable[[Node], str]] = {
    "displayName": lambda node: node.display_name,
    "name": lambda node: node.name,
    "id": lambda node: node.id,
    "templateName": template_of,
    "phase": lambda node: str(node.phase),
    "templateRef.name": lambda node: node.template_ref.name if node.template_ref else "",
    "templateRef.template": lambda node: node.template_ref.template if node.template_ref else "",
}
ALLOWED = (*_FIELDS, "inputs.parameters.NAME.value")
"""The fields that a condition may be about."""


class Condition(msgspec.Struct, frozen=True):
    """One field and the value that it must have, or must not have."""

    field: str
    wanted: bool
    value: str

    def holds(self, node: Node) -> bool:
        """Whether it is true of ``node``; a field that the node lacks is empty."""
        return (_value(node, self.field) == self.value) is self.wanted


class NodeSelector(msgspec.Struct, frozen=True):
    """Conditions that must all hold; none at all select every node."""

    conditions: tuple[Condition, ...] = ()

    def matches(self, node: Node) -> bool:
        """Whether ``node`` is meant."""
        return all(condition.holds(node) for condition in self.conditions)


def parse_selector(text: str) -> NodeSelector:
    """Read a selector; raise InvalidInputError where it cannot be read."""
    conditions = []
    position = 0
    while position < len(text):
        found = _PART.match(text, position)
        if found is None and text[position] != ",":
            raise _refusal(text[position:], "it ends in a backslash")
        if found is not None and found[0].strip():
            conditions.append(_condition(found[0]))
        position = found.end() if found is not None else position + 1
    return NodeSelector(tuple(conditions))


def _condition(part: str) -> Condition:
    found = _CONDITION.fullmatch(part.strip())
    if found is None:
        raise _refusal(part, "write FIELD=VALUE or FIELD!=VALUE")
    field = found["field"].strip()
    if field not in _FIELDS and _INPUT.fullmatch(field) is None:
        raise _refusal(part, f"the fields are {', '.join(ALLOWED)}")
    return Condition(field, found["how"] != "!=", _unescape(part, found["value"].strip()))


def _unescape(part: str, value: str) -> str:
    plain = _ESCAPED.sub("", value)
    if "=" in plain:
        raise _refusal(part, r"an equals sign in a value is written \=")
    if any(escaped not in ("\\", ",", "=") for escaped in _ESCAPED.findall(value)):
        raise _refusal(part, r"a backslash in a value is written \\")
    return _ESCAPED.sub(r"\1", value)


def _refusal(part: str, hint: str) -> InvalidInputError:
    return InvalidInputError(f"node field selector: cannot read {part.strip()[:200]!r}: {hint}")


def _value(node: Node, field: str) -> str:
    known = _FIELDS.get(field)
    if known is not None:
        return known(node)
    found = _INPUT.fullmatch(field)
    if found is None or node.inputs is None:
        return ""
    values = {parameter.name: parameter.value for parameter in node.inputs.parameters}
    return values.get(found["name"]) or ""
