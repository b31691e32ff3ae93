from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiphys.errors import ExpressionError
from tiphys.spec.expression import evaluate_when


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", True),
        ("true", True),
        ("heads == heads", True),
        ("heads == tails", False),
        ('"a b" != "a c"', True),
        ("5 > 3 && 2 <= 2", True),
        ("1 - 1 - 1 == -1", True),
        ("2 * 3 + 1 == 7", True),
        ("5 in (1, 2, 5)", True),
        ("foo in (bar, baz)", False),
        ("!(a == b)", True),
        ("abc =~ '^a.c$'", True),
        ("abc !~ b", False),
        ("'2024-01-02' > '2024-01-01'", True),
        ("true ? a == a : a == b", True),
        ("[my-name] == 'my-name'", True),
    ],
)
def test_a_condition_decides(text: str, expected: bool) -> None:
    assert evaluate_when(text) is expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "a @ b",
            "Invalid 'when' expression 'a @ b': Invalid token: '@' "
            '(hint: try wrapping the affected expression in quotes ("))',
        ),
        (" == a", "Cannot transition token types from UNKNOWN [<nil>] to COMPARATOR [==]"),
        ("a == ", "Unexpected end of expression"),
        ("a b", "Cannot transition token types from VARIABLE [a] to VARIABLE [b]"),
        (
            "my-step == x",
            "Failed to evaluate 'when' expresion 'my-step == x': Value 'my' cannot be used with "
            "the modifier '-', it is not a number",
        ),
        ("1 + 1", "Expected boolean evaluation for '1 + 1'. Got 2"),
        ("(a == b", "Unbalanced parenthesis"),
        ("'a == b", "Unclosed string literal"),
        ("foo(1)", "Undefined function foo"),
        ("{{inputs.x}} == a", "Invalid 'when' expression"),
    ],
)
def test_a_mistake_is_told_in_argos_words(text: str, message: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        evaluate_when(text)

    assert message in str(caught.value)


def test_a_mistake_is_told_again_when_asked_again() -> None:
    for _ in range(2):
        with pytest.raises(ExpressionError, match="Unexpected end"):
            evaluate_when("again ==")


@given(st.text(max_size=30))
def test_any_text_decides_or_is_refused(text: str) -> None:
    # Any other exception than the one public one would fail this test.
    with suppress(ExpressionError):
        assert isinstance(evaluate_when(text), bool)
