"""Loops: items, names, conditions, aggregation, empty and broken lists."""

from __future__ import annotations

import pytest

from tiphys.engine.node import NodeType, Phase
from tiphys.testing.flow import FAIL, finished
from tiphys.testing.harness import Harness, Outcome

SHOW = """
- name: show
  inputs: {parameters: [{name: m}]}
  container: {image: x, command: [x]}
"""


def steps(loop: str, *, value: str = "{{item}}", more: str = "") -> str:
    return f"""
- name: main
  steps:
  - - name: a
      template: show
      {loop}{more}
      arguments: {{parameters: [{{name: m, value: "{value}"}}]}}
{SHOW}"""


def values(harness: Harness) -> dict[str, str | None]:
    found = {}
    for node in harness.run.nodes.values():
        if node.inputs is not None:
            found[node.display_name] = node.inputs.parameters[0].value
    return found


@pytest.mark.parametrize(
    ("loop", "expected"),
    [
        ("withItems: [hello, 2, 1.5, true]", {"a(0:hello)": "hello", "a(1:2)": "2",
                                             "a(2:1.5)": "1.5", "a(3:true)": "true"}),
        ('withItems: ["with (brackets)"]', {"a(0:with brackets)": "with (brackets)"}),
        ("withItems: [{b: 1, a: x}]", {"a(0:a:x,b:1)": '{"a":"x","b":1}'}),
        ("withItems: [[1, two]]", {"a(0:[1 two])": '[1,"two"]'}),
        ("withParam: '[\"p\", 7]'", {"a(0:p)": "p", "a(1:7)": "7"}),
        ("withParam: '[1.0, 10000000, 1e3]'", {"a(0:1.0)": "1.0", "a(1:10000000)": "10000000",
                                              "a(2:1e3)": "1e3"}),
        ("withSequence: {count: 3}", {"a(0:0)": "0", "a(1:1)": "1", "a(2:2)": "2"}),
        ("withSequence: {start: 5, end: 3}", {"a(0:5)": "5", "a(1:4)": "4", "a(2:3)": "3"}),
        ("withSequence: {start: 2, count: 2, format: v%03d}", {"a(0:v002)": "v002",
                                                              "a(1:v003)": "v003"}),
        ("withSequence: {start: 10, end: 11, format: '%x'}", {"a(0:a)": "a", "a(1:b)": "b"}),
    ],
)  # fmt: skip
def test_each_item_gets_a_node_with_its_name_and_value(loop: str, expected: dict[str, str]) -> None:
    harness = finished(steps(loop))

    assert values(harness) == expected
    assert harness.run.phase == "Succeeded"


def test_keys_of_a_map_are_known_one_by_one() -> None:
    harness = finished(steps("withItems: [{os: linux, v: 1}]", value="{{item.os}}-{{item.v}}"))

    assert values(harness) == {"a(0:os:linux,v:1)": "linux-1"}


def test_the_condition_of_a_loop_sees_the_item() -> None:
    harness = finished(steps("withItems: [1, 2, 3]", more="\n      when: '{{item}} > 1'"))

    assert harness.node("wf[0].a(0:1)").phase is Phase.SKIPPED
    assert harness.node("wf[0].a(0:1)").message == "when '1 > 1' evaluated false"
    assert harness.started == ["wf[0].a(1:2)", "wf[0].a(2:3)"]


@pytest.mark.parametrize(
    "loop", ["withParam: '[]'", "withParam: 'null'", "withSequence: {count: 0}"]
)
def test_an_empty_loop_is_skipped(loop: str) -> None:
    harness = finished(steps(loop))

    node = harness.node("wf[0].a")
    assert (node.phase, node.type) == (Phase.SKIPPED, NodeType.SKIPPED)
    assert node.message == "Skipped, empty params"
    assert harness.run.phase == "Succeeded"


def test_an_empty_loop_in_a_dag_is_skipped_and_satisfies_its_dependants() -> None:
    harness = finished("""
    - name: main
      dag:
        tasks:
        - {name: a, template: leaf, withParam: "[]"}
        - {name: b, template: leaf, depends: a}
    """)

    assert harness.node("wf.a").phase is Phase.SKIPPED
    assert harness.node("wf.a").message == "Skipped, empty params"
    assert harness.node("wf.b").phase is Phase.SUCCEEDED


@pytest.mark.parametrize("text", ["no list", '{"a": 1}', "7"])
def test_a_list_that_is_none_is_an_error(text: str) -> None:
    harness = finished(steps(f"withParam: '{text}'"))

    group = harness.node("wf[0]")
    assert group.phase is Phase.ERROR
    assert group.message.startswith(f"withParam value could not be parsed as a JSON list: {text}")
    assert harness.run.phase == "Failed"


def test_a_broken_list_of_a_step_that_is_skipped_does_no_harm() -> None:
    harness = finished(steps("withParam: 'no list'", more='\n      when: "false"'))

    assert harness.run.phase == "Succeeded"
    assert harness.node("wf[0].a").phase is Phase.SKIPPED


def test_an_unknown_tag_in_a_loop_is_an_error() -> None:
    harness = finished(steps("withItems: [1]", value="{{nobody.knows}}"))

    assert harness.node("wf[0]").phase is Phase.ERROR
    assert harness.run.phase == "Failed"


AGGREGATE = (
    """
- name: main
  steps:
  - [{name: a, template: leaf, withItems: [x, y2, z]}]
  - - name: b
      template: show
      arguments: {parameters: [{name: m, value: "{{steps.a.outputs.VALUE}}"}]}
"""
    + SHOW
)


def test_results_are_gathered_in_the_order_of_the_items() -> None:
    outcomes = {
        "a(0:x)": Outcome(result="1", seconds=9),
        "a(1:y2)": Outcome(result='{"k": "v"}'),
        "a(2:z)": Outcome(result='"s"', seconds=5),
    }
    harness = finished(AGGREGATE.replace("VALUE", "result"), outcomes)

    assert values(harness)["b"] == '[1,{"k":"v"},"s"]'


def test_results_that_are_no_json_cannot_be_gathered() -> None:
    harness = finished(AGGREGATE.replace("VALUE", "result"), {"leaf": Outcome(result="plain")})

    assert harness.run.phase == "Error"
    assert harness.node("wf").phase is Phase.ERROR


def test_parameters_are_gathered_as_texts_unless_all_are_structures() -> None:
    texts = {"leaf": Outcome(parameters={"p": "1"})}
    structures = {"leaf": Outcome(parameters={"p": "[1]"})}

    assert (
        values(finished(AGGREGATE.replace("VALUE", "parameters.p"), texts))["b"] == '["1","1","1"]'
    )
    assert (
        values(finished(AGGREGATE.replace("VALUE", "parameters.p"), structures))["b"]
        == "[[1],[1],[1]]"
    )
    assert (
        values(finished(AGGREGATE.replace("VALUE", "parameters"), texts))["b"]
        == '[{"p":"1"},{"p":"1"},{"p":"1"}]'
    )


def test_only_items_that_succeeded_are_gathered() -> None:
    templates = AGGREGATE.replace("VALUE", "result").replace(
        "withItems: [x, y2, z]", "withItems: [x, y2, z], continueOn: {failed: true}"
    )
    outcomes = {"a(1:y2)": FAIL, "leaf": Outcome(result="1")}

    assert values(finished(templates, outcomes))["b"] == "[1,1]"


def test_a_loop_of_a_dag_has_a_node_of_its_own_that_ends_with_the_last_item() -> None:
    harness = finished(
        """
    - name: main
      dag:
        tasks:
        - {name: a, template: leaf, withItems: [1, 2]}
        - {name: b, template: leaf, depends: a}
    """,
        {"a(0:1)": Outcome(seconds=9)},
    )

    group = harness.node("wf.a")
    first, second = harness.node("wf.a(0:1)"), harness.node("wf.a(1:2)")
    assert (group.type, group.phase) == (NodeType.TASK_GROUP, Phase.SUCCEEDED)
    assert harness.run.children[group.id] == [first.id, second.id]
    assert harness.node("wf.b").started_at == harness.run.created_at + 9
    assert harness.run.children[first.id] == [harness.node("wf.b").id]


def test_a_loop_of_a_dag_takes_the_phase_of_its_last_failed_item() -> None:
    templates = """
    - name: main
      dag:
        tasks:
        - {name: a, template: leaf, withItems: [1, 2, 3]}
    """
    error = Outcome(phase="Error")

    assert finished(templates, {"a(0:1)": error, "a(1:2)": FAIL}).node("wf.a").phase == "Failed"
    assert finished(templates, {"a(0:1)": FAIL, "a(1:2)": error}).node("wf.a").phase == "Error"


def test_a_loop_all_of_whose_items_are_skipped_succeeds() -> None:
    harness = finished("""
    - name: main
      dag:
        tasks:
        - {name: a, template: leaf, withItems: [1, 2], when: "{{item}} > 5"}
        - {name: b, template: leaf, depends: a.Succeeded}
    """)

    assert harness.node("wf.a").phase is Phase.SUCCEEDED
    assert harness.node("wf.a(0:1)").phase is Phase.SKIPPED
    assert harness.node("wf.b").phase is Phase.SUCCEEDED


def test_the_list_may_come_from_a_step_before() -> None:
    harness = finished(
        """
    - name: main
      steps:
      - [{name: make, template: leaf}]
      - - name: a
          template: show
          withParam: "{{steps.make.outputs.result}}"
          arguments: {parameters: [{name: m, value: "{{item}} of {{steps.make.outputs.result}}"}]}
    """
        + SHOW.replace("\n", "\n    "),
        {"make": Outcome(result='["p", "q"]')},
    )

    assert values(harness) == {"a(0:p)": 'p of ["p", "q"]', "a(1:q)": 'q of ["p", "q"]'}


def test_items_that_look_like_tags_stay_what_they_are() -> None:
    harness = finished(
        """
    - name: main
      steps:
      - [{name: make, template: leaf}]
      - - name: a
          template: show
          withParam: "{{steps.make.outputs.result}}"
          arguments: {parameters: [{name: m, value: "{{item}}"}]}
    """
        + SHOW.replace("\n", "\n    "),
        {"make": Outcome(result='["{{=1+1}}"]')},
    )

    assert list(values(harness).values()) == ["{{=1+1}}"]


def test_a_loop_over_nested_templates_fails_with_one_of_them() -> None:
    harness = finished(
        """
    - name: main
      steps:
      - [{name: a, template: sub, withItems: [1, 2]}]
    - name: sub
      steps:
      - [{name: x, template: leaf}]
    """,
        {"x": FAIL},
    )

    assert harness.node("wf[0].a(0:1)").phase is Phase.FAILED
    assert harness.node("wf[0].a(1:2)[0].x").phase is Phase.FAILED
    assert harness.run.phase == "Failed"
