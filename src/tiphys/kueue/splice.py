"""Changes data inside of a YAML text and leaves the rest of the text as it is.

Pure. A text is read into plain data that remembers where each mapping and list stands (``Text``).
Whoever changes the data may set keys and put new items into lists, in place; ``Text.write`` finds
out what is new and puts just that into the text. Comments, quotes and order stay. What cannot be
done so (anchors, merged keys, things taken out) is seen, because the result is read again and
compared: then None is given, and the caller has to write all of it anew.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import yaml

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_WIDTH = 1_000_000


class _Edit(NamedTuple):
    start: int
    end: int
    text: str


class Text:
    """All documents of a text, as data that may be changed in place."""

    def __init__(self, text: str) -> None:
        """Read; raise ``yaml.YAMLError`` where that is impossible."""
        self._text = text
        self._places: dict[int, Any] = {}
        """Where each mapping and list stands, by its id; ``documents`` keeps them alive."""
        self._tops = [node for node in yaml.compose_all(text, Loader=_LOADER) if node is not None]
        self.documents = [self._read(node) for node in self._tops]

    def _read(self, node: Any) -> Any:
        if isinstance(node, yaml.MappingNode):
            found: Any = {self._scalar(key): self._read(value) for key, value in node.value}
        elif isinstance(node, yaml.SequenceNode):
            found = [self._read(each) for each in node.value]
        else:
            return self._scalar(node)
        self._places[id(found)] = node
        return found

    def _scalar(self, node: Any) -> Any:
        if not isinstance(node, yaml.ScalarNode):
            raise yaml.YAMLError("a key is no plain value")
        return yaml.constructor.SafeConstructor().construct_object(node)

    # --- writing ------------------------------------------------------------------------------

    def write(self) -> str | None:
        """Give the text with all changes; None where they cannot be put into it."""
        tops = zip(self._tops, self.documents, strict=True)
        edits = [edit for node, data in tops for edit in self._edits(node, data)]
        # Equal places keep their order: what is inside of a thing comes before what follows it.
        parts, at = [], 0
        for edit in sorted(edits, key=lambda each: each.start):
            parts += [self._text[at : edit.start], edit.text]
            at = max(at, edit.end)
        made = "".join([*parts, self._text[at:]])
        try:
            again = [each for each in yaml.load_all(made, Loader=_LOADER) if each is not None]
        except yaml.YAMLError:
            return None
        return made if again == self.documents else None

    def _edits(self, node: Any, data: Any) -> Iterator[_Edit]:
        if isinstance(node, yaml.MappingNode):
            yield from self._edits_of_mapping(node, data)
        else:
            yield from self._edits_of_list(node, data)

    def _edits_of_mapping(self, node: Any, data: dict[str, Any]) -> Iterator[_Edit]:
        known = set()
        for key, value in node.value:
            name = self._scalar(key)
            known.add(name)
            yield from self._edits_of_value(value, data.get(name))
        for name in (each for each in data if each not in known):
            if node.flow_style:
                yield self._into_flow(node, f"{json.dumps(name)}: {_flow(data[name])}")
            else:
                yield self._after(node, _block({name: data[name]}, node.start_mark.column))

    def _edits_of_value(self, node: Any, data: Any) -> Iterator[_Edit]:
        if self._places.get(id(data)) is node:
            yield from self._edits(node, data)
        elif not isinstance(node, yaml.ScalarNode) or self._scalar(node) != data:
            start, end = node.start_mark.index, node.end_mark.index
            space = "" if self._text[start - 1 : start].isspace() else " "
            yield _Edit(start, end, space + _flow(data))

    def _edits_of_list(self, node: Any, data: list[Any]) -> Iterator[_Edit]:
        old = iter([*node.value, None])
        child = next(old)
        for item in data:
            if child is not None and self._is_same(child, item):
                if not isinstance(child, yaml.ScalarNode):
                    yield from self._edits(child, item)
                child = next(old)
            elif child is None:
                yield self._at_end(node, item)
            else:
                yield self._before(node, child, item)

    def _is_same(self, node: Any, data: Any) -> bool:
        if isinstance(node, yaml.ScalarNode):
            return not isinstance(data, dict | list) and bool(self._scalar(node) == data)
        return self._places.get(id(data)) is node

    # --- places ---------------------------------------------------------------------------------

    def _into_flow(self, node: Any, text: str) -> _Edit:
        at = node.end_mark.index - 1
        return _Edit(at, at, f", {text}" if node.value else text)

    def _at_end(self, node: Any, item: Any) -> _Edit:
        if node.flow_style:
            return self._into_flow(node, _flow(item))
        return self._after(node, _block([item], node.start_mark.column))

    def _before(self, node: Any, child: Any, item: Any) -> _Edit:
        if node.flow_style:
            at = child.start_mark.index
            return _Edit(at, at, f"{_flow(item)}, ")
        dash = self._text.rfind("-", 0, child.start_mark.index + 1)
        at = self._above_comments(self._text.rfind("\n", 0, dash) + 1)
        return _Edit(at, at, _block([item], node.start_mark.column))

    def _above_comments(self, at: int) -> int:
        """Go up from the start of a line over the comments that speak of it."""
        while at:
            start = self._text.rfind("\n", 0, at - 1) + 1
            if not self._text[start:at].lstrip().startswith("#"):
                return at
            at = start
        return at

    def _after(self, node: Any, text: str) -> _Edit:
        at = self._end_of(node)
        if self._text[at - 1 : at] != "\n":
            at = self._text.find("\n", at) + 1
            if not at:
                return _Edit(len(self._text), len(self._text), "\n" + text)
        return _Edit(at, at, text)

    def _end_of(self, node: Any) -> int:
        """Give where the last character of a thing stands, without comments that follow it."""
        while not isinstance(node, yaml.ScalarNode) and not node.flow_style and node.value:
            last = node.value[-1]
            node = last[1] if isinstance(last, tuple) else last
        end: int = node.end_mark.index
        if isinstance(node, yaml.ScalarNode) and node.style in ("|", ">"):
            return len(self._text[:end].rstrip()) + 1
        return end


def _flow(data: Any) -> str:
    return json.dumps(data, ensure_ascii=False)


def _block(data: Any, column: int) -> str:
    text: str = yaml.dump(data, sort_keys=False, allow_unicode=True, width=_WIDTH)
    return "".join(f"{' ' * column}{line}\n" for line in text.splitlines())
