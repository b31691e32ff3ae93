"""Numbers and logs of the server: queues, gangs, health, and metrics of workflows' own."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.contract.api_server import PATIENCE, ApiServer, flow
from tests.contract.test_api_queues import hungry
from tiphys.api.own_metrics import MOST_SERIES, OwnMetrics
from tiphys.engine.command import EmitMetric

QUEUE = {"name": "small", "quota_cpu": "100m", "preemption": "LowerPriority"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    folder = tmp_path_factory.mktemp("metrics")
    with ApiServer(folder, "--log-format", "json") as server:
        assert server.post("/queues", QUEUE).status == 201
        yield server


def numbers(server: ApiServer) -> dict[str, float]:
    answer = server.ask("GET", "/metrics")
    assert answer.status == 200, answer.raw
    lines = answer.raw.decode().splitlines()
    found = [line.rpartition(" ") for line in lines if not line.startswith("#")]
    return {name: float(value) for name, _, value in found}


def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


def gang(gate: Path) -> str:
    """Give a workflow of two tasks that start together or not at all."""
    text = json.loads(hungry(gate, "50m"))
    text["metadata"]["annotations"] = {"tiphys.dev/admission": "layer"}
    (leaf,) = text["spec"]["templates"]
    leaf["name"] = "leaf"
    steps = [[{"name": name, "template": "leaf"} for name in ("a", "b")]]
    text["spec"]["templates"] = [{"name": "main", "steps": steps}, leaf]
    return json.dumps(text)


def states(server: ApiServer, event: str) -> list[dict[str, Any]]:
    entries = [json.loads(line) for line in list(server.lines)]
    return [entry for entry in entries if entry.get("event") == event]


def test_a_queue_that_only_has_a_most_shows_it_as_its_quota(server: ApiServer) -> None:
    assert server.post("/queues", {"name": "capped", "capability": {"cpu": "50m"}}).status == 201

    found = numbers(server)

    assert found['queue_quota{queue_id="capped",resource="cpu"}'] == 50
    assert found['queue_quota_used_ratio{queue_id="capped",resource="cpu"}'] == 0


def test_schedules_show_their_runs_and_when_they_are_due(server: ApiServer) -> None:
    spec = json.loads(flow("true"))["spec"]
    cron = {
        "kind": "CronWorkflow",
        "apiVersion": "argoproj.io/v1alpha1",
        "metadata": {"name": "yearly"},
        "spec": {"schedules": ["@yearly"], "workflowSpec": spec},
    }
    body = {"project_id": "default", "schedule_yaml": json.dumps(cron)}
    assert server.post("/schedules", body).status == 201
    server.wait(server.post("/schedules/default/yearly/run", {}).data["id"])

    labels = 'project_id="default",schedule="yearly"'
    until(lambda: numbers(server)[f'schedule_runs_total{{{labels},status="succeeded"}}'] == 1)

    found = numbers(server)
    assert found[f'schedule_runs_total{{{labels},status="failed"}}'] == 0
    assert found[f"schedule_suspended{{{labels}}}"] == 0
    assert found[f"schedule_next_run_timestamp_seconds{{{labels}}}"] > time.time()


def test_a_gang_that_waits_is_counted_until_it_starts(server: ApiServer, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    holder = server.submit(hungry(gate, "100m"), queue_id="q-small")
    server.wait(holder, "running")
    waiting = server.submit(gang(gate), queue_id="q-small")
    until(lambda: numbers(server)['queue_gangs_waiting{queue_id="small"}'] == 1)

    found = numbers(server)
    gate.touch()
    server.wait(waiting)

    assert found['queue_depth{queue_id="small"}'] == 2
    assert found['queue_pending_seconds{queue_id="small"}'] > 0
    assert found['queue_quota_used_ratio{queue_id="small",resource="cpu"}'] == 1
    after = numbers(server)
    assert after['queue_gangs_waiting{queue_id="small"}'] == 0
    assert after['queue_gang_wait_seconds_count{queue_id="small"}'] == 1
    assert len(states(server, "gang_waiting")) == 1
    until(lambda: len(states(server, "gang_started_or_gone")) == 1)


def test_work_that_makes_room_is_counted_and_logged(server: ApiServer, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    victim = server.submit(hungry(gate, "100m"), queue_id="q-small", priority="low")
    server.wait(victim, "running")
    server.submit(hungry(gate, "100m"), queue_id="q-small", priority="critical")
    until(lambda: numbers(server).get('queue_preemptions_total{queue_id="small"}') == 1)

    gate.touch()

    assert server.wait(victim)["status"] == "succeeded"
    (told,) = states(server, "node_preempted")
    assert (told["queue"], told["rule"]) == ("small", "PriorityInQueue")


def test_every_step_of_a_node_through_its_queue_is_logged(server: ApiServer) -> None:
    theirs = {"temporal.tiphys.dev/workflow": "order 7 of Ann", "temporal.tiphys.dev/run": "r-1"}
    workflow = server.submit(flow("true"), queue_id="q-small", annotations=theirs)
    server.wait(workflow)
    uid = workflow.removeprefix("wf-")

    def mine() -> list[str]:
        entries = [json.loads(line) for line in list(server.lines)]
        return [e["event"] for e in entries if e.get("workflow_id") == uid]

    until(lambda: "node_ended" in mine())
    # One turn may queue and admit a node: what was never on record is not told.
    steps = [each for each in mine() if each.startswith("node_") and each != "node_queued"]
    assert steps == ["node_admitted", "node_ended"]
    entries = [json.loads(line) for line in list(server.lines)]
    (admitted,) = [e for e in entries if e.get("workflow_id") == uid and "admitted" in e["message"]]
    assert (admitted["queue"], admitted["project"]) == ("small", "default")
    assert [admitted["temporal_workflow"], admitted["temporal_run"]] == list(theirs.values())


def test_changes_of_queues_are_logged(server: ApiServer) -> None:
    server.post("/queues", {"name": "logged"})
    server.post("/queues/q-logged/close")
    server.delete("/queues/q-logged")

    until(lambda: any(e["queue"] == "logged" for e in states(server, "queue_removed")))
    assert any(e["queue"] == "logged" for e in states(server, "queue_made"))
    closed = [e for e in states(server, "queue_state_changed") if e["queue"] == "logged"]
    assert [e["state"] for e in closed] == ["Closed"]


def test_health_is_in_the_numbers(server: ApiServer) -> None:
    server.wait(server.submit(flow("true")))

    found = numbers(server)

    assert found["tiphys_executor_up"] == 1
    assert found["tiphys_loop_lag_seconds"] >= 0
    assert found["tiphys_store_commit_seconds_count"] > 0
    assert found["tiphys_loop_turn_seconds_count"] > 0
    assert found["tiphys_watch_cut_total"] == 0


def test_readiness_names_what_was_looked_at(server: ApiServer) -> None:
    found = server.ask("GET", "/readyz", token=None).data

    assert found == {"status": "ready", "store": "ok", "loop": "ok", "executor": "ok"}


def metric(name: str, **shape: Any) -> dict[str, Any]:
    return {
        "name": name,
        "help": f"about {name}",
        "labels": [{"key": "who", "value": "{{workflow.name}}"}],
        **shape,
    }


def test_metrics_of_workflows_are_published(server: ApiServer) -> None:
    text = json.loads(flow("true"))
    text["metadata"] = {"name": "measured"}
    text["spec"]["metrics"] = {
        "prometheus": [
            metric("runs", counter={"value": "1"}),
            metric("last", gauge={"value": "4.5", "realtime": False}),
            metric("took", histogram={"value": "3", "buckets": [1, 5]}),
        ]
    }
    server.wait(server.submit(json.dumps(text), name="measured"))

    found = numbers(server)

    assert found['argo_workflows_runs{who="measured"}'] == 1
    assert found['argo_workflows_last{who="measured"}'] == 4.5
    assert found['argo_workflows_took_bucket{who="measured",le="1"}'] == 0
    assert found['argo_workflows_took_bucket{who="measured",le="5"}'] == 1
    assert found['argo_workflows_took_sum{who="measured"}'] == 3


def emit(name: str, value: float, kind: str = "counter", **more: Any) -> EmitMetric:
    return EmitMetric(name=name, kind=kind, help="h", value=value, **more)


def test_a_label_that_never_repeats_does_not_fill_the_memory() -> None:
    own = OwnMetrics()

    for number in range(MOST_SERIES + 500):
        own.take(emit("m", 1, labels=(("id", str(number)),)))

    lines = list(own.lines())
    assert len(lines) < MOST_SERIES + 10
    assert "tiphys_workflow_metrics_dropped_total 500" in lines


@pytest.mark.parametrize("name", ["a b", 'a"', "a\n", "1a", ""])
def test_a_name_that_is_none_is_dropped(name: str) -> None:
    own = OwnMetrics()

    own.take(emit(name, 1))
    own.take(emit("good", 1, labels=((name, "x"),)))

    assert "tiphys_workflow_metrics_dropped_total 2" in list(own.lines())


def test_a_name_keeps_the_kind_that_it_had_first() -> None:
    own = OwnMetrics()

    own.take(emit("m", 1))
    own.take(emit("m", 7, "gauge"))

    assert "argo_workflows_m 1" in list(own.lines())
    assert own.dropped == 1


def test_a_gauge_adds_and_takes_away_where_it_is_told_to() -> None:
    own = OwnMetrics()

    for value, operation in [(5, "Set"), (2, "Add"), (3, "Sub")]:
        own.take(emit("g", value, "gauge", operation=operation))

    assert "argo_workflows_g 4" in list(own.lines())


def test_a_label_value_cannot_end_its_line() -> None:
    own = OwnMetrics()

    own.take(emit("m", 1, labels=(("a", 'x"} 9\nevil 1\\'),)))

    assert 'argo_workflows_m{a="x\\"} 9\\nevil 1\\\\"} 1' in list(own.lines())
