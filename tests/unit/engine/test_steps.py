"""Steps templates: groups, edges, conditions, failures, outputs, recursion."""

from __future__ import annotations

from tiphys.engine.node import NodeType, Phase
from tiphys.testing.flow import ERROR, FAIL, cast, finished, flow
from tiphys.testing.harness import Harness, Outcome

TWO_GROUPS = """
- name: main
  steps:
  - [{name: a, template: leaf}, {name: b, template: leaf}]
  - [{name: c, template: leaf}]
"""


def test_groups_run_one_after_another_and_their_steps_together() -> None:
    harness = Harness(flow(TWO_GROUPS), cast({"a": Outcome(seconds=5)})).start()
    assert harness.started == ["wf[0].a", "wf[0].b"]

    harness.finish()

    assert harness.started[-1] == "wf[1].c"
    assert harness.node("wf[1].c").started_at == harness.run.created_at + 5
    assert set(harness.phases().values()) == {"Succeeded"}
    assert harness.run.phase == "Succeeded"


def test_names_ids_and_types_are_those_of_argo() -> None:
    harness = finished(TWO_GROUPS)

    root, group, leaf = harness.node("wf"), harness.node("wf[0]"), harness.node("wf[0].a")
    assert (root.id, root.type, root.boundary_id) == ("wf", NodeType.STEPS, "")
    assert (group.type, group.display_name) == (NodeType.STEP_GROUP, "[0]")
    assert group.boundary_id == leaf.boundary_id == "wf"
    assert (leaf.type, leaf.display_name, leaf.template_name) == (NodeType.POD, "a", "leaf")
    assert leaf.template_scope == "local/wf"
    assert leaf.id == "wf-3986212215"


def test_the_next_group_hangs_below_the_last_nodes_of_the_group_before() -> None:
    harness = finished(TWO_GROUPS)
    children = harness.run.children
    ids = {name: harness.node(name).id for name in ("wf[0]", "wf[1]", "wf[0].a", "wf[0].b")}

    assert children["wf"] == [ids["wf[0]"]]
    assert children[ids["wf[0]"]] == [ids["wf[0].a"], ids["wf[0].b"]]
    assert children[ids["wf[0].a"]] == [ids["wf[1]"]]
    assert children[ids["wf[0].b"]] == [ids["wf[1]"]]
    assert harness.node("wf").outbound_nodes == (harness.node("wf[1].c").id,)


def test_a_group_after_a_nested_steps_template_hangs_below_its_last_leaves() -> None:
    harness = finished("""
    - name: main
      steps:
      - [{name: a, template: inner}]
      - [{name: b, template: leaf}]
    - name: inner
      steps:
      - [{name: x, template: leaf}]
      - [{name: z, template: leaf}]
    """)

    assert harness.run.children[harness.node("wf[0].a[1].z").id] == [harness.node("wf[1]").id]
    assert harness.node("wf[0].a").type is NodeType.STEPS


def test_a_failed_step_fails_its_group_when_all_of_it_are_done() -> None:
    outcomes = {"a": FAIL, "b": Outcome(seconds=50)}
    harness = Harness(flow(TWO_GROUPS), cast(outcomes)).start()
    while harness.node("wf[0].a").phase is not Phase.FAILED:
        harness.advance()
    assert harness.node("wf[0]").phase is Phase.RUNNING

    harness.finish()

    failed = f"child '{harness.node('wf[0].a').id}' failed"
    assert harness.node("wf[0].b").phase is Phase.SUCCEEDED
    assert (harness.node("wf[0]").phase, harness.node("wf[0]").message) == (Phase.FAILED, failed)
    assert (harness.node("wf").phase, harness.node("wf").message) == (Phase.FAILED, failed)
    assert (harness.run.phase, harness.run.message) == ("Failed", failed)
    assert "wf[1]" not in harness.phases()


def test_an_errored_step_makes_group_and_template_failed_not_errored() -> None:
    harness = finished(TWO_GROUPS, {"a": ERROR})

    assert harness.node("wf[0].a").phase is Phase.ERROR
    assert harness.node("wf[0]").phase is Phase.FAILED
    assert harness.run.phase == "Failed"


def test_a_step_that_may_fail_lets_the_next_group_run_and_stays_failed() -> None:
    harness = finished(
        """
    - name: main
      steps:
      - [{name: a, template: leaf, continueOn: {failed: true}}]
      - [{name: b, template: leaf}]
    """,
        {"a": FAIL},
    )

    assert harness.phases() == {
        "wf": "Succeeded",
        "wf[0]": "Succeeded",
        "wf[0].a": "Failed",
        "wf[1]": "Succeeded",
        "wf[1].b": "Succeeded",
    }


def test_to_go_on_after_a_failure_is_not_to_go_on_after_an_error() -> None:
    templates = """
    - name: main
      steps:
      - [{name: a, template: leaf, continueOn: {failed: true}}]
    """

    assert finished(templates, {"a": ERROR}).run.phase == "Failed"
    assert finished(templates.replace("failed", "error"), {"a": ERROR}).run.phase == "Succeeded"
    assert finished(templates.replace("failed", "error"), {"a": FAIL}).run.phase == "Failed"


def test_a_step_whose_condition_is_false_is_skipped() -> None:
    harness = finished("""
    - name: main
      steps:
      - [{name: a, template: leaf, when: "1 == 2"}, {name: b, template: leaf, when: "x == x"}]
      - [{name: c, template: leaf}]
    """)

    skipped = harness.node("wf[0].a")
    assert (skipped.phase, skipped.type) == (Phase.SKIPPED, NodeType.SKIPPED)
    assert skipped.message == "when '1 == 2' evaluated false"
    assert harness.started == ["wf[0].b", "wf[1].c"]
    assert harness.run.phase == "Succeeded"
    # What follows hangs below the skipped node, too.
    assert harness.run.children[skipped.id] == [harness.node("wf[1]").id]


def test_a_broken_condition_ends_the_group_in_error_and_the_template_in_failure() -> None:
    harness = finished("""
    - name: main
      steps:
      - [{name: a, template: leaf, when: "1 =="}]
    """)

    group = harness.node("wf[0]")
    assert group.phase is Phase.ERROR
    assert group.message.startswith("failed to resolve references: Invalid 'when' expression")
    assert harness.run.phase == "Failed"
    # References are resolved before any step gets a node.
    assert "wf[0].a" not in harness.phases()


def test_a_condition_that_is_no_yes_or_no_is_an_error() -> None:
    harness = finished("""
    - name: main
      steps:
      - [{name: a, template: leaf, when: "1 + 2"}]
    """)

    assert harness.node("wf[0]").phase is Phase.ERROR
    assert "Expected boolean evaluation for '1 + 2'" in harness.node("wf[0]").message


def test_broken_arguments_of_a_step_that_is_skipped_do_no_harm() -> None:
    harness = finished("""
    - name: main
      steps:
      - - name: a
          template: takes
          when: "false"
          arguments: {artifacts: [{name: x, from: "{{steps.nobody.outputs.artifacts.y}}"}]}
    - name: takes
      inputs: {artifacts: [{name: x, path: /x}]}
      container: {image: x, command: [x]}
    """)

    assert harness.node("wf[0].a").phase is Phase.SKIPPED
    assert harness.run.phase == "Succeeded"


GIVE_AND_TAKE = """
- name: main
  steps:
  - [{name: give, template: leaf}]
  - - name: take
      template: echo
      arguments: {parameters: [{name: m, value: "<{{steps.give.outputs.result}}>"}]}
- name: echo
  inputs: {parameters: [{name: m}]}
  container: {image: x, command: [x], args: ["{{inputs.parameters.m}}"]}
"""


def test_a_result_reaches_the_step_that_refers_to_it() -> None:
    harness = finished(GIVE_AND_TAKE, {"give": Outcome(result='say "hi"\n\\')})

    inputs = harness.node("wf[1].take").inputs
    assert inputs is not None
    assert inputs.parameters[0].value == '<say "hi"\n\\>'


def test_a_value_that_looks_like_a_tag_is_not_evaluated_again() -> None:
    harness = finished(GIVE_AND_TAKE, {"give": Outcome(result="{{=1+1}} {{workflow.name}}")})

    inputs = harness.node("wf[1].take").inputs
    assert inputs is not None
    assert inputs.parameters[0].value == "<{{=1+1}} {{workflow.name}}>"


def test_a_template_that_does_not_exist_ends_the_group_in_error() -> None:
    harness = finished("""
    - name: main
      steps:
      - [{name: a, template: nobody}, {name: b, template: leaf}]
    """)

    child, group = harness.node("wf[0].a"), harness.node("wf[0]")
    assert (child.type, child.phase) == (NodeType.SKIPPED, Phase.ERROR)
    assert group.phase is Phase.ERROR
    assert group.message.startswith("step group deemed errored due to child wf[0].a error: ")
    assert harness.run.phase == "Failed"
    assert harness.run.message == group.message


def test_a_missing_input_is_an_error_that_names_it() -> None:
    harness = finished("""
    - name: main
      steps:
      - [{name: a, template: takes}]
    - name: takes
      inputs: {parameters: [{name: x}]}
      container: {image: x, command: [x]}
    """)

    assert harness.node("wf[0].a").message == "inputs.parameters.x was not supplied"
    assert harness.node("wf[0]").phase is Phase.ERROR
    assert harness.run.phase == "Failed"


def test_the_outputs_of_a_steps_template_come_from_its_steps() -> None:
    harness = finished(
        """
    - name: main
      outputs:
        parameters:
        - {name: p, valueFrom: {parameter: "{{steps.a.outputs.parameters.x}}"}}
        - {name: q, valueFrom: {expression: "asInt(steps.a.outputs.parameters.x) + 1"}}
        - {name: r, valueFrom: {parameter: "{{steps.a.outputs.parameters.z}}", default: none}}
      steps:
      - [{name: a, template: leaf}]
    """,
        {"a": Outcome(parameters={"x": "41"})},
    )

    outputs = harness.node("wf").outputs
    assert outputs is not None
    assert {p.name: p.value for p in outputs.parameters} == {"p": "41", "q": "42", "r": "none"}


def test_an_output_that_cannot_be_resolved_ends_the_run_in_error() -> None:
    harness = finished("""
    - name: main
      outputs: {parameters: [{name: p, valueFrom: {parameter: "{{steps.a.outputs.parameters.x}}"}}]}
      steps:
      - [{name: a, template: leaf}]
    """)

    assert harness.node("wf").phase is Phase.ERROR
    assert harness.run.phase == "Error"
    assert harness.run.message.startswith("error in entry template execution: ")


def test_an_output_of_a_nested_template_that_cannot_be_resolved_errors_the_group() -> None:
    harness = finished("""
    - name: main
      steps:
      - [{name: i, template: inner}]
    - name: inner
      outputs: {parameters: [{name: p, valueFrom: {parameter: "{{steps.a.outputs.parameters.x}}"}}]}
      steps:
      - [{name: a, template: leaf}]
    """)

    assert harness.node("wf[0].i").phase is Phase.ERROR
    assert harness.node("wf[0]").phase is Phase.ERROR
    assert harness.run.phase == "Failed"


def test_an_inline_template_runs() -> None:
    harness = finished("""
    - name: main
      steps:
      - [{name: a, inline: {container: {image: x, command: [x]}}}]
    """)

    assert harness.node("wf[0].a").type is NodeType.POD
    assert harness.run.phase == "Succeeded"


def test_recursion_ends_at_its_condition() -> None:
    harness = finished(
        """
    - name: main
      steps:
      - [{name: flip, template: leaf}]
      - [{name: again, template: main, when: "{{steps.flip.outputs.result}} == tails"}]
    """,
        {"leaf": Outcome(result="heads")},
    )
    tails = Harness(
        flow("""
    - name: main
      steps:
      - [{name: flip, template: leaf}]
      - [{name: again, template: main, when: "{{steps.flip.outputs.result}} == tails"}]
    """),
        lambda node, _: Outcome(result="tails" if node.name.count("again") < 3 else "heads"),
    )
    tails.finish()

    assert harness.run.phase == tails.run.phase == "Succeeded"
    assert harness.node("wf[1].again").phase is Phase.SKIPPED
    assert tails.node("wf[1].again[1].again[1].again[1].again").phase is Phase.SKIPPED


def test_endless_recursion_ends_in_failure_not_in_a_hang() -> None:
    harness = finished("""
    - name: main
      steps:
      - [{name: m, template: main}]
    """)

    deepest = max(harness.run.nodes.values(), key=lambda node: len(node.name))
    assert deepest.phase is Phase.ERROR
    assert "recursion depth" in deepest.message
    # Argo's stack holds 99 calls: the root and 98 below it.
    assert deepest.name.count(".m") == 99
    assert harness.run.phase == "Failed"


def test_step_names_are_known_inside_of_the_template() -> None:
    harness = finished("""
    - name: main
      steps:
      - [{name: a, template: shows}]
    - name: shows
      inputs: {parameters: [{name: p, value: "{{steps.name}} of {{workflow.name}}"}]}
      container: {image: x, command: [x]}
    """)

    inputs = harness.node("wf[0].a").inputs
    assert inputs is not None
    assert inputs.parameters[0].value == "a of wf"


def test_what_runs_beside_a_step_that_cannot_be_executed_is_ended_with_its_group() -> None:
    # Argo lets such a pod run on, seen by nobody; here it ends with what it belongs to.
    harness = Harness(
        flow("""
    - name: main
      steps:
      - [{name: ask, template: leaf}]
      - - {name: long, template: leaf}
        - name: broken
          template: gate
    - name: gate
      synchronization: {mutexes: [{name: m}]}
      outputs: {parameters: [{name: p, valueFrom: {parameter: "{{steps.x.outputs.result}}"}}]}
      steps:
      - [{name: x, template: leaf}]
    """),
        cast({"long": Outcome(seconds=99), "x": Outcome(phase="Succeeded")}),
    )
    harness.finish()

    long = harness.node("wf[1].long")
    assert (long.phase, long.message) == (Phase.FAILED, "ended with the node that it belongs to")
    assert (long.id, long.ours.attempt) in harness.stopped
    assert harness.run.phase == "Failed"
    assert harness.run.finished_at == harness.run.created_at + 2
