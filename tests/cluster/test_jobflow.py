"""JobFlows and Volcano Jobs on the real Volcano, beside what the same files do on one machine."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import pytest

from tests.cluster.helm import Helm, Json
from tests.cluster.rig.plane import ControlPlane
from tiphys.testing.volcano import Document, flow, job, step, task, template, text

IMAGE = {"image": "alpine:3.23"}
QUICK = {"terminationGracePeriodSeconds": 1}
SERVES = (
    "while true; do printf 'HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nok' | nc -l -p 8080;"
    " done > /dev/null & "
    "until test -f /stop; do sleep 0.1; test $((n += 1)) -lt 60 || exit 0; done"
)
HEALS = "case $(hostname) in *-retry-1-*) echo healed;; *) exit 3;; esac"


@pytest.fixture
def crater(helm: Helm, volcano: ControlPlane) -> Helm:
    return helm


def one(name: str, script: str, **more: Any) -> Document:
    """Give a JobTemplate with one task of one pod."""
    return template(name, task("work", script, container=IMAGE, pod=QUICK, **more))


DIAMOND = [
    flow(
        "diamond", [step("a"), step("b", "a"), step("c", "b"), step("d", "b"), step("e", "c", "d")]
    ),
    *(one(name, f"echo {name} was here") for name in "abcde"),
]


def things(helm: Helm, kind: str) -> list[Json]:
    group = "batch" if kind == "jobs" else "flow"
    path = f"/apis/{group}.volcano.sh/v1alpha1/namespaces/{helm.namespace}/{kind}"
    items: list[Json] = helm.api.call("GET", path)["items"]
    return items


def order_of(status: Json) -> list[set[str]]:
    """Give the Jobs in the order in which they ran, those that ran beside each other together."""
    spans = sorted(_listed(status), key=lambda each: _at(each["startTimestamp"]))
    found: list[set[str]] = []
    end = 0.0
    for each in spans:
        start = _at(each["startTimestamp"])
        if not found or start >= end:
            found.append(set())
        found[-1].add(each["name"])
        end = max(end, _at(each["endTimestamp"]))
    return found


def _listed(status: Json) -> list[Json]:
    return [each for each in status["jobStatusList"] if "endTimestamp" in each]


def _at(instant: str) -> float:
    return datetime.fromisoformat(instant).timestamp()


def shape_of(status: Json) -> Json:
    """Give what must be the same wherever a flow runs: all but the times."""
    kept = {key: value for key, value in status.items() if key.endswith("Jobs") or key == "state"}
    return {
        **{key: sorted(value) if isinstance(value, list) else value for key, value in kept.items()},
        "jobs": {each["name"]: (each["state"], each["restartCount"]) for each in _listed(status)},
        "conditions": {
            name: (each["phase"], each["taskStatusCount"])
            for name, each in status["conditions"].items()
        },
    }


def test_volcanos_controller_runs_the_diamond_as_one_machine_does(crater: Helm) -> None:
    there = crater.run(text(DIAMOND), scheduler="volcano")
    flows, jobs = things(crater, "jobflows"), things(crater, "jobs")
    told = crater("logs", "diamond", "--no-color", data="volcano").stdout

    here = crater.run(text(DIAMOND), scheduler="local")

    assert there["status"]["state"] == {"phase": "Succeed"}
    assert shape_of(there["status"]) == shape_of(here["status"])
    order = [{"diamond-a"}, {"diamond-b"}, {"diamond-c", "diamond-d"}, {"diamond-e"}]
    assert order_of(there["status"]) == order
    histories = there["status"]["jobStatusList"][0]["runningHistories"]
    assert [each["state"] for each in histories][-1] == "Completed"
    assert [each["metadata"]["labels"]["workflow-id"] for each in flows] == [
        there["metadata"]["uid"]
    ]
    owners = {each["metadata"]["ownerReferences"][0]["kind"] for each in jobs}
    assert owners == {"JobFlow"}
    assert all(f"{name} was here" in told for name in "abcde")

    assert crater("delete", "diamond", data="volcano").returncode == 0
    crater.until(lambda: not things(crater, "jobs"), "the end of the Jobs")
    crater.until(lambda: not things(crater, "jobtemplates"), "the end of the templates")
    assert things(crater, "jobflows") == []


def test_probes_patches_conditions_and_retries_are_driven_by_our_engine(crater: Helm) -> None:
    probe = {"httpGetList": [{"taskName": "work", "path": "/", "port": 8080}]}
    says = [{"name": "main", "env": [{"name": "WORD", "value": "patched"}]}]
    patch = {"jobSpec": {"tasks": [{"name": "work", "template": {"spec": {"containers": says}}}]}}
    documents = [
        flow(
            "rich",
            [
                step("serve"),
                step("ask", "serve", probe=probe, patch=patch),
                step("heal"),
                step("yes", "heal"),
                step("no", "heal"),
            ],
            control={
                "steps": {
                    "heal": {"retry": {"limit": 1}},
                    "yes": {"when": "{{tasks.heal.outputs.result}} == healed"},
                    "no": {"when": "{{tasks.heal.outputs.result}} != healed"},
                }
            },
            jobRetainPolicy="delete",
        ),
        one("serve", SERVES),
        one("ask", "echo $WORD"),
        one("heal", HEALS),
        one("yes", "true"),
        one("no", "true"),
    ]

    process = crater.begin(
        "run", "--scheduler", "volcano", "-o", "json", crater.write(text(documents))
    )
    out, _ = process.communicate(timeout=240)

    found = json.loads(out[out.index("{") :])
    states = {each["name"]: each for each in found["status"]["jobStatusList"]}
    assert found["status"]["state"] == {"phase": "Succeed"}, out
    assert set(states) == {"rich-serve", "rich-ask", "rich-heal", "rich-yes"}
    assert states["rich-heal"]["restartCount"] == 1
    words = [each["state"] for each in states["rich-heal"]["runningHistories"]]
    assert words.count("Failed") == 1
    assert words[-1] == "Completed"
    asked, served = states["rich-ask"], states["rich-serve"]
    assert _at(asked["startTimestamp"]) < _at(served["endTimestamp"])
    assert things(crater, "jobflows") == []
    crater.until(lambda: not things(crater, "jobs"), "the end of the Jobs")


def test_a_policy_that_upstream_hangs_on_fails_the_flow_once_its_siblings_have_ended(
    crater: Helm,
) -> None:
    documents = [
        flow("aborted", [step("bad"), step("after", "bad"), step("beside")]),
        one("bad", "exit 4", policies=[{"event": "PodFailed", "action": "AbortJob"}]),
        one("after", "true"),
        one("beside", "sleep 4"),
    ]

    status = crater.run(text(documents), scheduler="volcano")["status"]

    assert status["state"] == {"phase": "Failed"}
    assert status["terminatedJobs"] == ["aborted-bad"]
    assert status["completedJobs"] == ["aborted-beside"]
    assert sorted(status["conditions"]) == ["aborted-bad", "aborted-beside"]


def test_a_job_is_submitted_as_it_is_and_its_policies_are_volcanos(crater: Helm) -> None:
    work = task("work", "echo try $VC_TASK_INDEX; exit 5", container=IMAGE, pod=QUICK)
    again = {"policies": [{"event": "PodFailed", "action": "RestartJob"}], "maxRetry": 2}
    document = job("single", work, plugins={"env": []}, ttlSecondsAfterFinished=600, **again)

    found = crater.run(text([document]), scheduler="volcano")

    assert found["kind"] == "Job"
    assert found["status"]["state"]["phase"] == "Failed"
    assert found["status"]["retryCount"] == 2
    (made,) = things(crater, "jobs")
    assert made["metadata"]["name"] == "single"
    assert made["status"]["retryCount"] == 2
    told = crater("logs", "single", "--no-color", data="volcano").stdout
    assert told.count("try 0") == 2


@pytest.mark.parametrize("control", [None, {"steps": {"after": {"when": "1 == 1"}}}])
def test_a_killed_tiphys_finds_its_jobs_and_can_end_them(
    control: Json | None, crater: Helm
) -> None:
    documents = [
        flow("long", [step("first"), step("after", "first")], control=control),
        one("first", "echo begun; sleep 600"),
        one("after", "true"),
    ]
    words = ["run", "--scheduler", "volcano", crater.write(text(documents))]
    process = crater.begin(*words)
    crater.until_running()
    crater.kill(process)
    (crater.folder / "data" / "door").unlink(missing_ok=True)

    process = crater.begin("watch", "long")
    crater.until((crater.folder / "data" / "door").exists, "a host")
    crater.until(lambda: crater("terminate", "long").returncode == 0, "the end")
    process.communicate(timeout=200)

    status = crater.get("long")["status"]
    assert status["state"] == {"phase": "Failed"}
    assert status["terminatedJobs"] == ["long-first"]
    (made,) = things(crater, "jobs")
    crater.until(lambda: _phase(things(crater, "jobs")[0]) == "Terminated", "Volcano's own end")
    assert made["metadata"]["name"] == "long-first"
    assert "begun" in crater("logs", "long", "--no-color").stdout


def _phase(thing: Json) -> str:
    return str(((thing.get("status") or {}).get("state") or {}).get("phase") or "")
