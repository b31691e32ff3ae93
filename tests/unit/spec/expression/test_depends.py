from __future__ import annotations

import pytest

from tiphys.errors import ExpressionError
from tiphys.spec.expression import parse_depends


def decide(text: str, *true: tuple[str, str]) -> bool:
    return parse_depends(text).evaluate(lambda task, result: (task, result) in true)


def test_names_come_in_order_and_as_written() -> None:
    depends = parse_depends("(b-2.Succeeded || A) && !b-2.Failed && 1st.AllFailed")

    assert depends.tasks == ("b-2", "A", "1st")
    assert depends.references == (
        ("b-2", "Succeeded"),
        ("A", ""),
        ("b-2", "Failed"),
        ("1st", "AllFailed"),
    )


@pytest.mark.parametrize("result", ["Succeeded", "Skipped", "Daemoned"])
def test_a_bare_name_holds_for_three_results(result: str) -> None:
    assert decide("A", ("A", result)) is True


@pytest.mark.parametrize("result", ["Failed", "Errored", "Omitted"])
def test_a_bare_name_does_not_hold_for_the_others(result: str) -> None:
    assert decide("A", ("A", result)) is False


def test_operators_bind_as_usual() -> None:
    assert decide("a.Failed || b.Failed && c.Failed", ("a", "Failed")) is True
    assert decide("(a.Failed || b.Failed) && c.Failed", ("a", "Failed")) is False
    assert decide("!a.Failed && !b.Failed") is True


def test_a_dash_and_an_underscore_do_not_collide() -> None:
    assert decide("a-b.Failed", ("a-b", "Failed")) is True
    assert parse_depends("a-b && ab").tasks == ("a-b", "ab")


def test_only_named_results_are_asked_for() -> None:
    asked: list[tuple[str, str]] = []

    def has(task: str, result: str) -> bool:
        asked.append((task, result))
        return False

    parse_depends("A.Failed || B").evaluate(has)

    assert asked == [("A", "Failed"), ("B", "Succeeded"), ("B", "Skipped"), ("B", "Daemoned")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("A.Done", "task result 'Done' for task 'A' is invalid"),
        ("A &&", "unable to evaluate expression 'A &&': unexpected token EOF"),
        ("", "unable to evaluate expression ''"),
        ("A B", "unexpected token"),
    ],
)
def test_a_mistake_is_refused(text: str, message: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        parse_depends(text)

    assert message in str(caught.value)


def test_an_answer_that_is_no_bool_is_an_error() -> None:
    with pytest.raises(ExpressionError, match="to bool"):
        decide('A ? "x" : "y"', ("A", "Succeeded"))
