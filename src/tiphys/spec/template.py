"""Texts with ``{{tags}}``: split once, filled in many times.

``{{name}}`` takes a value by its key; ``{{=expression}}`` runs expr-lang over all values. The text
is normally the JSON of a whole template, so a value goes in as the inside of a JSON string. What a
value brings is never looked at again: one pass, no tag inside a value.

``TaggedText.render`` runs for every node of a workflow, so all that can be known from the text is
worked out in ``compile_template``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import lru_cache
from json.encoder import encode_basestring
from typing import Final

import msgspec

from tiphys.errors import ExpressionError, ExpressionLimitError
from tiphys.spec import expression

__all__ = ["TaggedText", "compile_template", "expand", "tags_of"]

PLACEHOLDER: Final = "__argo__internal__placeholder-"
"""A value that is not known yet begins with this; it excuses a failing expression."""
_LATE: Final = (
    "item",
    "retries",
    "lastRetry.exitCode",
    "lastRetry.status",
    "lastRetry.duration",
    "lastRetry.message",
    "workflow.status",
    "workflow.failures",
)
"""Variables that appear late: an expression with one of them waits instead of seeing nil."""
_CACHED_LENGTH: Final = 16 * 1024
"""Longer texts are whole templates of one workflow; the caller keeps those."""


class _Simple(msgspec.Struct, frozen=True):
    raw: str
    key: str
    inner: tuple[str, str] | None
    """For ``{{a.{{b}}``: the text before the inner tag, and the inner key."""


class _Prepared(msgspec.Struct, frozen=True):
    program: expression.Program
    late: tuple[tuple[str, ...], ...]


class _Expression(msgspec.Struct, frozen=True, eq=False):
    raw: str
    prepared: dict[bool, _Prepared] = msgspec.field(default_factory=dict)

    def prepare(self, *, json_text: bool) -> _Prepared:
        """Compile at first use; a mistake in the expression is an error of rendering."""
        known = self.prepared.get(json_text)
        if known is None:
            known = _prepare(_unescaped(self.raw[1:]) if json_text else self.raw[1:])
            self.prepared[json_text] = known
        return known


_Tag = _Simple | _Expression


class TaggedText(msgspec.Struct, frozen=True, eq=False):
    """A text split at its tags."""

    text: str
    tags: tuple[str, ...]
    """The raw inner texts, ``=`` included."""
    parts: tuple[tuple[str, _Tag], ...]
    """Each tag with the text before it."""
    tail: str

    def render(
        self,
        values: Mapping[str, object],
        *,
        allow_unresolved: bool,
        json_text: bool = False,
        strict_prefixes: tuple[str, ...] = (),
        host: expression.Host | None = None,
    ) -> str:
        """Fill in ``values`` (dotted keys).

        A tag without a value stays as it is with ``allow_unresolved``, except where its name falls
        under one of ``strict_prefixes``; otherwise it is an ``ExpressionError``.
        """
        if not self.parts:
            return self.text
        rule = _Rule(values, allow_unresolved, json_text, strict_prefixes, host)
        pieces: list[str] = []
        for before, tag in self.parts:
            pieces.append(before)
            if isinstance(tag, _Simple):
                value = values.get(tag.key)
                if type(value) is str:
                    pieces.append(encode_basestring(value)[1:-1] if json_text else value)
                else:
                    pieces.append(rule.other(tag))
            else:
                pieces.append(rule.evaluate(tag))
        pieces.append(self.tail)
        return "".join(pieces)


class _Rule:
    """How one rendering treats what is not a plain hit."""

    __slots__ = ("allow", "environment", "host", "json_text", "prefixes", "values")

    def __init__(
        self,
        values: Mapping[str, object],
        allow: bool,
        json_text: bool,
        prefixes: tuple[str, ...],
        host: expression.Host | None,
    ) -> None:
        self.values = values
        self.allow = allow
        self.json_text = json_text
        self.prefixes = prefixes
        self.host = host
        self.environment: dict[str, object] | None = None

    def strict(self, name: str) -> bool:
        """Tell whether ``name`` must have a value."""
        if not self.allow:
            return True
        return any(name == prefix or name.startswith(prefix + ".") for prefix in self.prefixes)

    def other(self, tag: _Simple) -> str:
        """Handle a simple tag whose value is missing or is not a string."""
        value = self.values.get(tag.key)
        if value is not None:
            if isinstance(value, str):
                return self.inside(value)
            raise ExpressionError(f"failed to resolve {{{{{tag.raw}}}}} to string")
        if tag.inner is not None:
            prefix, key = tag.inner
            inner = self.values.get(key)
            if isinstance(inner, str):
                return "{{" + prefix + self.inside(inner)
        if self.strict(tag.key) and not (self.allow and ".outputs.artifacts." in tag.key):
            raise ExpressionError(f"failed to resolve {{{{{tag.raw}}}}}")
        return "{{" + tag.raw + "}}"

    def inside(self, value: str) -> str:
        """Write a value as the inside of a JSON string, where the text is JSON."""
        return encode_basestring(value)[1:-1] if self.json_text else value

    def evaluate(self, tag: _Expression) -> str:
        """Run an expression tag."""
        prepared = tag.prepare(json_text=self.json_text)
        environment = self.expanded()
        missing = [path for path in prepared.program.order if not _has(environment, path)]
        for path in missing:
            name = ".".join(path)
            if self.strict(name):
                raise ExpressionError(f"failed to evaluate expression: {name} is missing")
        as_written = "{{" + tag.raw + "}}"
        if missing and any(not _has(environment, path) for path in prepared.late):
            return as_written
        try:
            result = self.result(prepared.program, environment)
        except ExpressionLimitError:
            raise
        except ExpressionError:
            if missing or self.has_placeholder():
                return as_written
            raise
        return self.written(result)

    def expanded(self) -> dict[str, object]:
        """Give the values as nested maps, made at the first expression of a rendering."""
        if self.environment is None:
            self.environment = {**expression.ARGO_FUNCTIONS, **expand(self.values)}
        return self.environment

    def result(self, program: expression.Program, environment: dict[str, object]) -> object:
        """Evaluate; nil is an error too."""
        try:
            value = program.evaluate(environment, self.host or expression.DEFAULT_HOST)
        except ExpressionError as error:
            raise _failed(error) from None
        if value is None:
            raise ExpressionError(f"failed to evaluate expression {expression.quote(program.text)}")
        return value

    def written(self, value: object) -> str:
        """Write a result: strings as they are, all else as compact JSON."""
        if isinstance(value, str):
            return self.inside(value.encode("utf-8", "surrogateescape").decode("utf-8", "replace"))
        try:
            return self.inside(expression.dump(value))
        except expression.Fault as fault:
            message = f"failed to marshal evaluated expression: {fault.message}"
            raise ExpressionError(message) from None

    def has_placeholder(self) -> bool:
        """Tell whether a value is only a placeholder."""
        return any(
            isinstance(value, str) and value.startswith(PLACEHOLDER)
            for value in self.values.values()
        )


def compile_template(text: str) -> TaggedText:
    """Split ``text`` at its tags; an unclosed tag is an ``ExpressionError``."""
    return _compile_cached(text) if len(text) <= _CACHED_LENGTH else _compile(text)


def tags_of(text: str) -> frozenset[str]:
    """Give the inner texts of all tags, trimmed; those of expressions start with ``=``."""
    return frozenset(tag.strip() for tag in compile_template(text).tags)


def _compile(text: str) -> TaggedText:
    parts: list[tuple[str, _Tag]] = []
    position = 0
    while True:
        start = text.find("{{", position)
        if start < 0:
            break
        end = text.find("}}", start + 2)
        if end < 0:
            raise ExpressionError(
                f'Cannot find end tag="}}}}" in the template starting from '
                f"{expression.quote(text[start + 2 : start + 82])}"
            )
        parts.append((text[position:start], _tag(text[start + 2 : end])))
        position = end + 2
    return TaggedText(
        text=text,
        tags=tuple(tag.raw for _, tag in parts),
        parts=tuple(parts),
        tail=text[position:],
    )


_compile_cached: Callable[[str], TaggedText] = lru_cache(maxsize=2048)(_compile)


def _tag(raw: str) -> _Tag:
    if raw.startswith("="):
        return _Expression(raw)
    split = raw.rfind("{{")
    inner = (raw[:split], raw[split + 2 :]) if split > 0 else None
    return _Simple(raw, raw.strip(), inner)


def _unescaped(inside: str) -> str:
    """Undo the JSON escapes of the text around the expression."""
    try:
        text = json.loads(f'"{inside}"')
    except json.JSONDecodeError as error:
        raise ExpressionError(f"failed to unmarshall JSON expression: {error}") from None
    return str(text)


def _failed(error: ExpressionError) -> ExpressionError:
    """Say it in Argo's words, with the code behind the first line: a node's message shows both."""
    first, newline, rest = str(error).partition("\n")
    return type(error)(f"failed to evaluate expression: {first} [{error.code}]{newline}{rest}")


def _prepare(text: str) -> _Prepared:
    try:
        program = expression.compile_expression(text)
    except ExpressionError as error:
        raise _failed(error) from None
    words = _words(text)
    late = tuple(
        tuple(name.split(".")) for name in _LATE if name in text and _within(_words(name), words)
    )
    return _Prepared(program, late)


def _words(text: str) -> list[tuple[object, str]]:
    return [(token.kind, token.value) for token in expression.tokenize(text)[:-1]]


def _within(part: list[tuple[object, str]], whole: list[tuple[object, str]]) -> bool:
    width = len(part)
    return any(whole[at : at + width] == part for at in range(len(whole) - width + 1))


def expand(values: Mapping[str, object]) -> dict[str, object]:
    """Turn dotted keys into nested maps; where both ``a`` and ``a.b`` exist, ``a`` is dropped."""
    root: dict[str, object] = {}
    nodes = {"": root}
    # A key sorts before all keys that begin with it, so a child comes last and wins.
    for key in sorted(values):
        parent, _, last = key.rpartition(".")
        node = nodes.get(parent)
        if node is None:
            node = _node(nodes, parent)
        node[last] = values[key]
    return root


def _node(nodes: dict[str, dict[str, object]], path: str) -> dict[str, object]:
    """Make the map at ``path``, and those above it that are not there yet."""
    parent, _, last = path.rpartition(".")
    above = nodes.get(parent)
    if above is None:
        above = _node(nodes, parent)
    made: dict[str, object] = {}
    above[last] = nodes[path] = made
    return made


def _has(environment: Mapping[str, object], path: tuple[str, ...]) -> bool:
    node: object = environment
    for part in path:
        if not isinstance(node, Mapping) or part not in node:
            return False
        node = node[part]
    return True
