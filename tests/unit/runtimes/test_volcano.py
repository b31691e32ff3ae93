"""Volcano Jobs as they are written, and their pods as they are seen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tiphys.errors import RuntimeFailure
from tiphys.kube.watch import Listed
from tiphys.ports import VOLCANO, Task
from tiphys.runtimes.kubernetes_config import KubernetesPolicy
from tiphys.runtimes.kubernetes_lookout import unfold
from tiphys.runtimes.volcano_crew import DELETED, Crew
from tiphys.runtimes.volcano_lookout import is_of
from tiphys.runtimes.volcano_object import check_job, filled, vcjob_name, write_command, write_job
from tiphys.spec import model

Json = dict[str, Any]
SPEC = {"tasks": [{"name": "w", "replicas": 2, "template": {"spec": {"containers": []}}}]}


def a_task(node: str, queue: str = "") -> Task:
    metadata = model.Metadata(labels={"team": "x"}, annotations={"volcano.sh/a": "b"})
    return Task(
        id="uid.4",
        workflow="f",
        namespace="n",
        workflow_uid="uid",
        node_id="f-1",
        node_name=node,
        template=model.Template(name="a", metadata=metadata, volcano_job=SPEC),
        scheduler=VOLCANO,
        queue=queue,
    )


@pytest.mark.parametrize(
    ("node", "name"),
    [
        ("f", "f"),
        ("f.a", "f-a"),
        ("f.a(0)", "f-a"),
        ("f.a(2)", "f-a-retry-2"),
        ("f.a(1:eu)", "f-a-1"),
        ("f.a(1:eu)(1)", "f-a-1-retry-1"),
    ],
)
def test_a_job_is_named_after_flow_and_step_and_the_attempt_at_it(node: str, name: str) -> None:
    assert vcjob_name(a_task(node)) == name


def test_a_name_that_is_too_long_is_cut_and_stays_unique() -> None:
    names = {vcjob_name(a_task(f"f.{'a' * 70}{end}")) for end in "xy"}

    assert len(names) == 2
    assert {len(name) for name in names} == {63}


def test_a_job_carries_what_it_is_found_by_and_what_its_file_says() -> None:
    job = write_job(a_task("f.a"), "there", "me")

    meta = job["metadata"]
    assert (meta["name"], meta["namespace"]) == ("f-a", "there")
    assert meta["labels"]["team"] == "x"
    assert meta["labels"]["workflow-id"] == "uid"
    assert meta["annotations"]["tiphys.dev/attempt-id"] == "uid.4"
    assert meta["annotations"]["volcano.sh/a"] == "b"


def test_defaults_are_written_out_and_what_is_given_wins() -> None:
    made = filled({**SPEC, "minAvailable": 1, "queue": "own"}, "other")

    assert (made["minAvailable"], made["queue"], made["maxRetry"]) == (1, "own", 3)
    assert made["tasks"][0]["minAvailable"] == 2
    assert filled(SPEC, "other")["queue"] == "other"


def test_volcano_does_not_remove_what_was_not_read() -> None:
    assert "ttlSecondsAfterFinished" not in filled({**SPEC, "ttlSecondsAfterFinished": 1})


def test_pods_that_are_not_allowed_are_refused_before_anything_is_made() -> None:
    pod = {"hostNetwork": True, "containers": [{"name": "c"}]}
    spec = {"tasks": [{"name": "w", "template": {"spec": pod}}]}

    with pytest.raises(RuntimeFailure, match="hostNetwork is not allowed"):
        check_job(spec, "n", KubernetesPolicy(allow_host_network=False))


def test_the_same_order_given_twice_is_one() -> None:
    job = {"metadata": {"name": "j", "namespace": "n", "uid": "1"}}

    assert write_command(job, "TerminateJob") == write_command(job, "TerminateJob")
    assert write_command(job, "TerminateJob")["target"]["uid"] == "1"


# --- pods -----------------------------------------------------------------------------------


def a_pod(uid: str, phase: str, index: int = 0, code: int | None = None) -> Json:
    state: Json = {"running": {"startedAt": "2026-01-01T00:00:00Z"}}
    if code is not None:
        times = {"startedAt": "2026-01-01T00:00:00Z", "finishedAt": "2026-01-01T00:00:05Z"}
        state = {"terminated": {"exitCode": code, **times}}
    labels = {"volcano.sh/task-spec": "w", "volcano.sh/task-index": str(index)}
    owner = [{"uid": "job-1"}]
    meta = {"name": f"f-a-w-{index}", "uid": uid, "labels": labels, "ownerReferences": owner}
    return {
        "metadata": meta,
        "spec": {"containers": [{"name": "c"}], "nodeName": "node"},
        "status": {
            "phase": phase,
            "podIP": "10.0.0.7",
            "containerStatuses": [{"name": "c", "state": state}],
        },
    }


def a_job(phase: str, **status: Any) -> Json:
    return {
        "metadata": {"uid": "job-1"},
        "spec": SPEC,
        "status": {"state": {"phase": phase}, **status},
    }


@pytest.fixture
def crew(tmp_path: Path) -> Crew:
    found = Crew("n", "f-a", tmp_path / "uid.4")
    found.open()
    return found


def test_a_pod_that_is_made_again_gets_another_number(crew: Crew) -> None:
    crew.take_pod(a_pod("1", "Failed", code=3), gone=True)
    crew.take_pod(a_pod("2", "Running"), gone=False)

    first, second = crew.pods()

    assert (first.round, first.number, first.phase, first.exit_code) == (0, 1, "Failed", "3")
    assert first.message == "c: Error (exit code 3)"
    assert (second.round, second.number, second.ip) == (1, 2, "10.0.0.7")


def test_numbers_are_the_same_for_the_next_process(crew: Crew) -> None:
    crew.take_pod(a_pod("1", "Failed", code=3), gone=True)
    crew.take_pod(a_pod("2", "Running"), gone=False)
    later = Crew("n", "f-a", crew.folder)
    later.open()

    later.take_pod(a_pod("2", "Running"), gone=False)

    (seen,) = later.pods()
    assert (seen.number, seen.round) == (2, 1)
    assert later.folder_of(seen.number).name == "uid.4000002"


def test_a_pod_that_was_deleted_before_its_end_has_failed(crew: Crew) -> None:
    crew.take_pod(a_pod("1", "Running"), gone=False)
    assert not crew.settled

    crew.take_pod(a_pod("1", "Running"), gone=True)

    (seen,) = crew.pods()
    assert (seen.phase, seen.message, seen.ip) == ("Failed", DELETED, "")
    assert crew.settled


def test_a_job_says_how_it_stands_and_since_when(crew: Crew) -> None:
    conditions = [
        {"status": "Pending", "lastTransitionTime": "1970-01-01T00:00:01Z"},
        {"status": "Pending", "lastTransitionTime": "1970-01-01T00:00:02Z"},
        {"status": "Running", "lastTransitionTime": "1970-01-01T00:00:03Z"},
    ]

    crew.take_job(a_job("Running", conditions=conditions, retryCount=2), gone=False)

    assert crew.history() == (("Pending", 1.0), ("Running", 3.0))
    assert (crew.phase, crew.retries, crew.ended) == ("Running", 2, False)


def test_a_job_that_failed_tells_how_many_of_its_latest_pods_did(crew: Crew) -> None:
    crew.take_job(a_job("Failed"), gone=False)
    crew.take_pod(a_pod("1", "Failed", code=3), gone=True)
    crew.take_pod(a_pod("2", "Failed", code=3), gone=False)
    crew.take_pod(a_pod("3", "Succeeded", index=1, code=0), gone=False)

    assert crew.told() == "1 of 2 pods failed"


def test_pods_of_an_earlier_job_of_the_same_name_are_not_its_own() -> None:
    assert is_of(a_pod("1", "Running"), a_job("Running"))
    assert not is_of(a_pod("1", "Running"), {"metadata": {"uid": "job-2"}})


def test_what_is_missing_from_a_new_list_is_gone() -> None:
    known = {"1": a_pod("1", "Running")}

    news = unfold(Listed([a_pod("2", "Pending")]), known)

    assert [(thing["metadata"]["uid"], gone) for thing, gone in news] == [("1", True), ("2", False)]
    assert set(known) == {"2"}


RAN = [{"status": "Running", "lastTransitionTime": "1970-01-01T00:00:03Z"}]


@pytest.mark.parametrize(
    "status", [{"succeeded": 1, "failed": 1}, {"conditions": RAN, "minAvailable": 2}]
)
def test_a_job_that_is_over_has_settled_only_when_its_pods_were_seen(
    crew: Crew, status: Json
) -> None:
    crew.take_job(a_job("Completed", **status), gone=False)
    assert not crew.settled

    crew.take_pod(a_pod("1", "Failed", code=3), gone=True)
    crew.take_pod(a_pod("2", "Failed", code=3), gone=False)  # The same replica once more.
    assert not crew.settled

    crew.take_pod(a_pod("3", "Succeeded", index=1, code=0), gone=False)
    assert crew.settled


def test_numbers_are_whole_even_if_writing_them_was_cut_short(crew: Crew) -> None:
    crew.take_pod(a_pod("1", "Running"), gone=False)
    (crew.folder / "pods.json.new").write_text("[[")
    later = Crew("n", "f-a", crew.folder)
    later.open()

    later.take_pod(a_pod("2", "Running", index=1), gone=False)

    assert [seen.number for seen in later.pods()] == [2]
    assert [each.name for each in crew.folder.iterdir()] == ["pods.json"]


def test_a_pod_that_did_not_change_is_shown_as_before(crew: Crew) -> None:
    crew.take_pod(a_pod("1", "Running"), gone=False)
    crew.take_pod(a_pod("2", "Pending", index=1), gone=False)
    before = crew.pods()

    crew.take_pod(a_pod("2", "Running", index=1), gone=False)

    after = crew.pods()
    assert after[0] is before[0]
    assert (before[1].phase, after[1].phase) == ("Pending", "Running")


def test_a_job_that_ended_before_it_ran_has_no_pods_to_wait_for(crew: Crew) -> None:
    crew.take_job(a_job("Terminated", minAvailable=2), gone=False)

    assert crew.settled
