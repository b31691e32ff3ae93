"""YAML the way Argo reads it, with the place of everything, behind guards.

A `Document` holds plain JSON data and knows line and column of each path in it. All problems that
leave the structure readable (duplicate keys, tags) are gathered; a syntax error ends the file.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from tiphys.errors import Problem, SpecError
from tiphys.spec import plain

if TYPE_CHECKING:
    from tiphys.spec.compose import Composer

Path = tuple[str | int, ...]

MAX_BYTES = 2 * 1024 * 1024
MAX_DEPTH = 64
MAX_NODES = 200_000
"""Values of a file, each alias counted with all that it stands for."""
MAX_ALIASES = 100
MAX_MERGED_KEYS = 10_000

_FINE = bytes((9, 10, 13, *range(32, 127)))
"""All of ASCII that YAML allows."""
_SURROGATE_PAIR = (
    r"(?<!\\)((?:\\\\)*)\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})"
)


class Node(msgspec.Struct, frozen=True):
    """A value, where it starts, and the nodes below it."""

    value: Any
    line: int
    column: int
    children: dict[str, Entry] | list[Any] | None
    """Entries of a mapping, nodes of a list."""
    size: int
    text: str = ""
    """The unquoted text, where the value is a boolean or a number."""


class Entry(msgspec.Struct, frozen=True):
    """The value of a mapping's key, and where the key stands."""

    line: int
    column: int
    node: Node
    merged: bool = False


NOWHERE = Node(None, 0, 0, None, 0)
"""The place of data that no text stands behind."""


class Key(msgspec.Struct, frozen=True):
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
        inner = tuple(replace(key, path=key.path[depth:]) for key in keys)
        return Document(node.value, self.file, node, inner)

    def _node(self, path: Path) -> Node | None:
        node: Node | None = self.root
        for part in path:
            node = _child(node, part) if node else None
        return node


def _root(file: str, source: str) -> Node:
    try:
        return _composer(file, source).run()[0].root
    except SpecError:
        # JSON may break lines where YAML may not: all of it is where it begins.
        return replace(NOWHERE, line=1, column=1)


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
    composer = _composer(file, source)
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
    bad = None if is_fine else _control(text)
    if bad:
        message = f"the character U+{ord(bad[0]):04X} is not allowed in YAML"
        raise SpecError([error_at(file, text[: bad.start()], message)])
    if "\\" in text and "\\u" in text and text.lstrip()[:1] in ("{", "["):
        # JSON writes characters past the first plane as two escapes, which YAML does not know.
        text = re.sub(_SURROGATE_PAIR, _join_pair, text)
    return text


def _composer(file: str, source: str) -> Composer:
    from tiphys.spec.compose import Composer  # noqa: PLC0415 - see there

    return Composer(file, source)


def _control(text: str) -> re.Match[str] | None:
    from tiphys.spec.compose import CONTROL  # noqa: PLC0415 - see there

    return CONTROL.search(text)


def _lines(text: bytes | str) -> int:
    return (text.count(b"\n") if isinstance(text, bytes) else text.count("\n")) + 1


def _utf8(data: bytes, file: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        good = data[: error.start].decode("utf-8")
        raise SpecError([error_at(file, good, "the text is not valid UTF-8")]) from error


def _join_pair(match: re.Match[str]) -> str:
    high, low = int(match[2], 16), int(match[3], 16)
    return f"{match[1]}\\U{0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00):08x}"


def error_at(file: str, before: str, message: str) -> Problem:
    line = before.count("\n") + 1
    column = len(before) - (before.rfind("\n") + 1) + 1
    return Problem(code="parse_error", message=message, file=file, line=line, column=column)


def _limit(file: str, line: int, column: int, message: str) -> Problem:
    return Problem(code="yaml_limit", message=message, file=file, line=line, column=column)
