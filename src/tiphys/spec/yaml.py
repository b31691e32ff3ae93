"""YAML the way Argo reads it, with the place of everything, behind guards.

Values are composed here from the parser's events. PyYAML's own composer is not used: it recurses
in C (100,000 nested brackets end the process), keeps the last of duplicate keys silently and
follows merge keys and aliases until memory is gone. Pulling events one by one, every limit is
checked before anything grows.

A `Document` holds plain JSON data and knows line and column of each path in it. All problems that
leave the structure readable (duplicate keys, tags) are gathered; a syntax error ends the file.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec
import yaml

from tiphys.errors import Problem, SpecError
from tiphys.spec import plain
from tiphys.spec.scalar import Scalar, is_boolean, resolve

Path = tuple[str | int, ...]

MAX_BYTES = 2 * 1024 * 1024
MAX_DEPTH = 64
MAX_NODES = 200_000
"""Values of a file, each alias counted with all that it stands for."""
MAX_ALIASES = 100
MAX_MERGED_KEYS = 10_000

_LOADER: Any = getattr(yaml, "CLoader", yaml.Loader)
_CONTROL = yaml.reader.Reader.NON_PRINTABLE
"""Compiled by PyYAML already: such a class of characters takes as long as a small module."""
_FINE = bytes((9, 10, 13, *range(32, 127)))
"""All of ASCII that it does not find."""
_SURROGATE_PAIR = re.compile(
    r"(?<!\\)((?:\\\\)*)\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})"
)
_STANDARD = "tag:yaml.org,2002:"
_SCALAR_TAGS: dict[str, tuple[type, ...]] = {
    _STANDARD + "int": (int,),
    _STANDARD + "float": (float, int),
    _STANDARD + "bool": (bool,),
    _STANDARD + "null": (type(None),),
}
_TEXT_TAGS = frozenset({"!", _STANDARD + "str", _STANDARD + "timestamp"})


class Node(NamedTuple):
    """A value, where it starts, and the nodes below it."""

    value: Any
    line: int
    column: int
    children: dict[str, Entry] | list[Any] | None
    """Entries of a mapping, nodes of a list."""
    size: int
    text: str = ""
    """The unquoted text, where the value is a boolean or a number."""


class Entry(NamedTuple):
    """The value of a mapping's key, and where the key stands."""

    line: int
    column: int
    node: Node
    merged: bool = False


NOWHERE = Node(None, 0, 0, None, 0)
"""The place of data that no text stands behind."""


class Key(NamedTuple):
    """A key that Argo takes for a boolean."""

    text: str
    path: Path
    line: int
    column: int


class Document(msgspec.Struct):
    """One document of a file: its data, and where each part of it stands."""

    value: Any
    file: str
    _root: Node | None = None
    boolean_keys: tuple[Key, ...] = ()
    source: str = ""
    """The text of the file, where it was read without regard to places."""

    @property
    def root(self) -> Node:
        """The data again, with its places; found out only when somebody asks."""
        if self._root is None:
            self._root = _root(self.file, self.source) if self.source else NOWHERE
        return self._root

    def place(self, path: Path = ()) -> tuple[int, int]:
        """Give line and column of the value at ``path``, or of the nearest thing around it."""
        node = self.root
        for part in path:
            below = _child(node, part)
            if below is None:
                break
            node = below
        return node.line, node.column

    def key_place(self, path: Path) -> tuple[int, int]:
        """Give line and column of the key of the last part of ``path``."""
        parent = self._node(path[:-1])
        if path and parent and isinstance(parent.children, dict):
            entry = parent.children.get(str(path[-1]))
            if entry:
                return entry.line, entry.column
        return self.place(path)

    def text(self, path: Path) -> str:
        """Give the unquoted text of a boolean or number, "" for anything else."""
        node = self._node(path)
        return node.text if node else ""

    def get(self, path: Path) -> Any:
        """Give the data at ``path`` as it was written, None where there is nothing."""
        node = self._node(path)
        return node.value if node else None

    def below(self, path: Path) -> Document:
        """Give the part at ``path`` as a document of its own (an item of a ``List``)."""
        node = self._node(path)
        if node is None:
            raise KeyError(path)
        depth = len(path)
        keys = (key for key in self.boolean_keys if key.path[:depth] == path)
        inner = tuple(key._replace(path=key.path[depth:]) for key in keys)
        return Document(node.value, self.file, node, inner)

    def _node(self, path: Path) -> Node | None:
        node: Node | None = self.root
        for part in path:
            node = _child(node, part) if node else None
        return node


def _root(file: str, source: str) -> Node:
    try:
        return _Composer(file, source).run()[0].root
    except SpecError:
        # JSON may break lines where YAML may not: all of it is where it begins.
        return NOWHERE._replace(line=1, column=1)


def _child(node: Node, part: str | int) -> Node | None:
    if isinstance(node.children, dict):
        entry = node.children.get(str(part))
        return entry.node if entry else None
    if isinstance(node.children, list) and isinstance(part, int) and part < len(node.children):
        child: Node = node.children[part]
        return child
    return None


def load(text: bytes | str, *, file: str = "") -> list[Document]:
    """Read all documents of ``text``; empty ones are left out.

    Raises SpecError (``parse_error``, ``yaml_limit``, ``duplicate_key``, ``yaml_tag``).
    """
    source = _decode(text, file)
    value = plain.read(source, most=MAX_NODES, depth=MAX_DEPTH)
    if value is not plain.NOT_PLAIN:
        return [Document(value, file, source=source)]
    composer = _Composer(file, source)
    documents = composer.run()
    if composer.problems:
        raise SpecError(composer.problems)
    return documents


def _decode(text: bytes | str, file: str) -> str:
    if len(text) > MAX_BYTES:
        message = f"the text is larger than {MAX_BYTES // 2**20} MiB"
        raise SpecError([_limit(file, _lines(text[:MAX_BYTES]), 1, message)])
    text = (_utf8(text, file) if isinstance(text, bytes) else text).removeprefix("\ufeff")
    # The short way first: most texts are ASCII, and some are long.
    is_fine = text.isascii() and not text.encode("ascii").translate(None, _FINE)
    bad = None if is_fine else _CONTROL.search(text)
    if bad:
        message = f"the character U+{ord(bad[0]):04X} is not allowed in YAML"
        raise SpecError([_at(file, text[: bad.start()], message)])
    if "\\u" in text and text.lstrip()[:1] in ("{", "["):
        # JSON writes characters past the first plane as two escapes, which YAML does not know.
        text = _SURROGATE_PAIR.sub(_join_pair, text)
    return text


def _lines(text: bytes | str) -> int:
    return (text.count(b"\n") if isinstance(text, bytes) else text.count("\n")) + 1


def _utf8(data: bytes, file: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        good = data[: error.start].decode("utf-8")
        raise SpecError([_at(file, good, "the text is not valid UTF-8")]) from error


def _join_pair(match: re.Match[str]) -> str:
    high, low = int(match[2], 16), int(match[3], 16)
    return f"{match[1]}\\U{0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00):08x}"


def _at(file: str, before: str, message: str) -> Problem:
    line = before.count("\n") + 1
    column = len(before) - (before.rfind("\n") + 1) + 1
    return Problem(code="parse_error", message=message, file=file, line=line, column=column)


def _limit(file: str, line: int, column: int, message: str) -> Problem:
    return Problem(code="yaml_limit", message=message, file=file, line=line, column=column)


class _Composer(msgspec.Struct):
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
            return _at(self.file, self.source[: int(error.position)], str(error.reason))
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
