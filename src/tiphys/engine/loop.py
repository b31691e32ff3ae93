"""Loops: one step or task with items becomes many."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

import msgspec

from tiphys.engine.resolve import UnresolvedError
from tiphys.engine.scope import Overlay
from tiphys.engine.shield import shield, unshield
from tiphys.errors import ExpressionError
from tiphys.spec import expression, model
from tiphys.spec.template import compile_template

S = TypeVar("S", model.WorkflowStep, model.DAGTask)

MAX_FAN_OUT = 100_000


def expands(step: model.WorkflowStep | model.DAGTask) -> bool:
    """Whether the step is a loop."""
    return bool(step.with_items) or bool(step.with_param) or step.with_sequence is not None


def passes(when: str) -> bool:
    """Evaluate ``when``, its tags already resolved; no condition passes."""
    if not when:
        return True
    try:
        return expression.evaluate_when(unshield(when))
    except ExpressionError as error:
        raise type(error)(f"{error} [{error.code}]") from None


def expand_loop(step: S, values: Mapping[str, str]) -> Iterator[S]:
    """Give one step for each item, named ``name(index:item)``."""
    try:
        items = _items(step)
    except UnresolvedError:
        if not _certainly_skipped(step.when):
            raise
        items = ()
    if len(items) > MAX_FAN_OUT:
        raise UnresolvedError(
            f"fanout_limit: {len(items)} items in {step.name}, at most {MAX_FAN_OUT} are allowed"
        )
    bare = msgspec.structs.replace(step, with_items=None, with_param="", with_sequence=None)
    raw = msgspec.json.encode(bare).decode()
    text = compile_template(raw)
    # Where no tag asks for the item, all are the same step.
    all_alike = not text.tags and unshield(raw) == raw
    lenient = _certainly_skipped(step.when)
    for index, item in enumerate(items):
        described, own = _describe(index, item)
        name = f"{step.name}({index}:{described})"
        if all_alike:
            yield msgspec.structs.replace(bare, name=name)
            continue
        try:
            rendered = text.render(Overlay(own, values), allow_unresolved=lenient, json_text=True)
        except ExpressionError as error:
            raise UnresolvedError(str(error)) from None
        own_step = msgspec.json.decode(unshield(rendered), type=type(step))
        yield msgspec.structs.replace(own_step, name=name)


def _certainly_skipped(when: str) -> bool:
    try:
        return not passes(when)
    except ExpressionError:
        return False


def _items(step: model.WorkflowStep | model.DAGTask) -> Sequence[object]:
    if step.with_items:
        return step.with_items
    if step.with_param:
        text = unshield(step.with_param)
        try:
            items = msgspec.json.decode(text)
        except msgspec.DecodeError as error:
            items = error
        if items is None:
            return ()
        if not isinstance(items, list):
            problem = items if isinstance(items, Exception) else "it is not a list"
            shown = text.strip()[:200]
            raise UnresolvedError(
                f"withParam value could not be parsed as a JSON list: {shown}: {problem}"
            )
        return _exact_numbers(text, items)
    assert step.with_sequence is not None
    return _sequence(step.with_sequence)


def _exact_numbers(text: str, items: list[object]) -> list[object]:
    """Keep the spelling of numbers: ``1.0`` and ``1e3`` name their nodes as written."""
    if not any(isinstance(item, float) for item in items):
        return items
    raw = msgspec.json.decode(text, type=list[msgspec.Raw])
    return [
        _Spelled(bytes(r).decode()) if isinstance(item, float) else item
        for item, r in zip(items, raw, strict=True)
    ]


class _Spelled(str):
    """A number as it was written."""

    __slots__ = ()


def _sequence(sequence: model.Sequence) -> Sequence[object]:
    start = _number(sequence.start, "start") if sequence.start is not None else 0
    if sequence.end is not None:
        end = _number(sequence.end, "end")
    elif sequence.count is not None:
        count = _number(sequence.count, "count")
        if count == 0:
            return ()
        end = start + count - 1
    else:
        raise UnresolvedError("neither end nor count was specified in withSequence")
    size = abs(end - start) + 1
    if size > MAX_FAN_OUT:
        raise UnresolvedError(
            f"fanout_limit: withSequence gives {size} items, at most {MAX_FAN_OUT} are allowed"
        )
    numbers = range(start, end + 1) if start <= end else range(start, end - 1, -1)
    if not sequence.format:
        return [str(number) for number in numbers]
    return [_format(sequence.format, number) for number in numbers]


def _number(text: str, what: str) -> int:
    try:
        return int(unshield(text).strip())
    except ValueError:
        raise UnresolvedError(f"withSequence {what} must be a number, got {text!r}") from None


_VERB = r"%([-+# 0]*\d*(?:\.\d+)?)([dxXobcqvU])"


def _format(text: str, number: int) -> str:
    """Format as Go's Printf does with one integer."""
    python = {"v": "d", "b": "d"}

    def put(match: re.Match[str]) -> str:
        flags, verb = match.groups()
        if verb == "b":
            return f"{number:b}"
        return f"%{flags}{python.get(verb, verb)}" % number

    return re.sub(_VERB, put, text.replace("%%", "\0")).replace("\0", "%")


def _describe(index: int, item: object) -> tuple[str, dict[str, str]]:
    """Give the item as part of a node's name, and the values it gives to tags."""
    if isinstance(item, dict):
        texts = {key: _text(value) for key, value in item.items()}
        own = {f"item.{key}": shield(text) for key, text in texts.items()}
        own["item"] = shield(expression.dump(dict(sorted(item.items())), html=False))
        described = ",".join(sorted(f"{key}:{text}" for key, text in texts.items()))
    elif isinstance(item, list):
        own = {"item": shield(expression.dump(item, html=False))}
        described = "[" + " ".join(_text(each) for each in item) + "]"
    elif isinstance(item, str):
        own = {"item": shield(item)}
        described = _text(item)
    else:
        described = _text(item)
        own = {"item": described}
    return described.replace("(", "").replace(")", ""), own


def _text(value: object) -> str:
    """Write an item as Argo does: as JSON, the quotes of a string taken off."""
    if isinstance(value, _Spelled) or (isinstance(value, str) and _is_simple(value)):
        return str(value)
    text = expression.dump(value, html=False)
    return text[1:-1] if isinstance(value, str) else text


def _is_simple(text: str) -> bool:
    """Tell whether JSON would write nothing in it otherwise."""
    return text.isascii() and text.isprintable() and '"' not in text and "\\" not in text
