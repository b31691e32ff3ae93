"""Queues of Kueue through ``/api/v1``, and work for them; the cluster only keeps objects."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.contract.api_server import ADMIN, ApiServer, flow
from tests.contract.kube_server import write_access
from tests.contract.kube_store import Store, storing
from tiphys.api import shapes

BASE = "/apis/kueue.x-k8s.io/v1beta2"
QUOTA = {"quota_cpu": "2", "quota_memory": "1Gi"}
Json = dict[str, Any]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Store]:
    with storing() as store:
        yield store


@pytest.fixture(scope="module")
def server(cluster: Store, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    folder = tmp_path_factory.mktemp("kueue")
    environment = {"KUBECONFIG": write_access(folder, cluster), "TIPHYS_ADMIN_TOKEN": ADMIN}
    with ApiServer(folder, environment=environment) as server:
        yield server


def make(server: ApiServer, name: str, **more: Any) -> Json:
    made = server.post("/queues", {"name": name, "scheduler": "kueue", **QUOTA, **more})
    assert made.status == 201, made.raw
    shapes.QueueShape.model_validate(made.data)
    found: Json = made.data
    return found


def amounts(cluster: Store, name: str) -> dict[str, Json]:
    """Give what a ClusterQueue says of each resource of its one flavor."""
    (group,) = cluster.things[f"{BASE}/clusterqueues/{name}"]["spec"]["resourceGroups"]
    (flavor,) = group["flavors"]
    assert flavor["name"] == "default-flavor"
    assert group["coveredResources"] == [each["name"] for each in flavor["resources"]]
    return {each.pop("name"): each for each in map(dict, flavor["resources"])}


def test_a_queue_is_a_cluster_queue_with_a_local_one_before_it(
    server: ApiServer, cluster: Store
) -> None:
    made = make(server, "made", description="for people", priority=3, preemption="LowerPriority")

    spec = cluster.things[f"{BASE}/clusterqueues/made"]["spec"]
    local = cluster.things[f"{BASE}/namespaces/default/localqueues/made"]
    assert (made["id"], made["scheduler"], made["status"]) == ("q-kueue:made", "kueue", "open")
    assert (made["quota"], made["priority"]) == ({"cpu": "2", "memory": "1Gi"}, 3)
    assert (made["description"], made["preemption"]) == ("for people", "LowerPriority")
    assert amounts(cluster, "made")["cpu"] == {"nominalQuota": "2"}
    assert (spec["fairSharing"], spec["namespaceSelector"]) == ({"weight": "3"}, {})
    assert spec["preemption"] == {"withinClusterQueue": "LowerPriority"}
    assert local["spec"] == {"clusterQueue": "made"}
    assert f"{BASE}/resourceflavors/default-flavor" in cluster.things
    assert server.get("/queues/q-kueue:made").data == made
    assert made in server.get("/queues?scheduler=kueue").data
    assert made in server.get("/queues").data
    assert "kueue" in server.get("/schedulers").data["available"]
    again = server.post("/queues", {"name": "made", "scheduler": "kueue", **QUOTA})
    assert (again.status, again.code) == (409, "conflict")
    (noted,) = [e for e in server.get("/audit").data if e["object"] == "q-kueue:made"]
    assert noted["action"] == "make queue"


def test_a_parent_is_a_cohort_and_limits_are_what_is_borrowed_and_lent(
    server: ApiServer, cluster: Store
) -> None:
    limits = {"borrowing_limit": {"cpu": "1"}, "lending_limit": {"memory": "512Mi"}}
    made = make(server, "sharing", parent="team", **limits)

    shared = amounts(cluster, "sharing")
    assert f"{BASE}/cohorts/team" in cluster.things
    assert (made["parent"], made["borrowing_limit"]) == ("team", {"cpu": "1"})
    assert shared["cpu"] == {"nominalQuota": "2", "borrowingLimit": "1"}
    assert shared["memory"] == {"nominalQuota": "1Gi", "lendingLimit": "512Mi"}

    changed = server.ask("PATCH", "/api/v1/queues/q-kueue:sharing", {"parent": "root"})

    assert changed.data["parent"] == "root"
    assert changed.data["borrowing_limit"] is None
    assert "cohortName" not in cluster.things[f"{BASE}/clusterqueues/sharing"]["spec"]
    assert f"{BASE}/cohorts/team" not in cluster.things


def test_a_quota_in_a_cohort_is_hard_where_nothing_is_said_of_borrowing(
    server: ApiServer, cluster: Store
) -> None:
    make(server, "hard", parent="others")

    make(server, "joins")
    server.ask("PATCH", "/api/v1/queues/q-kueue:joins", {"parent": "others"})
    limitless = cluster.things[f"{BASE}/clusterqueues/joins"]["spec"]["resourceGroups"]
    del limitless[0]["flavors"][0]["resources"][0]["borrowingLimit"]
    server.ask("PATCH", "/api/v1/queues/q-kueue:joins", {"quota_cpu": "5"})

    assert amounts(cluster, "hard")["cpu"] == {"nominalQuota": "2", "borrowingLimit": "0"}
    # What somebody has lifted stays lifted.
    assert amounts(cluster, "joins") == {
        "cpu": {"nominalQuota": "5"},
        "memory": {"nominalQuota": "1Gi", "borrowingLimit": "0"},
    }


@pytest.mark.parametrize(
    ("field", "value", "hint"),
    [
        ("max_parallel", 3, "limit its quota"),
        ("capability", {"cpu": "3"}, "borrowing_limit"),
        ("guarantee", {"cpu": "1"}, "lending_limit"),
        ("sla_seconds", 60, "no sla_seconds"),
        ("reclaimable", False, "borrowing_limit of 0"),
        ("borrowing_limit", {"cpu": "1"}, "needs a parent"),
        ("quota_cpu", None, "give quota_cpu and quota_memory"),
    ],
)
def test_what_kueue_has_no_words_for_is_refused_with_a_hint(
    server: ApiServer, cluster: Store, field: str, value: object, hint: str
) -> None:
    quota = QUOTA if value is not None else {}
    body = {"name": "refused", "scheduler": "kueue", **quota, field: value}

    refused = server.post("/queues", body)

    assert (refused.status, refused.code) == (422, "invalid_input")
    assert hint in refused.body["message"]
    assert f"{BASE}/clusterqueues/refused" not in cluster.things


def test_quota_and_state_change_at_once_and_the_status_is_what_kueue_reports(
    server: ApiServer, cluster: Store
) -> None:
    make(server, "used")
    path, key = f"{BASE}/clusterqueues/used", "/queues/q-kueue:used"
    server.ask(
        "PATCH",
        f"/api/v1{key}",
        {"quota_cpu": "3", "quota": {"example.com/gpu": "4"}, "description": "hm"},
    )
    resources = [{"name": "cpu", "total": "1500m"}, {"name": "memory", "total": "1Gi"}]
    usage = [{"name": "default-flavor", "resources": resources}]
    counts = {"pendingWorkloads": 2, "reservingWorkloads": 1, "admittedWorkloads": 1}
    status = {"flavorsReservation": usage, "flavorsUsage": usage, **counts}
    cluster.put(path, {**cluster.things[path], "status": status})

    shown = server.get(f"{key}/status").data
    closed = server.post(f"{key}/close", {}).data
    policy = cluster.things[path]["spec"]["stopPolicy"]
    kept = server.delete(key)
    cluster.put(path, {**cluster.things[path], "status": {}})
    drained = server.get(key).data
    opened = server.post(f"{key}/open", {}).data

    shapes.QueueStatus.model_validate(shown)
    assert shown["quota"] == {"cpu": "3", "example.com/gpu": "4", "memory": "1Gi"}
    assert shown["reserved"] == shown["allocated"] == {"cpu": "1500m", "memory": "1Gi"}
    assert shown["available"] == {"cpu": "1500m", "example.com/gpu": "4", "memory": "0"}
    assert shown["workloads"] == {"waiting": 2, "reserving": 1, "running": 1}
    assert (closed["status"], policy, drained["status"]) == ("closing", "Hold", "closed")
    assert (opened["status"], opened["description"]) == ("open", "hm")
    assert (kept.status, kept.code) == (409, "conflict")
    assert server.delete(key).status == 200
    assert server.get(key).status == 404
    assert not [each for each in cluster.things if each.endswith("queues/used")]


def test_quotas_of_several_flavors_are_shown_and_left_alone(
    server: ApiServer, cluster: Store
) -> None:
    flavors = [
        {"name": name, "resources": [{"name": "cpu", "nominalQuota": quota}]}
        for name, quota in (("spot", "500m"), ("reserved", 2))
    ]
    groups = [{"coveredResources": ["cpu"], "flavors": flavors}]
    thing = {"metadata": {"name": "theirs"}, "spec": {"resourceGroups": groups}}
    cluster.put(f"{BASE}/clusterqueues/theirs", thing)

    refused = server.ask("PATCH", "/api/v1/queues/q-kueue:theirs", {"quota_cpu": "5"})
    weighed = server.ask("PATCH", "/api/v1/queues/q-kueue:theirs", {"priority": 5})

    assert (refused.status, "several flavors (spot, reserved)" in str(refused.body)) == (422, True)
    assert (weighed.data["priority"], weighed.data["quota"]) == (5, {"cpu": "2500m"})
    spec = cluster.things[f"{BASE}/clusterqueues/theirs"]["spec"]
    assert (spec["resourceGroups"], "namespaceSelector" in spec) == (groups, False)


def submit(server: ApiServer, text: str = "", project: str = "default", **more: str) -> Any:
    body = {"name": "w", "project_id": project, "workflow_yaml": text or flow("true"), **more}
    return server.post("/workflows", {**body, "scheduler": "kueue"})


def test_work_for_kueue_names_a_queue_or_is_refused(server: ApiServer, cluster: Store) -> None:
    make(server, "work")
    labelled = json.loads(flow("true"))
    labelled["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "own"}

    bare, unknown = submit(server), submit(server, queue_id="q-kueue:none")
    foreign = submit(server, queue_id="q-kueue:theirs")
    odd = submit(server, queue_id="q-kueue:../../secrets")
    named = submit(server, queue_id="q-kueue:work")
    own = submit(server, json.dumps(labelled))
    shown = server.get(f"/workflows/{named.data['id']}").data

    assert [each.status for each in (bare, unknown, foreign, odd)] == [422] * 4
    assert "queue_id, or the label kueue.x-k8s.io/queue-name" in bare.body["message"]
    assert (named.status, own.status) == (201, 201)
    assert (shown["scheduler"], shown["queue_id"]) == ("kueue", "q-kueue:work")
    assert own.data["queue_id"] == "q-kueue:own"
    ids = [each["id"] for each in server.get("/workflows?scheduler=kueue").data]
    assert {named.data["id"], own.data["id"]} <= set(ids)


def test_work_of_another_namespace_gets_a_local_queue_there(
    server: ApiServer, cluster: Store
) -> None:
    make(server, "wide")
    server.post("/projects", {"id": "elsewhere"})

    named = submit(server, project="elsewhere", queue_id="wide")

    assert named.status == 201
    local = cluster.things[f"{BASE}/namespaces/elsewhere/localqueues/wide"]
    assert local["spec"] == {"clusterQueue": "wide"}


@pytest.mark.parametrize("up", [True, False], ids=["at a server", "alone"])
def test_the_command_makes_changes_and_shows_queues_of_kueue(
    server: ApiServer, cluster: Store, tmp_path: Path, *, up: bool
) -> None:
    name = "typed" if up else "typed-alone"
    data = server.data if up else tmp_path
    environment = {**server.environment, "TIPHYS_DATA_DIR": str(data)}

    def queue(*words: str) -> str:
        command = [sys.executable, "-m", "tiphys", "queue", *words, "--scheduler", "kueue"]
        done = subprocess.run(
            command, env=environment, cwd=tmp_path, stdout=subprocess.PIPE, text=True, check=True
        )
        return done.stdout

    made = queue("create", name, "--deserved", "cpu=2", "--weight", "3")
    assert made == f"queue {name} created\n"
    assert queue("update", name, "--deserved", "cpu=3") == f"queue {name} updated\n"
    assert amounts(cluster, name) == {"cpu": {"nominalQuota": "3"}}
    assert f"{BASE}/namespaces/default/localqueues/{name}" in cluster.things
    queue("close", name)
    (shown,) = [line for line in queue("list").splitlines() if line.startswith(f"{name} ")]
    assert shown.split() == [name, "Closed", "-", "3", "cpu=3", "-", "0", "0"]
    queue("delete", name)
    assert f"{BASE}/clusterqueues/{name}" not in cluster.things
