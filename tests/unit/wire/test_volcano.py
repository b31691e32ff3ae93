"""JobFlows as they are shown: upstream's status, and what comes next."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tiphys.engine.node import Node
from tiphys.testing.flow import FAIL
from tiphys.testing.harness import Harness, Outcome
from tiphys.testing.volcano import Document, flow, step, task, template, text
from tiphys.wire.flow import flow_state, step_of
from tiphys.wire.volcano import jobs_of

LONG = Outcome(seconds=100.0)


def begun(*documents: Document, play: dict[str, Outcome] | None = None) -> Harness:
    """Give a run that has been under way for some seconds."""
    harness = Harness(text(documents))
    given = play or {}
    harness.play = lambda node, _: given.get(node.name, Outcome())
    return harness.start()


def until(harness: Harness, true: Callable[[], bool]) -> None:
    while not true():
        assert harness.advance(), "nothing more happens"


def one(name: str, replicas: int = 1, **spec: Any) -> Document:
    return template(name, task("t", "true", replicas), **spec)


def nodes_of(harness: Harness) -> list[Node]:
    return sorted(harness.run.nodes.values(), key=lambda node: node.ours.seq)


def state_of(harness: Harness) -> dict[str, Any]:
    return flow_state(harness.run.name, harness.run.spec, nodes_of(harness), {"a": (4, 1)})


def test_attempts_at_a_step_are_one_job() -> None:
    retry = {"steps": {"a": {"retry": {"limit": 2, "backoff": "50s"}}}}
    harness = begun(flow("wf", [step("a")], retry), one("a"), play={"wf.a(0).t-0": FAIL})
    until(harness, lambda: harness.run.nodes[harness.run.node_id("wf.a(0)")].ended)

    (waiting,) = jobs_of("wf", nodes_of(harness))
    harness.finish()
    (ended,) = jobs_of("wf", nodes_of(harness))

    assert (waiting.name, waiting.phase, waiting.finished_at) == ("wf-a", "Restarting", None)
    assert (ended.name, ended.phase, ended.restarts) == ("wf-a", "Completed", 1)
    assert ended.finished_at is not None


def test_items_of_a_loop_are_jobs_of_their_own() -> None:
    loop = {"steps": {"a": {"for": {"items": ["x(1)", "y.z"]}}}}
    harness = begun(flow("wf", [step("a")], loop), one("a", 2))
    harness.finish()

    found = jobs_of("wf", nodes_of(harness))

    assert [job.name for job in found] == ["wf-a-0", "wf-a-1"]
    assert [len(job.pods) for job in found] == [2, 2]
    assert [pod.ours.pod for pod in found[1].pods] == ["wf-a-1-t-0", "wf-a-1-t-1"]


def test_only_the_latest_pod_of_a_replica_counts() -> None:
    again = [{"event": "PodFailed", "action": "RestartPod"}]
    harness = begun(flow("wf", [step("a")]), one("a", 2, policies=again), play={"wf.a.t-0": FAIL})
    harness.finish()

    (job,) = jobs_of("wf", nodes_of(harness))

    assert [pod.name for pod in job.pods] == ["wf.a.t-0(1)", "wf.a.t-1"]


def test_steps_that_have_not_begun_say_what_they_wait_for() -> None:
    steps = [step("a"), step("b", "a"), step("c", "b"), step("bad"), step("never", "bad")]
    harness = begun(
        flow("wf", steps),
        *(one(name) for name in ("a", "b", "c", "bad", "never")),
        play={"wf.a.t-0": LONG, "wf.bad.t-0": FAIL},
    )
    until(harness, lambda: harness.node("wf.bad").ended)

    assert state_of(harness)["next"] == [
        {"step": "b", "waits_for": [{"step": "a", "state": "Running", "missing": "the end"}]},
        {"step": "c", "waits_for": [{"step": "b", "state": "Waiting", "missing": "the end"}]},
    ]


def test_a_probe_is_what_its_step_waits_for() -> None:
    probe = {"tcpSocketList": [{"taskName": "t", "port": 80}]}
    harness = begun(
        flow("wf", [step("a"), step("b", "a", probe=probe)]),
        one("a"),
        one("b"),
        play={"wf.a.t-0": LONG, "wf.b.ready-a": LONG},
    )
    until(harness, lambda: harness.run.node_named("wf.b.ready-a") is not None)

    (waits,) = state_of(harness)["next"]

    assert waits["waits_for"] == [{"step": "a", "state": "Running", "missing": "answers"}]


def test_a_job_tells_how_often_its_template_failed_before() -> None:
    harness = begun(flow("wf", [step("a"), step("b")]), one("a"), one("b"))
    harness.finish()

    first, second = state_of(harness)["jobs"]

    assert (first["runs_before"], first["failed_before"]) == (4, 1)
    assert (second["runs_before"], second["failed_before"]) == (0, 0)
    assert first["pods"] == {"Succeeded": 1}


def test_the_step_of_a_node_is_found_whatever_is_behind_it() -> None:
    names = ("wf.a", "wf.a(0:x.y[1])", "wf.a(2)", "wf.a[1].again[0].run", "wf.a.t-0")

    assert {step_of("wf", name) for name in names} == {"a"}
    assert step_of("wf", "wf") == "wf"
