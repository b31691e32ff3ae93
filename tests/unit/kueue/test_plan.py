"""What the controller does, from the first pod to the end."""

from __future__ import annotations

import json

import pytest
from tests.unit.kueue.flow import Flow

from tiphys.kueue import label
from tiphys.kueue.plan import Finish, HandBack, Make, Ready, Release, Reshape, Seat
from tiphys.scheduling.admission import MAX_RESOURCES


def layer(count: int) -> Flow:
    flow = Flow()
    flow.node("flow", "Steps")
    flow.node("flow[0]", "StepGroup", "flow")
    for index in range(count):
        add(flow, index)
    return flow


def add(flow: Flow, index: int, **requests: str) -> None:
    flow.leaf(f"flow[0].{index}", "flow", ["flow[0]"], **requests)


def admitted(count: int) -> Flow:
    flow = layer(count)
    flow.settle()
    flow.admit()
    flow.settle()
    return flow


def test_nothing_runs_before_its_layer_is_admitted() -> None:
    flow = layer(4)

    flow.settle()

    assert flow.running() == set()
    (claim,) = flow.claims()
    assert claim.thing["spec"]["queueName"] == "user-queue"
    assert claim.counts == {next(iter(claim.counts)): 4}


def test_all_pods_of_an_admitted_layer_are_let_go() -> None:
    assert len(admitted(4).running()) == 4


def test_a_pod_that_comes_before_quota_is_reserved_joins_its_layer() -> None:
    flow = layer(2)
    flow.settle()
    add(flow, 2)

    actions = flow.settle()

    assert [type(each) for each in actions] == [Reshape]
    assert flow.asked() == {"flow[0] #0": 3}


def test_a_pod_that_comes_later_has_a_workload_of_its_own() -> None:
    flow = admitted(2)
    add(flow, 2)

    actions = flow.settle()

    assert [type(each) for each in actions] == [Make]
    assert flow.asked() == {"flow[0] #0": 2, "flow[0] #1": 1}


def test_a_pod_takes_the_slot_of_one_that_ended_in_the_same_pass() -> None:
    flow = admitted(2)
    flow.end("flow[0].0")
    add(flow, 2)

    actions = flow.settle()

    assert [type(each) for each in actions] == [Seat, Release]
    assert flow.running() == {"flow[0].1", "flow[0].2"}
    assert flow.asked() == {"flow[0] #0": 2}


def test_a_larger_pod_does_not_take_a_smaller_slot() -> None:
    flow = admitted(2)
    flow.end("flow[0].0")
    add(flow, 2, cpu="2")

    flow.settle()

    assert flow.running() == {"flow[0].1"}
    assert flow.asked() == {"flow[0] #0": 2, "flow[0] #1": 1}


def test_quota_is_handed_back_as_leaves_end() -> None:
    flow = admitted(3)
    flow.end("flow[0].0")

    (action,) = flow.plan()

    assert isinstance(action, HandBack)
    assert [each["count"] for each in action.reclaimable] == [1]


def test_a_slot_that_was_handed_back_is_not_taken_again() -> None:
    flow = admitted(2)
    flow.end("flow[0].0")
    flow.settle()
    add(flow, 2)

    flow.settle()

    assert flow.asked() == {"flow[0] #0": 2, "flow[0] #1": 1}


def test_a_layer_is_finished_with_its_last_leaf() -> None:
    flow = admitted(2)
    flow.end("flow[0].0")
    flow.end("flow[0].1", "Failed")

    actions = flow.settle()

    assert [type(each) for each in actions] == [Finish]


def test_kueue_is_told_when_all_pods_have_started() -> None:
    flow = admitted(2)
    flow.pods["flow[0].0"]["status"] = {"phase": "Running"}
    assert flow.plan() == []
    flow.pods["flow[0].1"]["status"] = {"phase": "Running"}

    actions = flow.settle()

    assert [type(each) for each in actions] == [Ready]


def test_everything_is_finished_with_the_workflow() -> None:
    flow = layer(2)
    flow.settle()
    flow.owner["status"]["phase"] = "Failed"

    flow.settle()

    assert all(claim.is_finished for claim in flow.claims())


def test_another_attempt_uses_the_slot_of_the_first() -> None:
    flow = Flow()
    flow.node("flow", "Steps")
    flow.node("flow[0]", "StepGroup", "flow")
    flow.node("flow[0].a", "Retry", "flow", ["flow[0]"])
    flow.leaf("flow[0].a(0)", "flow", ["flow[0].a"])
    flow.settle()
    flow.admit()
    flow.settle()
    flow.end("flow[0].a(0)", "Failed")

    assert flow.plan() == []
    flow.leaf("flow[0].a(1)", "flow", ["flow[0].a"])
    actions = flow.settle()

    assert [type(each) for each in actions] == [Release]
    assert flow.asked() == {"flow[0] #0": 1}


def test_a_retry_that_waits_for_a_lock_holds_no_quota() -> None:
    flow = Flow()
    flow.node("flow", "Steps")
    flow.node("flow[0]", "StepGroup", "flow")
    flow.node("flow[0].a", "Retry", "flow", ["flow[0]"])
    flow.leaf("flow[0].a(0)", "flow", ["flow[0].a"])
    flow.settle()
    flow.admit()
    flow.settle()
    flow.end("flow[0].a(0)", "Failed")
    flow.nodes["flow[0].a"]["synchronizationStatus"] = {"waiting": "default/Mutex/m"}

    flow.settle()

    assert flow.asked() == {}


# --- eviction -------------------------------------------------------------------------------


def evicted() -> tuple[Flow, str]:
    flow = admitted(2)
    for name in flow.running():
        flow.nodes[name]["phase"] = "Running"
    (claim,) = flow.claims()
    flow.evict(claim.name)
    return flow, claim.name


def test_eviction_suspends_before_anything_is_killed() -> None:
    flow, _ = evicted()

    (action,) = flow.plan()
    flow.perform(action)

    assert flow.owner["spec"]["suspend"] is True
    assert len(flow.pods) == 2


def test_evicted_leaves_are_pending_again_whatever_argo_made_of_the_killing() -> None:
    flow, name = evicted()
    for _ in range(2):
        for action in flow.plan():
            flow.perform(action)
    flow.nodes["flow[0].0"] |= {"phase": "Failed", "message": "pod deleted"}

    flow.settle()

    assert {flow.nodes[f"flow[0].{n}"]["phase"] for n in (0, 1)} == {"Pending"}
    assert "message" not in flow.nodes["flow[0].0"]
    assert "suspend" not in flow.owner["spec"]
    (claim,) = flow.claims()
    assert claim.name == name
    assert not claim.is_reserved
    assert not claim.is_finished


def test_an_evicted_layer_waits_with_its_old_workload_and_runs_again() -> None:
    flow, name = evicted()
    flow.settle()
    for index in (0, 1):
        flow.pod(f"flow[0].{index}")

    assert flow.settle() == []
    flow.admit(name)
    flow.settle()

    assert len(flow.running()) == 2
    assert len(flow.workloads) == 1


def test_a_leaf_that_had_ended_before_the_eviction_does_not_run_again() -> None:
    flow = admitted(2)
    flow.end("flow[0].0")
    flow.settle()
    (claim,) = flow.claims()
    flow.evict(claim.name)

    flow.settle()
    flow.pod("flow[0].1")
    flow.settle()

    assert flow.nodes["flow[0].0"]["phase"] == "Succeeded"
    assert flow.asked() == {"flow[0] #0": 1}


def test_a_user_who_had_suspended_the_workflow_finds_it_suspended() -> None:
    flow, _ = evicted()
    flow.owner["spec"]["suspend"] = True

    flow.settle()

    assert flow.owner["spec"]["suspend"] is True


def test_pods_whose_workload_was_deleted_are_queued_again() -> None:
    flow = admitted(2)
    flow.workloads.clear()

    flow.settle()
    flow.pod("flow[0].0")
    flow.pod("flow[0].1")
    flow.settle()

    assert flow.running() == set()
    assert flow.asked() == {"flow[0] #0": 2}


# --- other units ----------------------------------------------------------------------------


def test_a_workflow_as_unit_is_suspended_until_it_is_admitted() -> None:
    notes = {
        MAX_RESOURCES: '{"cpu": "4"}',
        label.NODE_SELECTOR: '{"zone": "a"}',
        label.TOLERATION: '{"key": "gpu", "operator": "Exists"}',
    }
    flow = Flow(unit="workflow", notes=notes)

    flow.settle()
    (claim,) = flow.claims()
    held = flow.owner["spec"].get("suspend")
    flow.admit()
    flow.settle()

    assert held is True
    assert "suspend" not in flow.owner["spec"]
    (podset,) = claim.thing["spec"]["podSets"]
    spec = podset["template"]["spec"]
    assert podset["count"] == 1
    assert spec["containers"][0]["resources"]["requests"] == {"cpu": "4"}
    assert (spec["nodeSelector"], spec["tolerations"]) == (
        {"zone": "a"},
        [{"key": "gpu", "operator": "Exists"}],
    )


@pytest.mark.parametrize(
    ("notes", "why"),
    [
        ({}, "needs the annotation"),
        ({MAX_RESOURCES: "{cpu"}, "cannot be read"),
        ({MAX_RESOURCES: "cpu=much"}, "is not an amount"),
        ({MAX_RESOURCES: "cpu=4", label.NODE_SELECTOR: "[a"}, "cannot be read"),
        ({MAX_RESOURCES: "cpu=4", label.NODE_SELECTOR: "a"}, "expected labels"),
        ({MAX_RESOURCES: "cpu=4", label.TOLERATION: "a"}, "expected a toleration"),
    ],
)
def test_a_workflow_as_unit_that_does_not_say_what_it_needs_is_not_let_in(
    notes: dict[str, str], why: str
) -> None:
    flow = Flow(unit="workflow", notes=notes)

    flow.settle()

    assert (flow.owner["spec"]["suspend"], flow.workloads) == (True, {})
    assert why in flow.owner["metadata"]["annotations"][label.HELD]
    flow.owner["metadata"]["annotations"] |= {
        MAX_RESOURCES: "cpu=500m,memory=2Gi,nvidia.com/gpu=1",
        label.NODE_SELECTOR: "",
        label.TOLERATION: "[{key: gpu}, {key: spot}]",
    }
    flow.settle()
    flow.admit()
    flow.settle()
    assert "suspend" not in flow.owner["spec"]
    ((podset,),) = (claim.thing["spec"]["podSets"] for claim in flow.claims())
    spec = podset["template"]["spec"]
    amounts = {"cpu": "500m", "memory": "2Gi", "nvidia.com/gpu": "1"}
    assert spec["containers"][0]["resources"]["requests"] == amounts
    assert spec["tolerations"] == [{"key": "gpu"}, {"key": "spot"}]


def test_an_evicted_workflow_is_suspended_and_its_pods_run_again_later() -> None:
    flow = Flow(unit="workflow", notes={MAX_RESOURCES: '{"cpu": "4"}'})
    flow.settle()
    flow.admit()
    flow.leaf("flow")
    flow.settle()
    (claim,) = flow.claims()
    flow.nodes["flow"]["phase"] = "Running"
    flow.evict(claim.name)

    flow.settle()

    assert flow.owner["spec"]["suspend"] is True
    assert flow.pods == {}
    assert flow.nodes["flow"]["phase"] == "Pending"
    flow.admit()
    flow.pod("flow")
    flow.settle()
    assert flow.running() == {"flow"}


@pytest.mark.parametrize("unit", ["pod"])
def test_pods_as_units_are_kueues_own_business(unit: str) -> None:
    flow = Flow(unit=unit)
    flow.leaf("flow")

    assert flow.plan() == []


# --- pauses ---------------------------------------------------------------------------------


def paused(items: str = '["a", "b"]') -> Flow:
    flow = Flow(notes={label.MODE: "suspend"})
    flow.node("flow", "Steps")
    flow.node("flow[0]", "StepGroup", "flow")
    pause = flow.node("flow[0].kueue-0", "Suspend", "flow", ["flow[0]"])
    podset = {"name": "s", "count": 0, "loops": ["items-0"], "template": {"spec": {}}}
    values = {"podsets": json.dumps([podset]), "items-0": items}
    parameters = [{"name": name, "value": value} for name, value in values.items()]
    pause |= {"templateName": "tiphys-kueue", "inputs": {"parameters": parameters}}
    return flow


def test_a_pause_asks_for_what_follows_it_and_ends_when_that_is_admitted() -> None:
    flow = paused()

    flow.settle()
    waited = flow.nodes["flow[0].kueue-0"]["phase"]
    asked = flow.asked()
    flow.admit()
    flow.settle()

    assert waited == "Running"
    assert asked == {"flow[0].kueue-0 #0": 2}
    assert flow.nodes["flow[0].kueue-0"]["phase"] == "Succeeded"


def test_the_workload_of_a_pause_is_finished_when_what_follows_has_ended() -> None:
    flow = paused()
    flow.settle()
    flow.admit()
    flow.settle()
    flow.node("flow[1]", "StepGroup", "flow", ["flow[0].kueue-0"])

    assert flow.plan() == []
    flow.end("flow[1]")
    flow.settle()

    assert flow.asked() == {}


@pytest.mark.parametrize(
    ("loop", "count"), [('{"count": "3"}', 3), ('{"start": "2", "end": "5"}', 4)]
)
def test_a_pause_counts_a_sequence_of_the_run(loop: str, count: int) -> None:
    flow = paused(loop)

    flow.settle()

    assert flow.asked() == {"flow[0].kueue-0 #0": count}


def test_a_pause_before_many_shapes_asks_for_no_more_than_a_workload_may_have() -> None:
    flow = paused()
    sizes = [{"name": "pod", "resources": {"requests": {"cpu": str(n)}}} for n in range(1, 12)]
    podsets = [
        {"name": f"s-{n}", "count": 2, "template": {"spec": {"containers": [each]}}}
        for n, each in enumerate(sizes)
    ]
    parameters = flow.nodes["flow[0].kueue-0"]["inputs"]["parameters"]
    parameters[0]["value"] = json.dumps(podsets)

    flow.settle()

    (claim,) = flow.claims()
    assert (len(claim.counts), sum(claim.counts.values())) == (8, 22)


@pytest.mark.parametrize("items", ["[]", "no list", '{"count": "x"}'])
def test_a_pause_before_an_empty_loop_ends_at_once(items: str) -> None:
    flow = paused(items)

    flow.settle()

    assert flow.nodes["flow[0].kueue-0"]["phase"] == "Succeeded"
    assert flow.workloads == {}


def test_a_layer_waits_for_news_of_pods_that_its_status_knows() -> None:
    flow = Flow()
    flow.node("flow", "Steps")
    for name in ("flow[0].a", "flow[0].b"):
        flow.leaf(name, above="flow")
    late = flow.pods.pop("flow[0].b")
    assert flow.plan() == []

    flow.pods["flow[0].b"] = late
    flow.settle()

    assert flow.asked() == {"flow[0] #0": 2}


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("exceeded quota: pods", {"flow[0] #0": 1}),
        ('Internal error occurred: failed calling webhook "pods.kueue.tiphys.dev": refused', {}),
        (f'admission webhook "x" denied the request: {label.UNKNOWN}: no API server', {}),
    ],
)
def test_a_pod_that_could_not_be_made_is_waited_for_only_where_a_webhook_was_down(
    message: str, expected: dict[str, int]
) -> None:
    flow = Flow()
    flow.node("flow", "Steps")
    for name in ("flow[0].a", "flow[0].b"):
        flow.leaf(name, above="flow")
    flow.pods.pop("flow[0].b")
    flow.nodes["flow[0].b"]["message"] = message

    flow.settle()

    assert flow.asked() == expected
    flow.pod("flow[0].b")
    flow.settle()
    assert flow.asked() == {"flow[0] #0": 2}
