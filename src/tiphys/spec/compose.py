"""Values from the events of PyYAML's parser, pulled one by one: every limit is checked before
anything grows.

PyYAML's own composer is not used: it recurses in C (100,000 nested brackets end the process), keeps
the last of duplicate keys silently and follows merge keys and aliases until memory is gone. Loaded
when it is needed: plain JSON in ASCII (`spec.plain`) does without, and PyYAML takes as long to load
as the whole model.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import msgspec
import yaml

from tiphys.errors import Problem, SpecError
from tiphys.spec.scalar import Scalar, is_boolean, resolve
from tiphys.spec.yaml import (
    MAX_ALIASES,
    MAX_DEPTH,
    MAX_MERGED_KEYS,
    MAX_NODES,
    Document,
    Entry,
    Key,
    Node,
    Path,
    error_at,
)

CONTROL = yaml.reader.Reader.NON_PRINTABLE
"""Compiled by PyYAML already: such a class of characters takes as long as a small module."""
_LOADER: Any = getattr(yaml, "CLoader", yaml.Loader)
_STANDARD = "tag:yaml.org,2002:"
_SCALAR_TAGS: dict[str, tuple[type, ...]] = {
    _STANDARD + "int": (int,),
    _STANDARD + "float": (float, int),
    _STANDARD + "bool": (bool,),
    _STANDARD + "null": (type(None),),
}
_TEXT_TAGS = frozenset({"!", _STANDARD + "str", _STANDARD + "timestamp"})


class Composer(msgspec.Struct):
    """Turns events into nodes. One per file; it counts, so that limits hold for the whole file."""

    file: str
    source: str
    problems: list[Problem] = msgspec.field(default_factory=list)
    nodes: int = 0
    aliases: int = 0
    merged: int = 0
    anchors: dict[str, Node | None] = msgspec.field(default_factory=dict)
    boolean_keys: list[Key] = msgspec.field(default_factory=list)

    def run(self) -> list[Document]:
        events = yaml.parse(self.source, Loader=_LOADER)
        documents: list[Document] = []
        try:
            for event in events:
                if isinstance(event, yaml.DocumentStartEvent):
                    self.anchors, self.boolean_keys = {}, []
                    root = self._compose(next(events), events, ())
                    if root.value is not None:
                        keys = tuple(self.boolean_keys)
                        documents.append(Document(root.value, self.file, root, keys))
        except yaml.YAMLError as error:
            raise SpecError([*self.problems, self._syntax(error)]) from error
        return documents

    def _syntax(self, error: yaml.YAMLError) -> Problem:
        if isinstance(error, yaml.reader.ReaderError):
            return error_at(self.file, self.source[: int(error.position)], str(error.reason))
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        words = [getattr(error, "context", None), getattr(error, "problem", None)]
        message = ": ".join(str(word) for word in words if word) or str(error)
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        return Problem(
            code="parse_error", message=message, file=self.file, line=line, column=column
        )

    def _stop(
        self, event: Any, message: str, *, code: str = "yaml_limit", hint: str = ""
    ) -> SpecError:
        self._note(event, code, message, hint=hint)
        return SpecError(self.problems)

    def _note(self, event: Any, code: str, message: str, *, hint: str = "") -> None:
        line, column = _mark(event)
        self.problems.append(
            Problem(code=code, message=message, file=self.file, line=line, column=column, hint=hint)
        )

    def _count(self, event: Any, amount: int) -> None:
        self.nodes += amount
        if self.nodes > MAX_NODES:
            raise self._stop(event, f"the file stands for more than {MAX_NODES:,} values")

    def _compose(self, event: Any, events: Iterator[Any], path: Path) -> Node:
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event)
        self._count(event, 1)
        if len(path) > MAX_DEPTH:
            raise self._stop(event, f"values are nested more than {MAX_DEPTH} levels deep")
        if event.anchor:
            self.anchors[event.anchor] = None
        if isinstance(event, yaml.ScalarEvent):
            node = self._scalar(event)
        elif isinstance(event, yaml.SequenceStartEvent):
            node = self._sequence(event, events, path)
        else:
            node = self._mapping(event, events, path)
        if event.anchor:
            self.anchors[event.anchor] = node
        return node

    def _alias(self, event: Any) -> Node:
        self.aliases += 1
        if self.aliases > MAX_ALIASES:
            raise self._stop(event, f"the file has more than {MAX_ALIASES} aliases")
        if event.anchor not in self.anchors:
            raise self._stop(event, f"the alias *{event.anchor} has no anchor", code="parse_error")
        node = self.anchors[event.anchor]
        if node is None:
            message = f"the alias *{event.anchor} stands inside of its own anchor"
            raise self._stop(event, message, code="parse_error")
        self._count(event, node.size)
        return node

    def _scalar(self, event: Any) -> Node:
        line, column = _mark(event)
        value, text = self._value(event)
        return Node(value, line, column, None, 1, text)

    def _value(self, event: Any) -> tuple[Scalar, str]:
        if event.tag in _TEXT_TAGS or (event.tag is None and not event.implicit[0]):
            return str(event.value), ""
        if event.tag is not None and event.tag not in _SCALAR_TAGS:
            self._tag(event)
            return str(event.value), ""
        value = resolve(event.value)
        if event.tag is not None and type(value) not in _SCALAR_TAGS[event.tag]:
            name = event.tag.removeprefix(_STANDARD)
            self._note(event, "parse_error", f"{event.value[:60]!r} is not a !!{name}")
        if isinstance(value, float) and not math.isfinite(value):
            message = f"{event.value} is not a number that JSON can hold"
            self._note(event, "parse_error", message, hint="quote it")
        return value, "" if isinstance(value, str) else str(event.value)

    def _tag(self, event: Any) -> None:
        name = event.tag.replace(_STANDARD, "!!")
        self._note(event, "yaml_tag", f"the tag {name[:100]} is not allowed")

    def _sequence(self, event: Any, events: Iterator[Any], path: Path) -> Node:
        if event.tag not in (None, "!", _STANDARD + "seq"):
            self._tag(event)
        children: list[Node] = []
        size = 1
        for item in events:
            if isinstance(item, yaml.SequenceEndEvent):
                break
            if isinstance(item, yaml.ScalarEvent) and not item.anchor and len(path) < MAX_DEPTH:
                self._count(item, 1)  # As below, for the many lists of plain values.
                child = self._scalar(item)
            else:
                child = self._compose(item, events, (*path, len(children)))
            children.append(child)
            size += child.size
        line, column = _mark(event)
        return Node([child.value for child in children], line, column, children, size)

    def _mapping(self, event: Any, events: Iterator[Any], path: Path) -> Node:
        if event.tag not in (None, "!", _STANDARD + "map"):
            self._tag(event)
        children: dict[str, Entry] = {}
        size = 1
        for item in events:
            if isinstance(item, yaml.MappingEndEvent):
                break
            key = self._key(item, events, path)
            node = self._compose(next(events), events, (*path, key or "<<"))
            size += node.size + 1
            if key is None:
                size += self._merge(children, item, node)
            else:
                self._add(children, key, item, node)
        line, column = _mark(event)
        value = {key: entry.node.value for key, entry in children.items()}
        return Node(value, line, column, children, size)

    def _key(self, event: Any, events: Iterator[Any], path: Path) -> str | None:
        """Give the text of a key; None is the merge key."""
        if isinstance(event, yaml.ScalarEvent) and event.value == "<<" and event.implicit[0]:
            return None
        # Looked at before composing: a key in a key in a key would nest without a path.
        plain = isinstance(event, (yaml.ScalarEvent, yaml.AliasEvent))
        node = self._compose(event, events, path) if plain else None
        value = node.value if node else None
        if node is None or value is None or isinstance(value, (list, dict)):
            message = "a key must be text, not a list, a mapping or nothing"
            raise self._stop(event, message, code="parse_error", hint=_hint(event))
        if isinstance(value, bool):
            if is_boolean(node.text) and node.text.lower() not in ("true", "false"):
                key = Key(node.text, (*path, node.text), *_mark(event))
                self.boolean_keys.append(key)
            return "true" if value else "false"
        if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
            value = int(value)
        return value if isinstance(value, str) else str(value)

    def _add(self, children: dict[str, Entry], key: str, event: Any, node: Node) -> None:
        first = children.get(key)
        if first and not first.merged:
            message = f"the key {key[:100]!r} is given twice"
            hint = f"first on line {first.line}"
            self._note(event, "duplicate_key", message, hint=hint)
            return
        children[key] = Entry(*_mark(event), node)

    def _merge(self, children: dict[str, Entry], event: Any, node: Node) -> int:
        """Add the keys of merged mappings; return how much was added.

        As in Go, a merge takes place where it stands: it wins over the keys before it, and the
        keys behind it win over the merge. Of several mappings the first wins.
        """
        sources = node.children if isinstance(node.children, list) else [node]
        added = 0
        for source in reversed(sources):
            if not isinstance(source.children, dict):
                message = "only mappings can be merged with <<"
                raise self._stop(event, message, code="parse_error")
            self.merged += len(source.children)
            if self.merged > MAX_MERGED_KEYS:
                raise self._stop(event, f"more than {MAX_MERGED_KEYS:,} keys are merged with <<")
            for key, entry in source.children.items():
                children[key] = Entry(*_mark(event), entry.node, merged=True)
                added += entry.node.size + 1
        self._count(event, added)
        return added


def _hint(key: Any) -> str:
    """Say what was meant by a key that is a mapping: two braces without quotes, as a rule."""
    if not (isinstance(key, yaml.MappingStartEvent) and key.flow_style):
        return ""
    return "put {{…}} in quotes; a Helm template has to be rendered first"


def _mark(event: Any) -> tuple[int, int]:
    return event.start_mark.line + 1, event.start_mark.column + 1
