"""Our own engine's workflows as groups: what is told of them, and what is made of it."""

from __future__ import annotations

import copy
from typing import Any

from tests.unit.kueue.flow import merge

from tiphys.engine import event as ev
from tiphys.kueue import label
from tiphys.kueue.owner import (
    Live,
    Status,
    owner_name,
    read_status,
    write_owner,
    write_status,
)
from tiphys.kueue.plan import Action, Change, End, Make, Release, Requeue, View, plan
from tiphys.kueue.roster import Roster
from tiphys.kueue.tiphys import TiphysEngine
from tiphys.kueue.workload import Claim, write
from tiphys.scheduling.admission import MAX_RESOURCES
from tiphys.testing.flow import flow
from tiphys.testing.harness import Harness, Outcome

Json = dict[str, Any]
ENGINE = TiphysEngine()
UID = "0123456789ab"


class Group:
    """One workflow with a layer ``w[0]`` of some leaves, and its pods."""

    def __init__(self, leaves: int, unit: str = "") -> None:
        name = owner_name("w", UID)
        labels = {label.QUEUE: "q", label.WORKFLOW_UID: UID}
        notes = {label.UNIT: unit, MAX_RESOURCES: "cpu=1"} if unit else {}
        self.owner = write_owner(name, labels, notes)
        self.owner["metadata"] |= {"namespace": "n", "uid": "object"}
        self.leaves = {f"w-{n}": Live("w[0]", f"{UID}.{n}") for n in range(leaves)}
        self.pods: list[Json] = []
        self.claims: list[Json] = []
        self.tell()

    def tell(self, phase: str = "Running") -> None:
        self.owner["data"] = {
            **self.owner.get("data", {}),
            **write_status(Status(phase, False, self.leaves)),
        }

    def pod(self, attempt: str) -> None:
        labels = {label.WORKFLOW_UID: UID, label.WORKFLOW: "w", label.JOB: f"job-{attempt}"}
        notes = {label.ATTEMPT_ID: attempt}
        meta = {"name": attempt, "namespace": "n", "labels": labels, "annotations": notes}
        spec = {
            "containers": [{"name": "main", "resources": {"requests": {"cpu": "1"}}}],
            "schedulingGates": [{"name": label.GATE}],
        }
        self.pods.append({"metadata": meta, "spec": spec})

    def plan(self) -> list[Action]:
        claims = [Claim(thing) for thing in copy.deepcopy(self.claims)]
        return plan(ENGINE, View(owner=self.owner, pods=self.pods, claims=claims))

    def claim(self, **conditions: bool) -> None:
        (made,) = [each for each in self.plan() if isinstance(each, Make)]
        thing = write(self.owner, made.layer, made.number, made.seats, made.podsets)
        thing["metadata"]["resourceVersion"] = "1"
        self.claims.append(thing)
        self.set(**conditions)

    def set(self, **conditions: bool) -> None:
        found = [{"type": k, "status": str(v), "reason": "x"} for k, v in conditions.items()]
        self.claims[0]["status"] = {"conditions": found}


def test_a_group_is_made_when_all_its_pods_are_there() -> None:
    group = Group(3)
    group.pod(f"{UID}.0")
    group.pod(f"{UID}.1")
    assert group.plan() == []

    group.pod(f"{UID}.2")

    (made,) = group.plan()
    assert isinstance(made, Make)
    assert (made.layer, made.podsets[0]["count"]) == ("w[0]", 3)


def test_pods_are_let_go_when_the_group_is_admitted() -> None:
    group = Group(2)
    group.pod(f"{UID}.0")
    group.pod(f"{UID}.1")
    group.claim(QuotaReserved=True, Admitted=True)

    assert [type(each) for each in group.plan()] == [Release, Release]


def test_an_eviction_suspends_jobs_and_gives_quota_up_when_their_pods_are_gone() -> None:
    group = Group(1)
    group.pod(f"{UID}.0")
    group.claim(QuotaReserved=True, Admitted=True)
    group.pods[0]["spec"]["schedulingGates"] = []
    group.set(QuotaReserved=True, Admitted=True, Evicted=True)

    (ended,) = group.plan()
    assert isinstance(ended, End)
    assert ended.ending.path == f"/apis/batch/v1/namespaces/n/jobs/job-{UID}.0"
    assert ended.ending.patch == {"spec": {"suspend": True}}
    group.pods[0]["metadata"]["deletionTimestamp"] = "now"
    assert group.plan() == []
    group.pods.clear()

    assert [type(each) for each in group.plan()] == [Requeue]


def test_the_next_attempt_waits_in_the_place_of_the_one_that_was_stopped() -> None:
    group = Group(1)
    group.pod(f"{UID}.0")
    group.claim(QuotaReserved=False)
    group.pods.clear()
    group.leaves["w-0"] = Live("w[0]", f"{UID}.7")
    group.tell()
    group.pod(f"{UID}.7")

    assert group.plan() == []

    group.set(QuotaReserved=True, Admitted=True)
    assert [type(each) for each in group.plan()] == [Release]


def test_an_evicted_workflow_is_told_to_stand_still() -> None:
    group = Group(1, unit="workflow")
    group.pod(f"{UID}.0")
    group.claim(QuotaReserved=True, Admitted=True)
    group.pods[0]["spec"]["schedulingGates"] = []
    group.set(QuotaReserved=True, Admitted=True, Evicted=True)

    hold, ended = group.plan()

    assert isinstance(hold, Change)
    assert isinstance(ended, End)
    merge(group.owner, hold.patch)
    assert ENGINE.is_suspended(group.owner)


def test_a_large_status_is_packed_and_read_all_the_same() -> None:
    leaves = {f"node-{n}": Live(f"layer {n}", f"{UID}.{n}") for n in range(10_000)}
    data = write_status(Status("Running", True, leaves))

    assert data["status"] is None
    assert len(str(data["packed"])) < 1024 * 1024
    assert read_status({"data": data}).leaves == leaves


# --- what is told ---------------------------------------------------------------------------

STEPS = """
- name: main
  steps:
  - [{name: a, template: flaky, withItems: [1, 2]}]
  - [{name: z, template: leaf}]
- name: flaky
  retryStrategy: {limit: 1}
  container: {image: x, command: [x]}
"""


def told(harness: Harness, roster: Roster) -> dict[str, str]:
    """Tell all nodes anew; give the live leaves' layers by name, with their attempts."""
    run = harness.run
    roster.take_run(run)
    roster.take_nodes(run, tuple(run.nodes.values()))
    live = roster.status.leaves
    return {run.nodes[id_].name: f"{x.layer} {x.attempt[-2:]}".strip() for id_, x in live.items()}


def test_live_leaves_are_told_with_their_layers_and_attempts() -> None:
    outcomes = {"wf[0].a(0:1)(0)": Outcome(phase="Failed", seconds=1)}
    harness = Harness(
        flow(STEPS), lambda node, _: outcomes.get(node.name, Outcome(seconds=5))
    ).start()
    roster = Roster(harness.run, "n")

    assert told(harness, roster) == {"wf[0].a(0:1)": "wf[0] .1", "wf[0].a(1:2)": "wf[0] .2"}
    while not harness.run.node_named("wf[0].a(0:1)(1)"):
        harness.advance()
    assert told(harness, roster) == {"wf[0].a(0:1)": "wf[0] .3", "wf[0].a(1:2)": "wf[0] .2"}
    while not harness.run.node_named("wf[1].z"):
        harness.advance()
    assert told(harness, roster) == {"wf[1].z": "wf[1] .4"}
    harness.finish()
    assert told(harness, roster) == {}
    assert roster.has_ended


def test_layers_that_wait_are_told_with_what_they_need() -> None:
    harness = Harness(flow(STEPS, spec="suspendBySteps: true\n")).start()
    roster = Roster(harness.run, "n")

    assert told(harness, roster) == {}
    (waiting,) = roster.status.waiting
    assert (waiting.layer, waiting.is_open, waiting.podsets[0]["count"]) == ("wf[0]", True, 2)

    nodes = roster.waiting_in({"wf[0]"})
    harness.send(ev.RunResumed(at=harness.now, nodes=nodes))
    told(harness, roster)
    assert [(w.layer, w.is_open, w.is_over) for w in roster.status.waiting] == [
        ("wf[0]", False, False)
    ]


def test_a_layer_that_was_let_go_is_open_no_more() -> None:
    harness = Harness(flow(STEPS, spec="suspendBySteps: true\n")).start()
    roster = Roster(harness.run, "n")
    told(harness, roster)
    owner = write_owner("w", {}, {})
    owner["data"] = write_status(roster.status)

    (pause,) = ENGINE.pauses(owner)
    merge(owner, ENGINE.resumption(pause, ""))

    assert pause.is_open
    assert [each.is_open for each in ENGINE.pauses(owner)] == [False]
