from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiphys.errors import ExpressionError
from tiphys.spec.expression import json_path
from tiphys.spec.template import compile_template, expand, tags_of

VALUES: dict[str, object] = {
    "inputs.parameters.x": "5",
    "inputs.parameters.text": 'say "hi"\n<b>',
    "inputs.parameters.tagged": "{{workflow.name}}",
    "workflow.name": "wf",
    "steps.a-b.outputs.result": "ok",
    "item": '{"k":"v"}',
    "item.k": "v",
    "name": "x",
}


def render(text: str, *, allow: bool = True, strict: tuple[str, ...] = ()) -> str:
    return compile_template(text).render(VALUES, allow_unresolved=allow, strict_prefixes=strict)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("no tags", "no tags"),
        ("{{workflow.name}}-{{ inputs.parameters.x }}", "wf-5"),
        ("{{=asInt(inputs.parameters.x) + 1}}", "6"),
        ("{{=workflow.name + '!'}}", "wf!"),
        ("{{=asInt(inputs.parameters.x) / 2}}", "2.5"),
        ("{{=float(inputs.parameters.x)}}", "5"),
        ("{{=[1, 'a<', nil]}}", '[1,"a\\u003c",null]'),
        ("{{=steps['a-b'].outputs.result}}", "ok"),
        ("{{item}} {{item.k}} {{=item.k}}", '{"k":"v"} v v'),
        ("{{=inputs?.parameters?.none ?? 'd'}}", "d"),
        ("{{inputs.parameters.{{name}}}}", "{{inputs.parameters.x}}"),
    ],
)
def test_tags_are_filled_in(text: str, expected: str) -> None:
    assert render(text) == expected


def test_a_value_is_never_looked_at_again() -> None:
    assert render("{{inputs.parameters.tagged}}") == "{{workflow.name}}"
    assert render("{{=inputs.parameters.tagged}}") == "{{workflow.name}}"


@pytest.mark.parametrize(
    "text",
    [
        "{{none}}",
        "{{steps.q.outputs.result}}",
        "{{=none}}",
        "{{=inputs.parameters.none}}",
        "{{=asInt(retries) > 1}}",
        "{{=lastRetry.exitCode ?? 1}}",
        "{{=workflow.status == 'Failed' ? 'a' : 'b'}}",
        "{{=workflow.failures}}",
    ],
)
def test_a_tag_without_a_value_stays_where_that_is_allowed(text: str) -> None:
    assert render(text) == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{{none}}", "failed to resolve {{none}}"),
        ("{{=none}}", "failed to evaluate expression: none is missing"),
        ("{{=steps.q.outputs.result}}", "failed to evaluate expression: steps.q is missing"),
    ],
)
def test_a_tag_without_a_value_is_an_error_where_not(text: str, message: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        render(text, allow=False)

    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{{=1 +}}", "failed to evaluate expression: unexpected token EOF (1:3)"),
        ("{{=nil}}", 'failed to evaluate expression "nil"'),
        (
            "{{=workflow.name > 1}}",
            "failed to evaluate expression: invalid operation: string > int",
        ),
        ("{{=groupBy([1], #)}}", "failed to marshal evaluated expression: json: unsupported type"),
    ],
)
def test_a_failing_expression_with_all_its_variables_is_always_an_error(
    text: str, message: str
) -> None:
    with pytest.raises(ExpressionError) as caught:
        render(text)

    assert str(caught.value).startswith(message)


def test_strict_prefixes_must_have_values() -> None:
    strict = ("steps", "tasks")

    assert render("{{none}} {{stepsx.y}}", strict=strict) == "{{none}} {{stepsx.y}}"
    with pytest.raises(ExpressionError, match="failed to resolve"):
        render("{{steps.q.outputs.result}}", strict=strict)


def test_strict_prefixes_leave_artifacts_to_others() -> None:
    text = "{{steps.q.outputs.artifacts.z}}"

    assert render(text, strict=("steps",)) == text


def test_a_placeholder_excuses_a_failing_expression() -> None:
    text = "{{=asInt(x)}}"
    template = compile_template(text)
    values = {"x": "__argo__internal__placeholder-1"}

    assert template.render(values, allow_unresolved=True) == text


def test_a_value_goes_into_json_as_the_inside_of_a_string() -> None:
    text = json.dumps({"a": '{{inputs.parameters.text}}|{{=inputs.parameters.text + "\'"}}'})

    rendered = compile_template(text).render(VALUES, allow_unresolved=False, json_text=True)

    assert json.loads(rendered)["a"] == 'say "hi"\n<b>|say "hi"\n<b>\''


def test_a_result_that_is_no_string_goes_into_json_as_text() -> None:
    text = json.dumps({"a": "{{={k: ['x']}}}"})

    with pytest.raises(ExpressionError, match="unexpected token EOF"):
        # The first two closing braces end the tag, as in Argo.
        compile_template(text).render({}, allow_unresolved=False, json_text=True)
    spaced = text.replace("']}}}", "']} }}")
    rendered = compile_template(spaced).render({}, allow_unresolved=False, json_text=True)
    assert json.loads(rendered) == {"a": '{"k":["x"]}'}


def test_control_characters_stay_valid_json() -> None:
    text = '{"a":"{{x}}"}'

    rendered = compile_template(text).render(
        {"x": "\x1b[0m\x00\x7f\v"}, allow_unresolved=False, json_text=True
    )

    assert json.loads(rendered) == {"a": "\x1b[0m\x00\x7f\v"}


def test_an_object_does_not_fit_a_simple_tag() -> None:
    with pytest.raises(ExpressionError, match=r"failed to resolve \{\{x\}\} to string"):
        compile_template("{{x}}").render({"x": [1]}, allow_unresolved=True)


def test_an_unclosed_tag_is_an_error() -> None:
    with pytest.raises(ExpressionError, match="Cannot find end tag"):
        compile_template("a {{b")


def test_tags_are_told_as_written_and_trimmed() -> None:
    assert compile_template("{{ a }}{{=b + 1}}").tags == (" a ", "=b + 1")
    assert tags_of("{{ a }}{{a}}{{=b + 1}}") == {"a", "=b + 1"}


def test_dotted_keys_become_nested_maps_and_the_child_wins() -> None:
    assert expand({"a.b": 1, "a": 2, "a-b": 3, "a.c.d": 4}) == {
        "a": {"b": 1, "c": {"d": 4}},
        "a-b": 3,
    }


def test_expanding_leaves_given_maps_alone() -> None:
    given_map = {"x": 1}

    assert expand({"a": given_map, "a.y": 2}) == {"a": {"y": 2}}
    assert given_map == {"x": 1}


def test_a_path_finds_its_value() -> None:
    data = {"book": [{"price": 5.0, "name": "a"}, {"price": 15.0, "name": "b"}]}

    assert json_path("$.book[?(@.price < 10)].name", data) == ["a"]
    assert json_path("$..price", data) == [5.0, 15.0]
    with pytest.raises(ExpressionError, match="key 'nope' not found"):
        json_path("$.nope", data)


@given(st.text(max_size=30), st.text(max_size=20))
def test_any_value_survives_json(before: str, value: str) -> None:
    if "{{" in before or before.endswith("{"):
        return
    text = json.dumps({"a": before + "{{x}}"})

    rendered = compile_template(text).render({"x": value}, allow_unresolved=False, json_text=True)

    assert json.loads(rendered) == {"a": before + value}


def test_the_whole_environment_is_there_under_its_own_name() -> None:
    assert render("{{=$env.workflow.name + $env['item'].k}}") == "wfv"


def test_a_let_may_not_take_the_name_of_a_value() -> None:
    with pytest.raises(ExpressionError, match="cannot redeclare name"):
        render("{{=let name = 1; name}}")
