"""Which leaves are admitted together."""

from __future__ import annotations

from tests.unit.kueue.flow import Flow

from tiphys.kueue import label


def nested_loop(outer: list[str], inner: int) -> Flow:
    """Give the KEP's first example, of any size."""
    flow = Flow("loops")
    flow.node("loops", "Steps")
    flow.node("loops[0]", "StepGroup", "loops")
    for place, item in enumerate(outer):
        below = f"loops[0].loop-example-depth-2({place}:{item})"
        flow.node(below, "Steps", "loops", ["loops[0]"])
        group = f"{below}[0]"
        flow.node(group, "StepGroup", below)
        for index in range(inner):
            flow.leaf(f"{group}.print-message-loop({index}:x)", below, [group])
    return flow


def test_an_inner_loop_is_a_layer_in_each_of_its_instances() -> None:
    flow = nested_loop(["depth-1-1", "depth-1-2"], 2)

    flow.settle()

    assert flow.asked() == {
        "loops[0].loop-example-depth-2(0:depth-1-1)[0] #0": 2,
        "loops[0].loop-example-depth-2(1:depth-1-2)[0] #0": 2,
    }


def test_leaves_beside_a_nested_step_share_a_layer_and_the_nested_step_has_its_own() -> None:
    flow = Flow("loops")
    flow.node("loops", "Steps")
    flow.node("loops[0]", "StepGroup", "loops")
    flow.leaf("loops[0].print-message(0:depth-1-1)", "loops", ["loops[0]"])
    flow.leaf("loops[0].print-message(1:depth-1-2)", "loops", ["loops[0]"])
    below = "loops[0].loop-example-depth-2-2"
    flow.node(below, "Steps", "loops", ["loops[0]"])
    flow.node(f"{below}[0]", "StepGroup", below)
    flow.leaf(f"{below}[0].print-message-loop(0:depth-2-1)", below, [f"{below}[0]"])
    flow.leaf(f"{below}[0].print-message-loop(1:depth-2-2)", below, [f"{below}[0]"])

    flow.settle()

    assert flow.asked() == {"loops[0] #0": 2, f"{below}[0] #0": 2}


def test_a_workflow_of_one_template_has_one_layer() -> None:
    flow = Flow("hello")
    flow.leaf("hello")

    flow.settle()

    assert flow.asked() == {"hello #0": 1}


def test_a_pod_without_a_node_as_argos_agent_is_a_layer_of_its_own() -> None:
    flow = Flow("hello")
    flow.node("hello", "HTTP")
    flow.pod("hello-agent")
    flow.pods["hello-agent"]["metadata"]["annotations"] = {}
    flow.pods["hello-agent"]["metadata"]["labels"][label.COMPONENT] = "agent"

    flow.settle()

    assert flow.asked() == {"agent hello-agent #0": 1}


def test_twenty_times_twenty_are_twenty_layers_of_twenty() -> None:
    flow = nested_loop([str(n) for n in range(20)], 20)

    flow.settle()

    assert sorted(flow.asked().values()) == [20] * 20


def test_tasks_of_a_dag_that_hang_on_the_same_tasks_are_a_layer() -> None:
    flow = Flow("dag")
    flow.node("dag", "DAG")
    flow.leaf("dag.a", "dag")
    flow.settle()
    flow.admit()
    flow.settle()
    flow.end("dag.a")
    flow.leaf("dag.b", "dag", ["dag.a"])
    flow.leaf("dag.c", "dag", ["dag.a"])

    flow.settle()

    assert flow.asked() == {"dag after .a #0": 2}


def test_branches_of_a_dag_do_not_wait_for_each_other() -> None:
    flow = Flow("dag")
    flow.node("dag", "DAG")
    for name in ("b", "c"):
        flow.leaf(f"dag.{name}", "dag")
        flow.end(f"dag.{name}")
    flow.leaf("dag.d", "dag", ["dag.b"])
    flow.leaf("dag.e", "dag", ["dag.c"])

    flow.settle()

    assert flow.asked() == {"dag after .b #0": 1, "dag after .c #0": 1}


def test_a_loop_in_a_dag_is_in_the_layer_of_its_task() -> None:
    flow = Flow("dag")
    flow.node("dag", "DAG")
    flow.leaf("dag.x", "dag")
    flow.node("dag.loop", "TaskGroup", "dag")
    flow.leaf("dag.loop(0:a)", "dag", ["dag.loop"])
    flow.leaf("dag.loop(1:b)", "dag", ["dag.loop"])

    flow.settle()

    assert flow.asked() == {"dag #0": 3}


def test_a_pod_that_the_status_does_not_know_yet_waits_for_it() -> None:
    flow = Flow("steps")
    flow.node("steps", "Steps")
    flow.node("steps[0]", "StepGroup", "steps")
    flow.pod("steps[0].early")

    assert flow.plan() == []
