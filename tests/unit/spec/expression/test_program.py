from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiphys.errors import ExpressionError
from tiphys.spec.expression import Host, compile_expression

ENV: dict[str, object] = {
    "inputs": {"parameters": {"x": "5", "name": "hello world"}},
    "steps": {"a-b": {"outputs": {"result": "ok"}}},
    "item": "7",
    "retries": "2",
}


def run(text: str) -> object:
    return compile_expression(text).evaluate(ENV)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 + 2 * 3", 7),
        ("7 / 2", 3.5),
        ("-7 % 3", -1),
        ("2 ** 10", 1024.0),
        ("9223372036854775807 + 1", -(2**63)),
        ("'a' + \"b\"", "ab"),
        ("asInt(item) + int(retries)", 9),
        ("steps['a-b'].outputs.result", "ok"),
        ("inputs.parameters.none ?? 'd'", "d"),
        ("inputs?.none?.deep ?? 'd'", "d"),
        ("1 < 2 && 2 <= 2", True),
        ("'5' in ['4', '5']", True),
        ("1 not in [2]", True),
        ("inputs.parameters.name matches '^hel+o'", True),
        ("inputs.parameters.name contains 'wor' and not false", True),
        ("true ? 'yes' : 'no'", "yes"),
        ("if 1 > 2 { 'a' } else { 'b' }", "b"),
        ("let n = 5; n * 2", 10),
        ("'hello'[1:3] + 'hello'[-1:]", "elo"),
        ("[1,2,3][-1]", 3),
        ("filter(1..6, # % 2 == 0)", [2, 4, 6]),
        ("map([{a: 1}, {a: 2}], .a)", [1, 2]),
        ("reduce(1..4, #acc * #)", 24),
        ("sortBy([{a: 2}, {a: 1}], .a) | map(.a)", [1, 2]),
        ("any([1,2], # > 1) and all([1], # > 0) and none([1], # > 1) and one([1,2], # > 1)", True),
        ("count([1,2,3], # > 1)", 2),
        ("find([1,2,3], # > 1)", 2),
        ("groupBy(['a','bb','cc'], len(#))[2]", ["bb", "cc"]),
        ("split('a,b', ',') | join('-') | upper()", "A-B"),
        ("fromJSON('{\"a\": [1, 2.5]}').a", [1.0, 2.5]),
        ("toJson({b: 1.0, a: '<'})", '{"a":"\\u003c","b":1}'),
        ("string(1000000.0) + string(1.5)", "1e+061.5"),
        ("(date('2024-01-03') - date('2024-01-02')).Hours()", 24.0),
        ("date('2024-01-31').AddDate(0, 1, 0).Format('2006-01-02')", "2024-03-02"),
        ("duration('90m').String()", "1h30m0s"),
        ('jsonpath(\'{"a": {"b": [1, 2]}}\', "$.a.b[1]")', 2.0),
        ("sprig.trunc(2, sprig.upper('abc'))", "AB"),
    ],
)
def test_an_expression_gives_its_value(text: str, expected: object) -> None:
    result = run(text)

    assert result == expected
    assert type(result) is type(expected)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nope", "unknown name nope (1:1)\n | nope\n | ^"),
        ("1 + 'a'", "invalid operation: + (mismatched types int and string) (1:3)"),
        ("retries > 1", "invalid operation: > (mismatched types string and int) (1:9)"),
        ("item == 7", "invalid operation: == (mismatched types string and int) (1:6)"),
        ("1 +", "unexpected token EOF (1:3)"),
        ("'abc", "literal not terminated (1:5)"),
        ("[1][5]", "index out of range: 5 (array length is 1)"),
        ("inputs.none.deep", "cannot fetch deep from <nil>"),
        ("int('x')", "invalid operation: int(x)"),
        ("1 ?? 2 + 3", "cannot be mixed. Wrap either by parentheses."),
        ("'a' matches '('", "error parsing regexp: missing closing ): `(`"),
        ("sprig.env('HOME')", "cannot call nil"),
        ("sprig.genCA('x', 1)", "sprig.genCA is not available in Tiphys"),
    ],
)
def test_a_mistake_is_told_with_its_place(text: str, message: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        run(text)

    assert message in str(caught.value)


def test_a_member_of_unknown_type_is_compared_without_an_error() -> None:
    assert run("inputs.parameters.x == 5") is False


def test_a_bool_is_not_a_number() -> None:
    assert run("[true] == [1]") is False
    assert run("1 in [true, 'x']") is False


def test_variables_and_paths_leave_out_functions_and_own_names() -> None:
    program = compile_expression(
        "let n = asInt(steps['a-b'].outputs.result); n + len(inputs.x) + sprig.int(n)"
    )

    assert program.variables == {"steps", "inputs"}
    assert program.paths == {
        ("steps",),
        ("steps", "a-b"),
        ("steps", "a-b", "outputs"),
        ("steps", "a-b", "outputs", "result"),
        ("inputs",),
        ("inputs", "x"),
    }


def test_the_same_text_is_compiled_once() -> None:
    assert compile_expression("1 + 41") is compile_expression("1 + 41")


def test_types_are_checked_again_when_the_environment_has_others() -> None:
    program = compile_expression("x == 1")

    assert program.evaluate({"x": 1}) is True
    with pytest.raises(ExpressionError, match="mismatched types string and int"):
        program.evaluate({"x": "1"})
    with pytest.raises(ExpressionError, match="unknown name x"):
        program.evaluate({})


def test_the_clock_and_chance_come_from_the_host() -> None:
    host = Host(now=datetime(2024, 5, 6, tzinfo=UTC), random=lambda count: b"\1" * count)

    assert compile_expression("now().Format('2006-01-02')").evaluate({}, host) == "2024-05-06"
    assert compile_expression("sprig.now().Year()").evaluate({}, host) == 2024
    uuid = compile_expression("sprig.uuidv4()").evaluate({}, host)
    assert uuid == "01010101-0101-4101-8101-010101010101"


def test_without_a_host_the_result_is_always_the_same() -> None:
    program = compile_expression("sprig.randAlphaNum(12) + string(now())")

    assert program.evaluate({}) == program.evaluate({})


def test_functions_that_change_a_map_in_go_leave_the_given_data_alone() -> None:
    data: dict[str, object] = {"a": 1}

    changed = compile_expression("sprig.set(m, 'b', 2)").evaluate({"m": data})

    assert changed == {"a": 1, "b": 2}
    assert data == {"a": 1}


@given(st.text(max_size=40))
def test_any_text_is_compiled_or_refused(text: str) -> None:
    # Any other exception than the one public one would fail this test.
    with suppress(ExpressionError):
        compile_expression(text).evaluate(ENV)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
        ),
        max_leaves=8,
    )
)
def test_json_written_and_read_again_is_the_same(value: object) -> None:
    assert compile_expression("toJson(fromJSON(toJson(v))) == toJson(v)").evaluate({"v": value})
