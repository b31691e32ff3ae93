from __future__ import annotations

import pytest

from tiphys.spec.expression.fault import Fault
from tiphys.spec.expression.regex import find, find_all, matches


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("^a.c$", "abc", True),
        ("a.c", "a\nc", False),
        ("(?s)a.c", "a\nc", True),
        ("(?i)HELLO", "say hello", True),
        (r"\bcat\b", "a cat sat", True),
        (r"\bcat\b", "concat", False),
        (r"^\d{2,3}$", "1234", False),
        ("[[:upper:]][^a-c]", "Xd", True),
        (r"\p{Greek}", "λ", True),
        (r"\Qa.b\E", "axb", False),
        ("", "", True),
    ],
)
def test_a_pattern_matches_or_not(pattern: str, text: str, expected: bool) -> None:
    assert matches(pattern, text) is expected


def test_the_first_alternative_wins_as_in_perl() -> None:
    match = find("a|ab", "xab")

    assert match is not None
    assert (match.start, match.end) == (1, 2)


def test_a_lazy_repetition_takes_the_least() -> None:
    match = find("<.+?>", "<a><b>")

    assert match is not None
    assert match.end == 3


def test_groups_tell_their_places_and_names() -> None:
    match = find("(?P<year>[0-9]{4})-(x)?", "in 2024-")

    assert match is not None
    assert match.names == ("", "year", "")
    assert match.places == (3, 8, 3, 7, -1, -1)


def test_empty_matches_do_not_follow_a_match() -> None:
    assert [(m.start, m.end) for m in find_all("a*", "baac")] == [(0, 0), (1, 3), (4, 4)]


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("(", "missing closing ): `(`"),
        ("[a", "missing closing ]: `[a`"),
        ("*a", "missing argument to repetition operator: `*`"),
        ("a**", "invalid nested repetition operator: `**`"),
        ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
        (r"\1", r"invalid escape sequence: `\1`"),
        ("a{1001}", "invalid repeat count: `{1001}`"),
        ("a)", "unexpected ): `a)`"),
    ],
)
def test_a_bad_pattern_is_told_in_gos_words(pattern: str, message: str) -> None:
    with pytest.raises(Fault) as caught:
        matches(pattern, "")

    assert caught.value.message == f"error parsing regexp: {message}"
