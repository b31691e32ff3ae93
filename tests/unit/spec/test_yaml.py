"""YAML is read with positions, and bad YAML is refused before it can do harm."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiphys.errors import Problem, SpecError
from tiphys.spec import plain, yaml


def problems_of(text: bytes | str) -> tuple[Problem, ...]:
    with pytest.raises(SpecError) as caught:
        yaml.load(text, file="f.yaml")
    return caught.value.problems


def aliases(line: Callable[[str, str], str]) -> str:
    """Write twelve lines, each of which stands for nine times the one before it."""
    names = "abcdefghijkl"
    lines = ["a: &a {k: [x, x, x, x, x, x, x, x, x]}"]
    lines += [line(names[i - 1], names[i]) for i in range(1, len(names))]
    return "\n".join(lines)


def test_a_place_is_the_line_and_column_of_a_value() -> None:
    (document,) = yaml.load("a:\n  - b: c\n    d: [e, f]\n")

    assert document.place(("a",)) == (2, 3)
    assert document.place(("a", 0, "b")) == (2, 8)
    assert document.place(("a", 0, "d", 1)) == (3, 12)
    assert document.key_place(("a", 0, "d")) == (3, 5)


def test_the_place_of_what_is_missing_is_that_of_what_is_around_it() -> None:
    (document,) = yaml.load("a:\n  b: 1\n")

    assert document.place(("a", "x", "y")) == (2, 3)


def test_all_documents_of_a_file_are_read_and_empty_ones_left_out() -> None:
    documents = yaml.load("a: 1\n---\n# nothing\n---\nb: 2\n...\n")

    assert [document.value for document in documents] == [{"a": 1}, {"b": 2}]


def test_quotes_and_block_texts_stay_text() -> None:
    (document,) = yaml.load("a: 'y'\nb: \"1\"\nc: |\n  no\nd: !!str 5\n")

    assert document.value == {"a": "y", "b": "1", "c": "no\n", "d": "5"}


def test_anchors_are_followed() -> None:
    (document,) = yaml.load("a: &x {k: 1}\nb: *x\n")

    assert document.value["b"] == {"k": 1}
    assert document.place(("b", "k")) == (1, 11)


@pytest.mark.parametrize(
    ("mapping", "value"),
    [
        ("{<<: *x, l: 3}", {"k": 1, "l": 3}),
        ("{l: 3, <<: *x}", {"k": 1, "l": 2}),
        ("{<<: [*x, *z]}", {"k": 1, "l": 2, "m": 5}),
        ("{<<: [*z, *x]}", {"k": 4, "l": 2, "m": 5}),
    ],
)
def test_a_merge_happens_where_it_stands_as_in_go(mapping: str, value: dict[str, int]) -> None:
    (document,) = yaml.load(f"a: &x {{k: 1, l: 2}}\nb: &z {{k: 4, m: 5}}\nc: {mapping}\n")

    assert document.value["c"] == value


def test_a_json_file_is_yaml_with_its_pairs_of_escapes_joined() -> None:
    (document,) = yaml.load('{"a": "\\ud83d\\ude00", "b": "\\\\ud83d", "c":\t[1.5]}')

    assert document.value == {"a": "😀", "b": "\\ud83d", "c": [1.5]}


_SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
    | st.sampled_from(["1e5", "yes", "<<", "\x85", "\u2028", "\ud83d", "😀", "a/b", "\t", "&a"])
)
_OBJECTS = st.dictionaries(
    st.text(max_size=5) | st.sampled_from(["<<", "yes", "1"]),
    st.recursive(
        _SCALARS,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner),
        max_leaves=12,
    ),
)


@given(
    _OBJECTS, st.booleans(), st.sampled_from([None, 1, "\t"]), st.sampled_from(["", "\n", "#\n"])
)
def test_json_gives_the_same_data_and_places_as_it_does_as_yaml(
    value: dict[str, Any], ascii_only: bool, indent: int | str | None, before: str
) -> None:
    text = before + json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    quick, slow = (outcome(text), outcome(text + "\n---\n"))

    assert quick == slow


def outcome(text: str) -> object:
    """Give data and places of the one document, or what is wrong with it."""
    try:
        (document,) = yaml.load(text, file="f.yaml")
    except SpecError as error:
        return [(problem.code, problem.line) for problem in error.problems]
    return repr(document.value), document.root


def test_plain_json_is_read_without_regard_to_places_until_they_are_asked_for() -> None:
    (document,) = yaml.load('{"a": [1,\n {"b": true}]}')

    assert document.source
    assert document.value == {"a": [1, {"b": True}]}
    assert document.place(("a", 1, "b")) == (2, 8)
    assert document.text(("a", 1, "b")) == "true"


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1, "a": 2}',
        '{"a": 1.0}',
        '{"a": NaN}',
        '{"a": 1234567890123456789}',
        '{"a": "\\ud83d"}',
        '{"a":\t1}',
        '{"a": ' + "[" * 70 + "]" * 70 + "}",
        "{a: 1}",
        "[1]",
        '{"a": 1} {"b": 2}',
    ],
)
def test_what_yaml_might_read_otherwise_is_left_to_it(text: str) -> None:
    assert plain.read(text, most=100, depth=64) is plain.NOT_PLAIN


def test_a_json_text_with_too_many_values_is_left_to_yaml() -> None:
    assert plain.read('{"a": [1, 2, 3]}', most=9, depth=64) == {"a": [1, 2, 3]}
    assert plain.read('{"a": [1, 2, 3]}', most=5, depth=64) is plain.NOT_PLAIN


def test_json_may_break_a_line_before_a_colon_and_is_then_placed_at_its_start() -> None:
    (document,) = yaml.load('{"a"\n: 1}')

    assert document.value == {"a": 1}
    assert document.place(("a",)) == (1, 1)


def test_an_unquoted_boolean_keeps_its_text_for_messages() -> None:
    (document,) = yaml.load("name: n\non: 1\n")

    assert document.text(("name",)) == "n"
    assert [key.text for key in document.boolean_keys] == ["on"]
    assert document.value["true"] == 1


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        "{a: " * 100_000,
        "- " * 100_000,
        "a: [" * 100_000,
        aliases(lambda old, new: f"{new}: &{new} [{', '.join([f'*{old}'] * 9)}]"),
        aliases(lambda old, new: f"{new}: &{new} {{<<: [{', '.join([f'*{old}'] * 9)}], {new}: 1}}"),
        "a: &a 1\nb: [" + "*a," * 101 + "]",
        "a: " + "x" * yaml.MAX_BYTES,
        "[" + "1," * (yaml.MAX_NODES + 1) + "]",
    ],
    ids=[
        "lists",
        "maps",
        "dashes",
        "mixed",
        "alias-bomb",
        "merge-bomb",
        "aliases",
        "size",
        "nodes",
    ],
)
def test_what_would_grow_without_bound_is_a_yaml_limit(text: str) -> None:
    (problem,) = problems_of(text)

    assert problem.code == "yaml_limit"


def test_many_merged_keys_are_a_yaml_limit() -> None:
    keys = ", ".join(f"k{i}: 1" for i in range(1000))
    text = f"a: &a {{{keys}}}\n" + "".join(f"b{i}: {{<<: *a}}\n" for i in range(20))

    (problem,) = problems_of(text)

    assert problem.code == "yaml_limit"
    assert problem.line == 12


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        (b"a: 1\nb: \x00", 2, 4),
        (b"a: 1\nb: \xff", 2, 4),
        (b"a: 1\nb: \x1b[31m", 2, 4),
        ("a: [1,\nb: }", 2, 4),
        ("a: 1\n b: 2\n", 2, 3),
        ("a: *nowhere", 1, 4),
        ("a: &a [*a]", 1, 8),
        ("? [a]\n: 1", 1, 3),
        ("? " * 100_000, 1, 3),
        ("a: .inf", 1, 4),
        ("a: {<<: [1]}", 1, 5),
        ("a: '", 1, 5),
        ("a: !!int x", 1, 4),
    ],
)
def test_what_cannot_be_read_is_a_parse_error_with_its_place(
    text: bytes | str, line: int, column: int
) -> None:
    (problem,) = problems_of(text)

    assert (problem.code, problem.line, problem.column) == ("parse_error", line, column)
    assert problem.file == "f.yaml"


def test_braces_without_quotes_are_told_what_they_lack() -> None:
    (bare,) = problems_of("a: {{ .Release.Name }}-x")
    (other,) = problems_of("? [a, b]\n: c\n")

    assert (bare.code, bare.line, bare.column) == ("parse_error", 1, 5)
    assert bare.hint.startswith("put {{…}} in quotes")
    assert (other.code, other.hint) == ("parse_error", "")


def test_duplicate_keys_and_tags_are_all_reported_together() -> None:
    found = problems_of("a: 1\nb: !custom 2\na: 3\nc: !!binary aGk=\nd: !x {}\n")

    assert [(each.code, each.line) for each in found] == [
        ("yaml_tag", 2),
        ("duplicate_key", 3),
        ("yaml_tag", 4),
        ("yaml_tag", 5),
    ]
    assert found[1].hint == "first on line 1"


@given(st.text(alphabet="ab:-[]{}&*!|>'\"?#%,<~y1 \n\t", max_size=60) | st.binary(max_size=60))
def test_any_text_gives_documents_or_problems(text: bytes | str) -> None:
    try:
        found: list[object] = [document.value for document in yaml.load(text)]
    except SpecError as error:
        found = list(error.problems) or [None]

    assert None not in found
