"""Layers, workflows and pods that the real Kueue admits, run by the real Argo."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest
import yaml

from tests.cluster.dock import GPU, Dock, Json, is_true, layers
from tests.cluster.rig import argo
from tests.cluster.rig import kueue as kueue_rig
from tests.cluster.rig.daemon import Daemons
from tiphys.kueue import label
from tiphys.kueue.inject import inject_text

ROOT = Path(__file__).resolve().parents[2]
TASK = """
  - name: {name}
    inputs: {{parameters: [{{name: x, default: "0"}}]}}
    container:
      image: alpine:3.23
      command: [sh, -c, "{command}"]
      resources: {{requests: {{cpu: 10m, {gpu}: {gpus}}}, limits: {{{gpu}: {gpus}}}}}
"""
HEAD = "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nmetadata: {generateName: k-}\nspec:\n"


def task(name: str, gpus: int, command: str = "true") -> str:
    return TASK.format(name=name, gpus=gpus, command=command, gpu=GPU)


def loop(count: int, gpus: int = 1, command: str = "true", more: str = "") -> str:
    steps = (
        "  entrypoint: main\n  templates:\n  - name: main\n    steps:\n"
        "    - - name: work\n        template: work\n"
        f"        withSequence: {{count: {count}}}\n"
    )
    return HEAD + more + steps + task("work", gpus, command)


def test_a_layer_of_four_with_quota_for_three_starts_none(dock: Dock) -> None:
    dock.queue({GPU: 3})
    dock.start()
    name = dock.submit(loop(4))
    dock.until(lambda: len(dock.gated()) == 4, "four gated pods")
    dock.until(lambda: layers(dock.workloads()) == {f"{name}[0]": 4}, "one Workload for four")
    # The next workflow shows that Kueue has looked at the first one and left it waiting.
    small = dock.submit(loop(3))
    dock.until(lambda: dock.phase(small) == "Succeeded", "the workflow that fits")

    assert len(dock.gated()) == 4

    dock.queue({GPU: 4})
    dock.until(lambda: dock.phase(name) == "Succeeded", "the layer of four")
    dock.settle(2)


def test_three_of_four_start_where_pods_are_admitted_one_by_one(dock: Dock) -> None:
    dock.queue({GPU: 3})
    dock.start()
    name = dock.submit(loop(4, command="sleep 600"), unit="pod")

    dock.until(lambda: len(dock.ungated()) == 3, "three pods")

    assert len(dock.pods()) == 4
    dock.until(lambda: len(dock.workloads()) == 4, "a Workload for each")
    dock.queue({GPU: 4})
    dock.until(lambda: len(dock.ungated()) == 4, "the fourth")
    dock.terminate(name)
    dock.until(lambda: dock.phase(name) == "Failed", "its end")
    dock.settle(4)


STORY_1 = (
    HEAD
    + """
  entrypoint: main
  templates:
  - name: main
    steps:
    - - {name: prepare, template: prepare}
    - - {name: train, template: train}
  - name: prepare
    container: {image: "alpine:3.23", command: [sh, -c, "true"], resources: {requests: {cpu: 10m}}}
"""
    + task("train", 2)
)


def pods_of(dock: Dock, name: str) -> dict[str, str]:
    nodes = dock.workflow(name).get("status", {}).get("nodes", {}).values()
    return {node["displayName"]: node["phase"] for node in nodes if node["type"] == "Pod"}


def test_preprocessing_runs_while_gpu_quota_is_full_and_training_waits(dock: Dock) -> None:
    dock.queue({GPU: 2})
    dock.start()
    other = dock.submit(loop(2, command="while [ ! -f /tmp/go ]; do sleep 1; done"))
    dock.until(lambda: len(dock.ungated()) == 2, "the workflow that fills the quota")

    name = dock.submit(STORY_1)
    expected = {"prepare": "Succeeded", "train": "Pending"}
    dock.until(lambda: pods_of(dock, name) == expected, "the training that waits")

    assert len(dock.gated()) == 1
    dock.terminate(other)
    dock.until(lambda: dock.phase(name) == "Succeeded", "the training")
    dock.settle(3)


STORY_2 = (
    HEAD
    + """
  entrypoint: main
  templates:
  - name: main
    steps:
    - - {name: first, template: work, withSequence: {count: "2"}}
    - - {name: second, template: work, withSequence: {count: "2"}}
"""
    + task("work", 1)
)


def test_a_second_stage_uses_the_quota_of_the_first(dock: Dock) -> None:
    dock.queue({GPU: 2})
    dock.start()

    name = dock.submit(STORY_2)
    dock.until(lambda: dock.phase(name) == "Succeeded", "both stages")

    assert layers(dock.workloads()) == {f"{name}[0]": 2, f"{name}[1]": 2}
    dock.settle(2)


EXAMPLES = {
    "leaf templates only": (
        """
  entrypoint: outer
  templates:
  - name: inner
    steps:
    - - {name: print-message-loop, template: work, withItems: [hello world, goodbye world]}
  - name: outer
    steps:
    - - {name: loop-example-depth-2, template: inner, withItems: [depth-1-1, depth-1-2]}
""",
        {
            "[0].loop-example-depth-2(0:depth-1-1)[0]": 2,
            "[0].loop-example-depth-2(1:depth-1-2)[0]": 2,
        },
    ),
    "leaves beside a nested step": (
        """
  entrypoint: outer
  templates:
  - name: inner
    steps:
    - - {name: print-message-loop, template: work, withItems: [depth-2-1, depth-2-2]}
  - name: outer
    steps:
    - - {name: print-message, template: work, withItems: [depth-1-1, depth-1-2]}
      - {name: loop-example-depth-2-2, template: inner}
""",
        {"[0]": 2, "[0].loop-example-depth-2-2[0]": 2},
    ),
    "tasks of a DAG": (
        """
  entrypoint: main
  templates:
  - name: main
    dag:
      tasks:
      - {name: a, template: work}
      - {name: b, template: work, withItems: [x, y]}
      - {name: c, template: work, depends: a}
      - {name: d, template: work, depends: a}
      - {name: e, template: work, depends: b}
""",
        {"": 3, " after .a": 2, " after .b(0:x), .b(1:y)": 1},
    ),
    "a single template": ("\n  entrypoint: work\n  templates:\n", {"": 1}),
}


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_proposals_examples_and_a_dag_give_exactly_their_workloads(
    dock: Dock, example: str
) -> None:
    spec, expected = EXAMPLES[example]
    dock.queue({GPU: 10})
    dock.start()

    name = dock.submit(HEAD + spec + task("work", 0))
    dock.until(lambda: dock.phase(name) == "Succeeded", "the workflow")

    found = layers(dock.workloads())
    assert {layer.removeprefix(name): count for layer, count in found.items()} == expected
    dock.settle(len(expected))


def test_the_flavors_node_labels_and_tolerations_reach_the_pods(dock: Dock) -> None:
    toleration = {"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}
    dock.queue({GPU: 1}, labels={"kubernetes.io/os": "linux"}, tolerations=[toleration])
    dock.start()

    name = dock.submit(loop(1))
    dock.until(lambda: dock.phase(name) == "Succeeded", "the workflow")

    (pod,) = dock.pods(name)
    assert pod["spec"]["nodeSelector"] == {"kubernetes.io/os": "linux"}
    assert toleration in pod["spec"]["tolerations"]
    dock.settle(1)


PREEMPTION = {"withinClusterQueue": "LowerPriority"}


@pytest.mark.parametrize("retries", ["", "    retryStrategy: {limit: 3}\n"])
def test_a_preempted_layer_is_queued_again_without_spending_retries(
    dock: Dock, retries: str
) -> None:
    high = f"{dock.namespace}-high"
    dock.apply("WorkloadPriorityClass", high, None, {"value": 1000})
    dock.queue({GPU: 2}, preemption=PREEMPTION)
    dock.start()
    waits = "while [ ! -f /tmp/go ]; do sleep 1; done"
    text = loop(2, command=waits).replace("  - name: work\n", f"  - name: work\n{retries}")
    name = dock.submit(text)
    dock.until(lambda: len(dock.ungated()) == 2, "the layer of low priority")
    dock.until(lambda: running(dock, name) == 2, "its pods")

    urgent = dock.submit(loop(2), priority=high)
    dock.until(lambda: dock.phase(urgent) == "Succeeded", "the layer of high priority")
    dock.until(lambda: running(dock, name) == 2, "the preempted layer, once more")

    found = dock.workflow(name)
    pods = [n for n in found["status"]["nodes"].values() if n["type"] == "Pod"]
    assert {n["phase"] for n in pods} <= {"Pending", "Running"}
    assert len(pods) == 2
    assert found["status"]["phase"] == "Running"
    assert not found["spec"].get("suspend")
    dock.terminate(name)
    dock.until(lambda: dock.phase(name) == "Failed", "its end")
    dock.settle(2)


def running(dock: Dock, name: str) -> int:
    pods = [pod for pod in dock.pods(name) if not pod["metadata"].get("deletionTimestamp")]
    return sum(pod["status"]["phase"] == "Running" for pod in pods)


def has_workloads(dock: Dock, count: int) -> bool:
    return len(dock.workloads()) >= count


def test_a_controller_that_is_killed_anywhere_leaves_nothing_stuck(dock: Dock) -> None:
    dock.queue({GPU: 2})
    dock.start()
    names = [dock.submit(STORY_2) for _ in range(2)]
    dock.until(partial(has_workloads, dock, 1), "the first Workload")
    dock.kill()
    dock.start()
    dock.until(partial(has_workloads, dock, 3), "the third Workload")
    dock.kill()
    # Pods that cannot be made before there is a controller again are one layer all the same.
    names.append(dock.submit(loop(2)))
    dock.until(partial(is_refused, dock, names[-1]), "Argo's word on it")
    dock.start()

    dock.until(lambda: all(dock.phase(name) == "Succeeded" for name in names), "all workflows")

    dock.settle(5)


def is_refused(dock: Dock, name: str) -> bool:
    nodes = (dock.workflow(name).get("status") or {}).get("nodes") or {}
    return any("webhook" in node.get("message", "") for node in nodes.values())


def test_a_workflow_as_unit_waits_suspended_and_then_runs(dock: Dock) -> None:
    dock.start()
    selector, toleration = {"kubernetes.io/os": "linux"}, {"key": "spot", "operator": "Exists"}
    needs = {
        "kueue.k8s.io/max-resources": json.dumps({GPU: 2}),
        "kueue.k8s.io/node-selector": json.dumps(selector),
        "kueue.k8s.io/toleration": json.dumps(toleration),
    }
    dock.queue({GPU: 1}, labels=selector, tolerations=[toleration])
    name = dock.submit(STORY_2, unit="workflow", notes=needs)
    dock.until(lambda: len(dock.workloads()) == 1, "its Workload")
    dock.until(lambda: dock.workflow(name)["spec"].get("suspend"), "its suspension")

    dock.queue({GPU: 2}, labels=selector, tolerations=[toleration])
    dock.until(lambda: dock.phase(name) == "Succeeded", "its end")

    assert [pod["spec"]["nodeSelector"] for pod in dock.pods(name)] == [selector] * 4
    assert all(toleration in pod["spec"]["tolerations"] for pod in dock.pods(name))
    (workload,) = dock.workloads()
    dock.settle(1)
    (pods,) = workload["spec"]["podSets"]
    assert pods["count"] == 1
    spec = pods["template"]["spec"]
    assert (spec["nodeSelector"], spec["tolerations"]) == (selector, [toleration])


def test_an_injected_workflow_pauses_until_its_layers_are_admitted(dock: Dock) -> None:
    dock.queue({GPU: 1})
    dock.start()
    name = dock.submit(inject_text(STORY_2))
    dock.until(lambda: len(dock.workloads()) == 1, "the first Workload")
    assert dock.pods() == []

    dock.queue({GPU: 2})
    dock.until(lambda: dock.phase(name) == "Succeeded", "the workflow")

    found = layers(dock.workloads())
    assert found == {f"{name}[0].kueue-0": 2, f"{name}[2].kueue-1": 2}
    dock.settle(2)


def test_a_drained_queue_stops_its_layers_though_the_controller_is_killed(dock: Dock) -> None:
    dock.queue({GPU: 2})
    dock.start()
    name = dock.submit(loop(2, command="while [ ! -f /tmp/go ]; do sleep 1; done"))
    dock.until(lambda: running(dock, name) == 2, "the layer")

    dock.queue({GPU: 2}, stopPolicy="HoldAndDrain")
    dock.until(lambda: label.EVICTING in dock.workflow(name)["metadata"]["annotations"], "its mark")
    dock.kill()
    dock.start()
    dock.until(lambda: len(dock.gated()) == 2 and len(dock.pods()) == 2, "the layer's pods, gated")
    dock.until(lambda: dock.usage() == "0", "the return of all quota")
    dock.queue({GPU: 2}, stopPolicy="None")
    dock.until(lambda: running(dock, name) == 2, "the layer, once more")

    found = dock.workflow(name)
    assert not found["spec"].get("suspend")
    assert label.EVICTING not in found["metadata"].get("annotations", {})
    assert {n["phase"] for n in nodes_of(dock, name)} <= {"Pending", "Running"}
    assert len(nodes_of(dock, name)) == 2
    dock.terminate(name)
    dock.until(lambda: dock.phase(name) == "Failed", "its end")
    dock.settle(1)


def test_a_held_queue_lets_nothing_in_and_disturbs_nothing(dock: Dock) -> None:
    dock.queue({GPU: 2})
    dock.start()
    first = dock.submit(loop(1, command="while [ ! -f /tmp/go ]; do sleep 1; done"))
    dock.until(lambda: running(dock, first) == 1, "the layer that is in")

    dock.queue({GPU: 2}, stopPolicy="Hold")
    second = dock.submit(loop(1))
    dock.until(lambda: len(dock.workloads()) == 2, "the layer that waits")
    dock.until(lambda: _is_held(dock), "Kueue's word on it")
    assert running(dock, first) == 1
    assert len(dock.gated()) == 1

    dock.queue({GPU: 2}, stopPolicy="None")
    dock.until(lambda: dock.phase(second) == "Succeeded", "the second layer")
    assert running(dock, first) == 1
    dock.terminate(first)
    dock.until(lambda: dock.phase(first) == "Failed", "its end")
    dock.settle(2)


def _is_held(dock: Dock) -> bool:
    found = [c for w in dock.workloads() for c in (w.get("status") or {}).get("conditions") or ()]
    return any(c["reason"] == "Inadmissible" for c in found)


def test_an_evicted_workflow_is_suspended_and_goes_on_when_it_is_let_in_again(dock: Dock) -> None:
    dock.queue({GPU: 2})
    dock.start()
    needs = {"kueue.k8s.io/max-resources": json.dumps({GPU: 2})}
    waits = "while [ ! -f /tmp/go ]; do sleep 1; done"
    name = dock.submit(loop(2, command=waits), unit="workflow", notes=needs)
    dock.until(lambda: running(dock, name) == 2, "its pods")

    dock.queue({GPU: 2}, stopPolicy="HoldAndDrain")
    dock.until(lambda: dock.usage() == "0", "the return of all quota")
    dock.until(lambda: dock.workflow(name)["spec"].get("suspend"), "its suspension")
    assert running(dock, name) == 0
    dock.queue({GPU: 2}, stopPolicy="None")
    dock.until(lambda: running(dock, name) == 2, "its pods, once more")

    assert not dock.workflow(name)["spec"].get("suspend")
    assert {n["phase"] for n in nodes_of(dock, name)} <= {"Pending", "Running"}
    dock.terminate(name)
    dock.until(lambda: dock.phase(name) == "Failed", "its end")
    dock.settle(1)


def nodes_of(dock: Dock, name: str) -> list[Json]:
    nodes = dock.workflow(name)["status"]["nodes"].values()
    return [node for node in nodes if node["type"] == "Pod"]


def test_of_two_controllers_one_leads_and_the_other_takes_over(dock: Dock) -> None:
    dock.queue({GPU: 2})
    dock.start()
    dock.start(until="standing by")
    name = dock.submit(loop(2))
    dock.until(partial(has_workloads, dock, 1), "the Workload")
    assert dock.log.count("webhook on port") == 1

    dock.kill()
    dock.until(lambda: dock.phase(name) == "Succeeded", "the workflow")
    dock.until(lambda: all(is_true(w, "Finished") for w in dock.workloads()), "the other's work")

    assert dock.log.count("webhook on port") == 2
    dock.settle(1)


def test_a_layer_borrows_in_its_cohort(dock: Dock) -> None:
    shared = {"cohortName": dock.namespace, "flavor": dock.namespace}
    dock.queue({GPU: 1}, **shared)
    dock.queue({GPU: 2}, name="lender", **shared)
    dock.start()

    name = dock.submit(loop(3))

    dock.until(lambda: dock.phase(name) == "Succeeded", "the layer on borrowed quota")
    dock.settle(1)


def test_a_restart_of_kueue_and_of_argo_leaves_nothing_stuck(dock: Dock) -> None:
    dock.queue({GPU: 2})
    dock.start()
    names = [dock.submit(STORY_2) for _ in range(2)]
    daemons = Daemons(dock.plane.home)
    dock.until(partial(has_workloads, dock, 1), "the first Workload")

    daemons.stop(["kueue"], grace=0)
    daemons.stop(["workflow-controller"], grace=0)
    argo.start(dock.plane, daemons)
    kueue_rig.start(dock.plane, daemons)
    dock.until(lambda: all(dock.phase(name) == "Succeeded" for name in names), "all workflows")

    dock.settle(4)


def test_the_role_of_the_manifests_is_enough(dock: Dock) -> None:
    dock.queue({GPU: 2})
    dock.start(kubeconfig=with_shipped_role(dock))

    name = dock.submit(STORY_2)

    dock.until(lambda: dock.phase(name) == "Succeeded", "the workflow")
    dock.settle(2)
    assert "forbidden" not in dock.log


def with_shipped_role(dock: Dock) -> Path:
    """Give the kubeconfig of the service account that the manifests make."""
    for thing in yaml.safe_load_all((ROOT / "deploy/kueue.yaml").read_text()):
        if thing["kind"] not in ("Deployment", "Service"):
            dock.api.apply(thing)
    path = "/api/v1/namespaces/tiphys-kueue/serviceaccounts/controller/token"
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    token = dock.api.call("POST", path, request)["status"]["token"]
    config = json.loads(dock.plane.kubeconfig.read_text())
    config["users"][0]["user"]["token"] = token
    found = dock.folder / "kubeconfig"
    found.write_text(json.dumps(config))
    return found


@pytest.mark.parametrize(
    "limit",
    ["  parallelism: 2\n", "  synchronization: {mutexes: [{name: all}]}\n", "mutex of the leaves"],
)
def test_limits_of_argo_and_quota_do_not_lock_each_other_out(dock: Dock, limit: str) -> None:
    dock.queue({GPU: 1})
    dock.start()
    text = loop(3, more=limit if limit.startswith(" ") else "")
    if not limit.startswith(" "):
        lock = "    synchronization: {mutexes: [{name: one}]}\n    retryStrategy: {limit: 1}\n"
        text = text.replace("  - name: work\n", f"  - name: work\n{lock}")
    if "parallelism" in limit:
        dock.queue({GPU: 2})

    names = [dock.submit(text) for _ in range(2)]
    if "synchronization" in limit:
        dock.queue({GPU: 3})
    dock.until(lambda: all(dock.phase(name) == "Succeeded" for name in names), "all workflows")

    dock.settle(len(dock.workloads()))
