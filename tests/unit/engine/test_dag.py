"""DAG templates: order, depends, omitted tasks, the phase of the whole, targets, edges, outputs."""

from __future__ import annotations

import pytest

from tiphys.engine.dagtask import rules_of
from tiphys.engine.node import NodeType, Phase
from tiphys.spec import model
from tiphys.testing.flow import ERROR, FAIL, cast, finished, flow
from tiphys.testing.harness import Harness, Outcome


def dag(*tasks: str, more: str = "") -> str:
    lines = "\n".join(f"    - {{template: leaf, {task}}}" for task in tasks)
    return f"""
- name: main
  dag:{more}
    tasks:
{lines}
"""


def test_a_task_starts_once_all_that_it_depends_on_have_ended() -> None:
    tasks = dag("name: a", "name: b, depends: a", "name: c, depends: a", "name: d, depends: b && c")
    harness = Harness(flow(tasks), cast({"b": Outcome(seconds=5)}))
    harness.finish()

    assert harness.started == ["wf.a", "wf.b", "wf.c", "wf.d"]
    assert harness.node("wf.d").started_at == harness.run.created_at + 6
    assert harness.run.phase == "Succeeded"


def test_those_that_one_end_lets_go_start_in_their_order_whatever_else_they_needed() -> None:
    needs = ("a", "x && a", "a", "a && x", "a")
    tasks = (f"name: t{number}, depends: {rule}" for number, rule in enumerate(needs))
    harness = Harness(flow(dag("name: x", "name: a", *tasks)), cast({"a": Outcome(seconds=5)}))
    harness.finish()

    assert harness.started == ["wf.a", "wf.x", *(f"wf.t{number}" for number in range(5))]


def test_edges_go_from_dependencies_to_dependants() -> None:
    harness = finished(dag("name: a", "name: b, dependencies: [a]", "name: c, dependencies: [a]"))
    a, b, c = (harness.node(f"wf.{name}").id for name in "abc")

    assert harness.run.children["wf"] == [a]
    assert harness.run.children[a] == [b, c]
    assert harness.node("wf").outbound_nodes == (b, c)
    assert harness.node("wf.b").display_name == "b"
    assert harness.node("wf.b").boundary_id == "wf"


def test_what_depends_on_a_failed_task_is_omitted_and_the_dag_fails() -> None:
    harness = finished(dag("name: a", "name: b, depends: a", "name: c, depends: b"), {"a": FAIL})

    b = harness.node("wf.b")
    assert (b.phase, b.type) == (Phase.OMITTED, NodeType.SKIPPED)
    assert b.message == "omitted: depends condition not met"
    assert harness.node("wf.c").phase is Phase.OMITTED
    assert (harness.run.phase, harness.run.message) == ("Failed", "")


def test_an_error_passes_through_a_dag() -> None:
    assert finished(dag("name: a", "name: b, depends: a"), {"a": ERROR}).run.phase == "Error"


def test_a_failure_that_somebody_handles_does_not_fail_the_dag() -> None:
    harness = finished(dag("name: a", "name: b, depends: a.Failed"), {"a": FAIL})

    assert harness.node("wf.b").phase is Phase.SUCCEEDED
    assert harness.run.phase == "Succeeded"


def test_a_handler_that_is_not_needed_is_omitted_and_the_dag_succeeds() -> None:
    harness = finished(dag("name: a", "name: b, depends: a.Failed"))

    assert harness.node("wf.b").phase is Phase.OMITTED
    assert harness.run.phase == "Succeeded"


def test_an_omitted_leaf_takes_the_failure_of_its_branch_before_the_success() -> None:
    tasks = dag("name: a", "name: b", "name: c, depends: a && b")
    harness = finished(tasks, {"b": FAIL})

    assert harness.node("wf.c").phase is Phase.OMITTED
    assert harness.run.phase == "Failed"


RESULTS = {
    "Succeeded": Outcome(),
    "Failed": FAIL,
    "Errored": ERROR,
}


@pytest.mark.parametrize("asked", ["Succeeded", "Failed", "Errored", "Skipped", "Omitted", ""])
@pytest.mark.parametrize("given", RESULTS)
def test_depends_looks_at_the_result_that_it_names(asked: str, given: str) -> None:
    depends = f"a.{asked}" if asked else "a"
    harness = finished(dag("name: a", f"name: b, depends: {depends}"), {"a": RESULTS[given]})

    runs = asked == given or (asked == "" and given == "Succeeded")
    assert harness.node("wf.b").phase is (Phase.SUCCEEDED if runs else Phase.OMITTED)


def test_a_skipped_dependency_satisfies_a_bare_name_and_skipped() -> None:
    harness = finished(
        dag(
            'name: a, when: "false"',
            "name: b, depends: a",
            "name: c, depends: a.Skipped",
            "name: d, depends: a.Succeeded",
            "name: e, depends: d.Omitted",
        )
    )

    assert harness.phases() == {
        "wf": "Succeeded",
        "wf.a": "Skipped",
        "wf.b": "Succeeded",
        "wf.c": "Succeeded",
        "wf.d": "Omitted",
        "wf.e": "Succeeded",
    }


def test_depends_knows_and_or_not_and_dashes() -> None:
    harness = finished(
        dag(
            "name: a-1",
            "name: b-2",
            'name: c, depends: "!a-1.Failed && (b-2.Failed || b-2.Errored)"',
        ),
        {"b-2": FAIL},
    )

    assert harness.node("wf.c").phase is Phase.SUCCEEDED


@pytest.mark.parametrize(
    ("outcomes", "asked", "phase"),
    [
        ([Outcome(), FAIL], "AnySucceeded", Phase.SUCCEEDED),
        ([FAIL, FAIL], "AnySucceeded", Phase.OMITTED),
        ([FAIL, FAIL], "AllFailed", Phase.SUCCEEDED),
        ([Outcome(), FAIL], "AllFailed", Phase.OMITTED),
        ([FAIL, ERROR], "AllFailed", Phase.OMITTED),
    ],
)
def test_depends_on_a_loop_can_ask_for_any_or_all(
    outcomes: list[Outcome], asked: str, phase: Phase
) -> None:
    tasks = dag("name: a, withItems: [0, 1]", f"name: b, depends: a.{asked}")
    harness = finished(tasks, {"a(0:0)": outcomes[0], "a(1:1)": outcomes[1]})

    assert harness.node("wf.b").phase is phase


def test_continue_on_lets_dependants_run_and_a_leaf_be_forgiven() -> None:
    between = dag("name: a, continueOn: {failed: true}", "name: b, dependencies: [a]")
    leaf = dag("name: a, continueOn: {failed: true}")

    assert finished(between, {"a": FAIL}).phases() == {
        "wf": "Succeeded",
        "wf.a": "Failed",
        "wf.b": "Succeeded",
    }
    assert finished(leaf, {"a": FAIL}).run.phase == "Succeeded"
    assert finished(leaf, {"a": ERROR}).run.phase == "Error"


def test_other_branches_go_on_after_a_failure() -> None:
    tasks = dag("name: a", "name: b", "name: c, depends: b")
    harness = finished(tasks, {"a": FAIL, "b": Outcome(seconds=9)})

    assert harness.node("wf.c").phase is Phase.SUCCEEDED
    assert harness.run.phase == "Failed"


def test_only_what_the_targets_need_gets_a_node() -> None:
    tasks = dag("name: a", "name: b, depends: a", "name: c", "name: d", more="\n    target: b c")
    harness = finished(tasks)

    assert set(harness.phases()) == {"wf", "wf.a", "wf.b", "wf.c"}


def test_the_phase_of_a_dag_is_that_of_its_targets() -> None:
    tasks = dag("name: a", "name: b, depends: a.Failed || a.Succeeded", more="\n    target: b")

    assert finished(tasks, {"a": FAIL}).run.phase == "Succeeded"


def test_a_condition_sees_outputs_of_ancestors() -> None:
    tasks = dag(
        "name: a",
        "name: b, depends: a",
        'name: c, depends: b, when: "{{tasks.a.outputs.result}} > 3"',
    )

    assert finished(tasks, {"a": Outcome(result="4")}).node("wf.c").phase is Phase.SUCCEEDED
    assert finished(tasks, {"a": Outcome(result="2")}).node("wf.c").phase is Phase.SKIPPED


def test_a_broken_condition_is_an_error_of_its_task_alone() -> None:
    harness = finished(dag('name: a, when: "1 =="', "name: b", "name: c, depends: a.Errored"))

    a = harness.node("wf.a")
    assert (a.phase, a.type) == (Phase.ERROR, NodeType.SKIPPED)
    assert a.message.startswith("Invalid 'when' expression '1 ==':")
    assert harness.node("wf.b").phase is Phase.SUCCEEDED
    assert harness.node("wf.c").phase is Phase.SUCCEEDED


def test_a_template_that_cannot_be_executed_is_an_error_of_its_task_that_says_so() -> None:
    harness = finished("""
    - name: main
      dag:
        tasks:
        - {name: a, template: takes}
        - {name: b, template: leaf}
    - name: takes
      inputs: {parameters: [{name: x}]}
      container: {image: x, command: [x]}
    """)

    a = harness.node("wf.a")
    assert a.phase is Phase.ERROR
    assert a.message == "task 'wf.a' errored: inputs.parameters.x was not supplied"
    assert harness.node("wf.b").phase is Phase.SUCCEEDED
    assert harness.run.phase == "Error"


def test_a_failed_dag_inside_of_a_dag_fails_it() -> None:
    harness = finished(
        """
    - name: main
      dag:
        tasks:
        - {name: inner, template: sub}
        - {name: after, template: leaf, depends: inner}
    - name: sub
      dag:
        tasks:
        - {name: a, template: leaf}
        - {name: b, template: leaf, depends: a}
    """,
        {"a": FAIL},
    )

    assert harness.node("wf.inner").phase is Phase.FAILED
    assert harness.node("wf.after").phase is Phase.OMITTED
    assert harness.run.phase == "Failed"


def test_the_outputs_of_a_dag_come_from_its_tasks() -> None:
    harness = finished(
        """
    - name: main
      outputs:
        parameters:
        - {name: p, valueFrom: {parameter: "{{tasks.a.outputs.parameters.x}}"}}
        - {name: q, valueFrom: {expression: "tasks['b-1'].outputs.result"}}
      dag:
        tasks:
        - {name: a, template: leaf}
        - {name: b-1, template: leaf}
    """,
        {"a": Outcome(parameters={"x": "1"}), "b-1": Outcome(result="2")},
    )

    outputs = harness.node("wf").outputs
    assert outputs is not None
    assert {p.name: p.value for p in outputs.parameters} == {"p": "1", "q": "2"}


def test_tasks_that_the_target_does_not_reach_do_not_matter_to_a_cycle_free_run() -> None:
    harness = finished(dag("name: a", "name: b, depends: a.Omitted || a", more="\n    target: a"))

    assert harness.started == ["wf.a"]


def test_a_dag_phase_prefers_the_first_failed_target_when_it_fails_fast() -> None:
    both = {"a": FAIL, "b": ERROR}

    assert finished(dag("name: a", "name: b"), both).run.phase == "Failed"
    assert (
        finished(dag("name: a", "name: b", more="\n    failFast: false"), both).run.phase == "Error"
    )


def test_a_steps_template_is_a_task_like_any_other() -> None:
    harness = finished("""
    - name: main
      dag:
        tasks:
        - {name: a, template: sub}
        - {name: b, template: leaf, depends: a}
    - name: sub
      steps:
      - [{name: x, template: leaf}]
    """)

    assert harness.run.children[harness.node("wf.a[0].x").id] == [harness.node("wf.b").id]
    assert harness.run.phase == "Succeeded"


def test_tasks_that_need_the_same_have_one_tuple_in_common_however_they_say_it() -> None:
    tasks = (
        model.DAGTask(name="a", template="t"),
        model.DAGTask(name="b", template="t"),
        model.DAGTask(name="c", template="t", depends="a && b"),
        model.DAGTask(name="d", template="t", depends="a && b"),
        model.DAGTask(name="e", template="t", depends="a.Succeeded && b.Failed"),
    )
    old = tuple(
        model.DAGTask(name=name, template="t", dependencies=("a", "b")) for name in ("f", "g")
    )

    rules = rules_of(model.DAGTemplate(tasks=(*tasks, *old)))

    needs = [rules[name][0] for name in "cdefg"]
    assert needs == [("a", "b")] * 5
    assert len({id(each) for each in needs}) == 1
    assert [rules[name][1] is None for name in "cdefg"] == [True, True, False, True, True]


def test_each_of_those_that_wait_for_the_same_is_a_child_of_all_of_them() -> None:
    joins = [f"name: {name}, dependencies: [a, b]" for name in "cdf"]
    joins.insert(2, "name: e, dependencies: [b, c]")  # Between them, for another set.
    harness = Harness(flow(dag("name: a", "name: b", *joins)))
    harness.finish()

    def below(name: str) -> list[str]:
        children = harness.run.children[harness.node(name).id]
        return sorted(harness.run.nodes[each].display_name for each in children)

    assert [below("wf.a"), below("wf.b"), below("wf.c")] == [
        ["c", "d", "f"],
        ["c", "d", "e", "f"],
        ["e"],
    ]
    assert len(harness.node("wf.d").ours.parents) == 2
