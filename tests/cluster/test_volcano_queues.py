"""Queues of the real Volcano, made and changed through our API and command."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import yaml

from tests.cluster.deck import QUEUES, Deck
from tests.cluster.helm import Helm, Json
from tests.cluster.rig.plane import ControlPlane
from tests.cluster.roles import be_account, binding_queues
from tests.cluster.test_jobflow import one
from tests.cluster.test_volcano import LAYER
from tiphys.client import calls
from tiphys.client.model import QueueStatus
from tiphys.errors import ConflictError, InvalidInputError, NotFoundError
from tiphys.runtimes.volcano_object import vcjobs_path
from tiphys.testing.volcano import flow as flow_of
from tiphys.testing.volcano import step, text

ROOT = Path(__file__).resolve().parents[2]
PLAIN = text([flow_of("plain", [step("only")]), one("only", "true")])


def test_a_queue_made_here_is_one_of_volcanos(deck: Deck) -> None:
    name = deck.queue("made", priority=3, quota_cpu="500m", quota_memory="1Gi", reclaimable=False)

    spec = deck.on_cluster(name)["spec"]
    (shown,) = [q for q in deck.client.do(calls.list_queues(scheduler="volcano")) if q.name == name]

    assert (spec["weight"], spec["reclaimable"]) == (3, False)
    assert spec["deserved"] == spec["capability"] == {"cpu": "500m", "memory": "1Gi"}
    assert (shown.id, shown.scheduler, shown.status) == (f"q-volcano:{name}", "volcano", "open")
    assert (shown.quota, shown.priority) == ({"cpu": "500m", "memory": "1Gi"}, 3)
    with pytest.raises(ConflictError):
        deck.client.do(calls.make_queue(name, scheduler="volcano"))


def test_a_change_takes_the_place_of_what_was(deck: Deck) -> None:
    name = deck.queue("changed", capability={"cpu": "2", "memory": "2Gi"})
    key = f"q-volcano:{name}"

    deck.client.do(calls.change_queue(key, capability={"cpu": "1"}, priority=9, description="hm"))

    spec = deck.on_cluster(name)["spec"]
    assert (spec["capability"], spec["weight"]) == ({"cpu": "1"}, 9)
    assert deck.client.do(calls.get_queue(key)).description == "hm"
    with pytest.raises(InvalidInputError, match="maxParallel"):
        deck.client.do(calls.change_queue(key, max_parallel=3))


def test_volcano_closes_and_opens_a_queue(deck: Deck) -> None:
    name = deck.queue("closed")
    key = f"q-volcano:{name}"

    closed = deck.client.do(calls.close_queue(key))
    on_cluster = deck.on_cluster(name)["status"]["state"]
    opened = deck.client.do(calls.open_queue(key))

    assert (closed.status, on_cluster, opened.status) == ("closed", "Closed", "open")


def test_the_status_is_what_volcano_reports_and_a_used_queue_stays(deck: Deck) -> None:
    name = deck.queue("used", quota_cpu="500m")
    key = f"q-volcano:{name}"
    slow = LAYER.replace("CPU", "100m").replace("echo hi", "sleep 600")

    run = deck.submit(slow, name)
    seen: list[QueueStatus] = []

    def is_running() -> bool:
        # Volcano's scheduler writes what is in use, and that it runs, at its next rounds.
        seen.append(deck.client.do(calls.get_queue_status(key)))
        groups = seen[-1].pod_groups or {}
        return seen[-1].allocated.get("cpu") == "300m" and groups.get("running") == 1

    deck.until(is_running, "the gang")
    status = seen[-1]
    with pytest.raises(ConflictError, match="1 pod groups"):
        deck.client.do(calls.delete_queue(key))
    deck.client.do(calls.terminate(run))
    deck.ended(run)
    deck.until(lambda: not deck.groups(), "the end of the group")
    deck.client.do(calls.delete_queue(key))

    assert (status.available["cpu"], status.stats["running"]) == ("200m", 1)
    assert deck.workflow(run).queue_id == key
    with pytest.raises(NotFoundError):
        deck.client.do(calls.get_queue(key))


def test_a_plan_makes_or_replaces_a_queue_with_its_state(deck: Deck) -> None:
    name = deck.queue("planned", capability={"cpu": "2"}, priority=4)
    plan = {"weight": 2, "state": "Closed"}

    replaced = deck.client.do(calls.put_queue_plan(name, plan, scheduler="volcano"))
    made = deck.client.do(calls.put_queue_plan(f"{name}-new", {"weight": 3}, scheduler="volcano"))
    spec = deck.on_cluster(name)["spec"]
    deck.forget(f"{QUEUES}/{name}-new")

    assert (spec["weight"], spec.get("capability") or {}) == (2, {})
    assert (replaced["state"], made["weight"]) == ("Closed", 3)


def test_the_command_speaks_of_the_same_queues(deck: Deck) -> None:
    name = f"{deck.namespace}-word"
    whose = ("--scheduler", "volcano")

    made = deck.helm("queue", "create", name, *whose, "--weight", "2", "--capability", "cpu=3")
    changed = deck.helm("queue", "update", name, *whose, "--weight", "5")
    listed = deck.helm("queue", "list", *whose, "-o", "name")
    spec = deck.on_cluster(name)["spec"]
    # Without a server the command asks the cluster itself.
    shown = deck.helm("queue", "get", name, *whose, "-o", "yaml", data="alone")
    gone = deck.helm("queue", "delete", name, *whose, data="alone")

    assert made.stdout == f"queue {name} created\n", made.stderr
    assert changed.stdout == f"queue {name} updated\n", changed.stderr
    assert name in listed.stdout.split()
    assert (spec["weight"], spec["capability"]) == (5, {"cpu": "3"})
    assert yaml.safe_load(shown.stdout)["weight"] == 5
    assert gone.stdout == f"queue {name} deleted\n", gone.stderr


def test_what_ships_is_made_where_it_is_absent_and_left_alone_where_it_is_not(
    volcano: ControlPlane, tmp_path: Path
) -> None:
    things = list(yaml.safe_load_all((ROOT / "deploy/queues.yaml").read_text()))
    kind = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue"}
    own = {**kind, "metadata": {"name": "analytics"}, "spec": {"weight": 7}}
    volcano.api.call("POST", QUEUES, own)
    with Deck(tmp_path, volcano, f"d-{os.urandom(4).hex()}") as deck:
        config = (tmp_path / "tiphys.yaml").read_text()
        (tmp_path / "tiphys.yaml").write_text(config.replace("presets: false", "presets: true"))
        try:
            deck.start()
            deck.until(lambda: "made on the cluster" in deck.log, "what ships")
            found = {thing["metadata"]["name"]: _read(deck, thing) for thing in things}
            layer = LAYER.replace("CPU", "10m")
            given = ((layer, "normal"), (layer, "high"), (PLAIN, "high"))
            ids = [deck.submit(each, "batch", priority) for each, priority in given]
            run, urgent, flow = map(deck.ended, ids)
            (job,) = deck.api.call("GET", vcjobs_path(deck.namespace))["items"]
            classes = [
                {pod["spec"]["priorityClassName"] for pod in deck.pods(each.id)}
                for each in (run, urgent)
            ]
        finally:
            # A default priority would reach the pods of other tests.
            for thing in things:
                deck.forget(f"{deck.api.path_of(thing)}/{thing['metadata']['name']}")

    assert found.pop("analytics")["spec"]["weight"] == 7
    for name, have in found.items():
        (wanted,) = [thing for thing in things if thing["metadata"]["name"] == name]
        assert (have.get("spec") or {}).items() >= (wanted.get("spec") or {}).items()
        for key in ("value", "globalDefault", "description"):
            assert have.get(key) == wanted.get(key)
    assert (run.status, classes) == ("succeeded", [{"normal"}, {"high"}])
    # Volcano itself has made the Job of a plain flow.
    assert (flow.status, job["metadata"]["ownerReferences"][0]["kind"]) == ("succeeded", "JobFlow")
    assert (job["spec"]["queue"], job["spec"]["priorityClassName"]) == ("batch", "high")


def _read(deck: Deck, thing: Json) -> Json:
    return deck.api.call("GET", f"{deck.api.path_of(thing)}/{thing['metadata']['name']}")


def test_the_shipped_role_is_enough_for_queues(helm: Helm, volcano: ControlPlane) -> None:
    name, whose = f"{helm.namespace}-bound", ("--scheduler", "volcano")
    meta = {"name": "tiphys", "namespace": helm.namespace}
    volcano.api.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta})
    with binding_queues(helm.namespace, volcano):
        be_account(helm, volcano)

        words = (("create", name), ("close", name), ("open", name), ("delete", name))
        said = [helm("queue", *each, *whose) for each in words]

    assert [each.stdout.split()[-1] for each in said] == ["created", "closed", "opened", "deleted"]
