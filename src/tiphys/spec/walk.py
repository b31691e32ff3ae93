"""Checks plain data against the model's types and makes it ready for them.

msgspec stops at the first mismatch and knows no lines, so the data is walked here: every wrong
type, unknown field and missing field goes into the report. On the way the data becomes what Go's
decoder would see: an absent value where ``null`` was written, text where Argo takes a number for
text.

The walk makes the Structs as well. msgspec would have to look through every type that a Workflow
can reach before it made the first, which takes longer than to read and make a small one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import msgspec

from tiphys.spec import shape as sh
from tiphys.spec.model import Model
from tiphys.spec.report import Report
from tiphys.spec.scalar import number_text
from tiphys.spec.shape import Shape, StructField, fields_of, required_of, struct
from tiphys.spec.yaml import Path

T = TypeVar("T", bound=Model)

_BAD = object()
"""Stands for a value that is already reported."""


def read(value: Any, cls: type[T], report: Report, path: Path = ()) -> T | None:
    """Turn plain data into a ``cls``; None when the report says why it cannot be."""
    made: T = Walk(report, makes=True).walk(struct(cls), value, path)
    return None if any(not problem.warning for problem in report.problems) else made


def salvage(value: Any, cls: type[T]) -> T | None:
    """Give what of a damaged document can be read; None where that is too little to look at."""
    clean = Walk(Report()).walk(struct(cls), value, ())
    try:
        return msgspec.convert(_sound(clean), cls)
    except msgspec.ValidationError:
        return None


def _sound(value: Any) -> Any:
    """Leave out what was reported already."""
    if isinstance(value, dict):
        return {key: _sound(item) for key, item in value.items() if item is not _BAD}
    if isinstance(value, list):
        return [_sound(item) for item in value if item is not _BAD]
    return value


class Walk(msgspec.Struct):
    """One walk over one document."""

    report: Report
    makes: bool = False
    """Whether Structs are made; else the data stays plain, under the names it came with."""

    def walk(self, info: Shape, value: Any, path: Path) -> Any:
        """Give the value made ready for its type."""
        return _STEPS[info.kind](self, info, value, path)

    def struct(self, info: Shape, value: Any, path: Path) -> Any:
        if not isinstance(value, dict):
            return self.wrong(path, "a mapping", value)
        fields = fields_of(info.inner)
        clean = {}
        for key, item in value.items():
            found = fields.get(key)
            if found is None:
                self.unknown((*path, key), fields)
            elif item is not None:
                is_ready = found.info.kind == sh.TEXT and isinstance(item, str)  # As most are.
                ready = item if is_ready else self.walk(found.info, item, (*path, key))
                clean[found.name if self.makes else key] = ready
        missing = [key for key in required_of(info.inner) if value.get(key) is None]
        for key in missing:
            self.report.add((*path, key), f"the field {key!r} is missing")
        if not self.makes:
            return clean
        return _BAD if missing else info.inner(**clean)

    def unknown(self, path: Path, fields: Mapping[str, StructField]) -> None:
        hint = self.report.close_to(str(path[-1]), fields)
        message = f"there is no field {str(path[-1])[:100]!r} here"
        self.report.add(path, message, code="unknown_field", hint=hint, warning=True, at_key=True)

    def items(self, info: Shape, value: Any, path: Path) -> Any:
        if not isinstance(value, list | tuple):
            hint = "put a dash before it" if isinstance(value, (dict, str)) else ""
            return self.wrong(path, "a list", value, hint=hint)
        inner = info.inner
        # The many names of a wide join are looked at together, for instance.
        is_ready = inner.kind == sh.TEXT and {str}.issuperset(map(type, value))
        if not is_ready and inner.kind != sh.ANYTHING:
            value = [
                self.walk(inner, _zero(inner) if item is None else item, (*path, index))
                for index, item in enumerate(value)
            ]
        return tuple(value) if self.makes else value

    def mapping(self, info: Shape, value: Any, path: Path) -> Any:
        if not isinstance(value, dict):
            return self.wrong(path, "a mapping", value)
        for key in value:
            if not isinstance(key, str):
                self.wrong(path, "names that are text", key)
        inner = info.inner
        if inner.kind == sh.ANYTHING:
            return value
        return {
            key: self.walk(inner, _zero(inner) if item is None else item, (*path, key))
            for key, item in value.items()
        }

    def marked(self, info: Shape, value: Any, path: Path) -> Any:
        """Read text that may be written as a number (or anything scalar)."""
        if isinstance(value, bool) and info.source == "any":
            return "true" if value else "false"
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return number_text(value)
        return self.text(info, value, path)

    def text(self, _: Any, value: Any, path: Path) -> Any:
        if isinstance(value, str):
            return value
        return self.wrong(path, "text", value, hint=self.quoting(path, value))

    def quoting(self, path: Path, value: Any) -> str:
        if isinstance(value, (dict, list)):
            return ""
        document = self.report.document
        written = document.text(self.report.prefix + path) if document else ""
        return f'quote it: "{written or value}"'

    def whole(self, _: Any, value: Any, path: Path) -> Any:
        if isinstance(value, float) and value.is_integer() and abs(value) < 2**63:
            return int(value)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        return self.wrong(path, "a whole number", value)

    def number(self, _: Any, value: Any, path: Path) -> Any:
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            try:
                return float(value) if self.makes else value
            except OverflowError:
                return self.wrong(path, "a smaller number", value)
        return self.wrong(path, "a number", value)

    def truth(self, _: Any, value: Any, path: Path) -> Any:
        return value if isinstance(value, bool) else self.wrong(path, "true or false", value)

    def either(self, _: Any, value: Any, path: Path) -> Any:
        """Read an ``int | str``, the only union of the model."""
        if isinstance(value, str):
            return value
        return self.whole(_, value, path)

    def anything(self, _: Any, value: Any, path: Path) -> Any:
        return value

    def wrong(self, path: Path, wanted: str, value: Any, *, hint: str = "") -> Any:
        document = self.report.document
        written = document.text(self.report.prefix + path) if document else ""
        self.report.add(path, f"expected {wanted}, found {_describe(value, written)}", hint=hint)
        return _BAD


def _describe(value: Any, written: str) -> str:
    if isinstance(value, bool):
        shown = written or str(value).lower()
        return f"{shown!r}, which YAML takes for a boolean without quotes" if written else shown
    if isinstance(value, (int, float)):
        return f"the number {written or value}"
    if isinstance(value, str):
        return f"the text {value[:60]!r}"
    if value is None:
        return "nothing"
    return "a list" if isinstance(value, list) else "a mapping"


def _zero(info: Shape) -> Any:
    """Give what Go makes of a null inside of a list or a map."""
    if info.kind in (sh.MARKED, sh.TEXT):
        return ""
    if info.kind == sh.STRUCT:
        return {}
    return [] if info.kind == sh.ITEMS else None


_STEPS: Mapping[str, Callable[[Walk, Any, Any, Path], Any]] = {
    sh.STRUCT: Walk.struct,
    sh.ITEMS: Walk.items,
    sh.MAPPING: Walk.mapping,
    sh.MARKED: Walk.marked,
    sh.TEXT: Walk.text,
    sh.WHOLE: Walk.whole,
    sh.NUMBER: Walk.number,
    sh.TRUTH: Walk.truth,
    sh.EITHER: Walk.either,
    sh.ANYTHING: Walk.anything,
}
