"""Volcano Jobs that a cluster runs: what is heard of them becomes nodes, records and probes."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from tiphys.engine import command as cm
from tiphys.engine import event as ev
from tiphys.engine.jobleaf import PODS_OF_ONE, seen
from tiphys.engine.lifecycle import begin
from tiphys.engine.node import Node
from tiphys.engine.restore import restore
from tiphys.engine.run import Run
from tiphys.ports import SCHEDULER_LABEL, VOLCANO
from tiphys.testing.harness import NOON, Harness, load
from tiphys.testing.volcano import Document, flow, job, step, task, template, text


def abroad(documents: list[Document]) -> Harness:
    """Start documents as on Volcano; nothing ends by itself."""
    for document in documents:
        if document["kind"] in ("Job", "JobFlow"):
            document["metadata"].setdefault("labels", {})[SCHEDULER_LABEL] = VOLCANO
    return Harness(load(text(documents)), slots=0).start()


def pod(task: str = "t", index: int = 0, phase: str = "Running", **more: Any) -> ev.PodSeen:
    name = f"x-{task}-{index}"
    return ev.PodSeen(
        **{"task": task, "index": index, "number": 1, "name": name, **more}, phase=phase
    )


def see(harness: Harness, name: str, phase: str, *pods: ev.PodSeen, **more: Any) -> None:
    node = harness.node(name)
    event = ev.JobSeen(
        at=harness.now, node=node.id, attempt=node.ours.attempt, phase=phase, pods=pods, **more
    )
    harness.send(event)


def end(harness: Harness, name: str, phase: str = "Succeeded", **more: Any) -> None:
    node = harness.node(name)
    harness.send(
        ev.NodeEnded(at=harness.now, node=node.id, attempt=node.ours.attempt, phase=phase, **more)
    )


def record(node: Node) -> tuple[str, int, list[str]]:
    assert node.ours.job is not None
    return node.ours.job.phase, node.ours.job.retries, [each for each, _ in node.ours.job.history]


def single() -> Harness:
    return abroad([job("wf", task("t", "true", 2))])


def test_a_job_is_one_start_and_its_pods_are_those_that_were_seen() -> None:
    harness = single()

    see(harness, "wf", "Running", pod(ip="10.0.0.7"), pod(index=1, phase="Pending", number=2))

    assert harness.node("wf").type == "Job"
    assert harness.phases() == {"wf": "Running", "wf.t-0": "Running", "wf.t-1": "Pending"}
    first = harness.node("wf.t-0")
    assert (first.pod_ip, first.ours.pod) == ("10.0.0.7", "x-t-0")
    assert first.ours.attempt == harness.node("wf").ours.attempt * PODS_OF_ONE + 1
    assert record(harness.node("wf")) == ("Running", 0, ["Pending", "Running"])


def test_a_pod_that_is_made_again_is_another_node_and_the_old_one_stays() -> None:
    harness = single()
    see(harness, "wf", "Running", pod(phase="Failed", exit_code="3", message="why"))

    see(harness, "wf", "Running", pod(phase="Failed"), pod(round=1, number=2), retries=1)

    first = harness.node("wf.t-0")
    assert (str(first.phase), first.message) == ("Failed", "why")
    assert harness.phases()["wf.t-0(1)"] == "Running"
    assert record(harness.node("wf"))[1] == 1


def test_news_of_one_pod_leaves_the_others_alone() -> None:
    harness = single()
    see(harness, "wf", "Running", pod(), pod(index=1, phase="Pending", number=2))
    run, node = harness.run, harness.node("wf")
    pods = (pod(), pod(index=1, number=2))

    seen(run, node, ev.JobSeen(at=9.0, node=node.id, attempt=1, phase="Running", pods=pods))

    assert sorted(each.name for each in run.changed.values()) == ["wf", "wf.t-1"]


def test_the_history_that_the_cluster_keeps_is_taken_over() -> None:
    harness = single()
    history = (("Pending", 1.0), ("Restarting", 2.0), ("Pending", 3.0))

    see(harness, "wf", "Running", history=history)

    assert record(harness.node("wf"))[2] == ["Pending", "Restarting", "Pending", "Running"]


def test_the_end_of_a_job_ends_pods_of_which_nothing_more_is_heard() -> None:
    harness = single()
    see(harness, "wf", "Running", pod(), pod(index=1, phase="Succeeded", number=2))

    end(harness, "wf", "Failed", message="gone")

    assert harness.run.phase == "Failed"
    assert harness.phases() == {"wf": "Failed", "wf.t-0": "Failed", "wf.t-1": "Succeeded"}


def test_a_run_that_is_told_to_end_stops_the_job_and_shows_it_as_terminated() -> None:
    harness = single()
    see(harness, "wf", "Running", pod())

    harness.send(ev.RunStopped(at=harness.now, strategy=ev.Shutdown.TERMINATE))

    assert (harness.node("wf").id, harness.node("wf").ours.attempt) in harness.stopped
    assert record(harness.node("wf"))[0] == "Terminated"
    assert harness.phases() == {"wf": "Failed", "wf.t-0": "Failed"}


def probed(probe: Document) -> Harness:
    steps = [step("a"), step("b", "a", probe=probe)]
    templates = [template(name, task("t", "true")) for name in "ab"]
    return abroad([flow("wf", steps), *templates])


def test_a_probe_asks_the_address_of_the_pod_once_it_has_one() -> None:
    harness = probed({"tcpSocketList": [{"taskName": "t", "port": 80}]})
    see(harness, "wf.a", "Running", pod(phase="Pending"))
    assert "wf.b.ready-a" not in harness.phases()

    see(harness, "wf.a", "Running", pod(ip="10.0.0.7"))

    question = harness.run.leaves[harness.node("wf.b.ready-a").id].template.volcano_probe
    assert question == {"http": [], "tcp": [{"host": "10.0.0.7", "port": 80}]}
    end(harness, "wf.b.ready-a")
    assert harness.phases()["wf.b"] == "Pending"


def test_a_probe_of_phases_lets_a_step_start_when_the_pods_are_in_them() -> None:
    harness = probed({"taskStatusList": [{"taskName": "t", "phase": "Running"}]})
    see(harness, "wf.a", "Running", pod(phase="Pending"))
    assert "wf.b" not in harness.phases()

    see(harness, "wf.a", "Running", pod())

    assert harness.phases()["wf.b"] == "Pending"


def test_a_restored_run_asks_for_its_jobs_again_and_knows_their_pods() -> None:
    harness = single()
    see(harness, "wf", "Running", pod())
    nodes = [msgspec.json.decode(msgspec.json.encode(n), type=Node) for n in _nodes(harness.run)]
    run = harness.run
    fresh = begin(run.workflow, run.spec, run.library, uid=run.uid, created_at=NOON)
    fresh.started_at, fresh.phase, fresh.starts = run.started_at, run.phase, run.starts

    restore(fresh, nodes, now=harness.now)

    (start,) = [each for each in fresh.commands if isinstance(each, cm.StartNode)]
    assert (start.node, start.attempt, start.again) == ("wf", 1, True)
    assert [node.name for node in fresh.frames["wf"].started_nodes()] == ["wf.t-0"]


def _nodes(run: Run) -> list[Node]:
    return sorted(run.nodes.values(), key=lambda node: node.ours.seq)


def test_on_one_machine_the_same_file_is_run_by_our_own_engine() -> None:
    harness = Harness(json.dumps(job("wf", task("t", "true", 2))))

    harness.finish()

    assert sorted(harness.started) == ["wf.t-0", "wf.t-1"]


def test_names_of_replicas_need_this_machine_or_volcano() -> None:
    document = job("wf", task("t", "true"), plugins={"svc": []})
    document["metadata"]["labels"] = {SCHEDULER_LABEL: "k8s-native"}

    run = Harness(json.dumps(document)).finish()

    assert run.phase == "Error"
    assert "the plugin svc needs" in run.message
