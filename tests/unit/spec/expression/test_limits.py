"""No expression may hold the engine: each case is small to write and huge to run."""

from __future__ import annotations

import pytest

from tiphys.errors import ExpressionError, ExpressionLimitError
from tiphys.spec.expression import compile_expression, evaluate_when, json_path, parse_depends

HUGE = {
    "nested brackets": "(" * 5000 + "1" + ")" * 5000,
    "nested lists": "[" * 300 + "]" * 300,
    "signs": "-" * 3000 + "1",
    "nested choices": "true ? " * 500 + "1" + " : 2" * 500,
    "members": "a" + ".b" * 500,
    "nodes": "+".join(["1"] * 6000),
    "characters": '"' + "a" * 70_000 + '"',
    "range": "1..1000000000",
    "list of lists": "map(1..1000, 1..1000)",
    "nested loops": "map(1..1000, map(1..1000, #))",
    "repeated text": "repeat('a', 1000000000)",
    "many texts": "map(1..1000, repeat('a', 1000000))",
    "doubled text": "reduce(1..100, #acc + #acc, 'aaaaaaaa')",
    "doubled list": "toJSON(reduce(1..60, [#acc, #acc], [1]))",
    "compared lists": "let x = reduce(1..60, [#acc, #acc], [1]); x == x",
    "replaced text": "replace(repeat('a', 100000), 'a', repeat('b', 1000))",
    "hashes": "let s = repeat('a', 1000000); map(1..9000, sprig.sha512sum(s))",
    "sprig.repeat": "sprig.repeat(100000000, 'abc')",
    "sprig.until": "sprig.until(100000000)",
    "sprig.untilStep": "sprig.untilStep(0, 9000000000, 1)",
    "sprig.seq": "sprig.seq(100000000)",
    "sprig.indent": "sprig.indent(100000000, 'a')",
    "sprig.randAlpha": "sprig.randAlpha(100000000)",
    "pattern": "'a' matches '((a{1000}){1000}){1000}'",
    "patterns in a loop": "map(1..2000, repeat('a', 5000) matches '(a|aa)*c')",
    "pattern tried from each place": "sprig.regexFindAll('x*y|x', repeat('x', 20000), -1)",
}


@pytest.mark.parametrize("text", HUGE.values(), ids=HUGE.keys())
def test_a_huge_expression_is_refused(text: str) -> None:
    with pytest.raises(ExpressionLimitError):
        compile_expression(text).evaluate({"a": {}})


def test_a_pattern_that_would_backtrack_for_years_is_matched_at_once() -> None:
    program = compile_expression("(repeat('a', 20000) + 'b') matches '^(a+)+$'")

    assert program.evaluate({}) is False


def test_a_long_sum_is_no_deep_one() -> None:
    assert compile_expression("+".join(["1"] * 4000)).evaluate({}) == 4000


def test_ninety_levels_are_fine() -> None:
    assert compile_expression("string(" * 90 + "1" + ")" * 90).evaluate({}) == "1"


def test_deeply_nested_json_is_an_error() -> None:
    with pytest.raises(ExpressionError, match="exceeded max depth"):
        compile_expression("fromJSON(repeat('[', 100000))").evaluate({})


@pytest.mark.parametrize(
    "text",
    ["inputs.__class__", "sprig.__init__", "sprig['__class__']", "$env.__class__"],
)
def test_nothing_of_python_can_be_reached(text: str) -> None:
    assert compile_expression(text).evaluate({"inputs": {}}) is None


@pytest.mark.parametrize("text", ["''.__class__", "date('2024-01-01').zone", "asInt.call"])
def test_objects_have_no_attributes_but_their_methods(text: str) -> None:
    with pytest.raises(ExpressionError):
        compile_expression(text).evaluate({})


@pytest.mark.parametrize("text", ["a" * 9000, "(" * 3000 + "1==1" + ")" * 3000])
def test_a_huge_condition_is_refused(text: str) -> None:
    with pytest.raises(ExpressionLimitError):
        evaluate_when(text)


@pytest.mark.parametrize("text", ["a && " * 2000 + "a", "(" * 1000 + "a" + ")" * 1000])
def test_a_huge_dependency_is_refused(text: str) -> None:
    with pytest.raises(ExpressionLimitError):
        parse_depends(text)


def test_a_path_that_multiplies_itself_is_refused() -> None:
    data = [[[1] * 20] * 20] * 20

    with pytest.raises(ExpressionLimitError):
        json_path("$..*..*..*", data)
