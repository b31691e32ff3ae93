"""JobFlows and Volcano Jobs on the real Volcano, beside what the same files do on one machine."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from tests.cluster.deck import Deck
from tests.cluster.helm import Helm, Json
from tests.cluster.rig.build import MissingError, module_folder
from tests.cluster.rig.parts import VOLCANO
from tests.cluster.rig.plane import ControlPlane
from tests.cluster.test_access import token  # noqa: F401 - a fixture
from tiphys.client import calls
from tiphys.runtimes.volcano_object import job_of_group
from tiphys.testing.volcano import Document, flow, job, step, task, template, text

IMAGE = {"image": "alpine:3.23"}
QUICK = {"terminationGracePeriodSeconds": 1}
SERVES = (
    "while true; do printf 'HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nok' | nc -l -p 8080;"
    " done > /dev/null & "
    "until test -f /stop; do sleep 0.1; test $((n += 1)) -lt 60 || exit 0; done"
)
CALLS = "echo $VC_TASK_INDEX is $(hostname -f) of $VC_WORK_HOSTS $(cat /etc/volcano/work.host)"
HEALS = "case $(hostname) in *-retry-1-*) echo healed;; *) exit 3;; esac"


class Played(NamedTuple):
    """What several files came to that were run together, and what was on the cluster then."""

    helm: Helm
    found: dict[str, Json]
    jobs: dict[str, Json]
    flows: list[Json]


class Example(NamedTuple):
    """Volcano's own example of a flow, under way on one machine and on the cluster."""

    files: list[Path]
    here: Helm
    there: Deck

    def begin(self) -> None:
        words = [str(file) for file in self.files]
        self.here.begin("run", *words)
        done = self.there.helm("submit", "--scheduler", "volcano", *words)
        assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def example(deck: Deck, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Example]:
    """Begin the example; its Jobs sleep for most of a minute, in which others can be tested."""
    try:
        folder = module_folder(VOLCANO) / "example/jobflow"
        files = [folder / name for name in ("JobTemplate.yaml", "JobFlow.yaml")]
    except MissingError:
        files = []
    with Helm(tmp_path_factory.mktemp("example"), deck.plane, deck.namespace) as here:
        found = Example(files, here, deck)
        if files:
            found.begin()
        yield found


@pytest.fixture(scope="module")
def played(
    cluster: ControlPlane,
    volcano: ControlPlane,
    example: Example,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Played]:
    """Run all files at once: each of them alone would mostly wait for Volcano."""
    namespace = f"t-{os.urandom(4).hex()}"
    thing = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
    cluster.api.apply(thing)
    with Helm(tmp_path_factory.mktemp("flows"), cluster, namespace) as helm:
        file = helm.write(text([*DIAMOND, *RICH, *ABORTED, SINGLE]))
        done = helm("run", "--scheduler", "volcano", "-o", "json", file)
        assert done.stdout, done.stderr
        found = {each["metadata"]["name"]: each for each in json.loads(done.stdout)["items"]}
        jobs = {each["metadata"]["name"]: each for each in things(helm, "jobs")}
        yield Played(helm, found, jobs, things(helm, "jobflows"))
    cluster.api.call("DELETE", f"/api/v1/namespaces/{namespace}")


def one(name: str, script: str, **more: Any) -> Document:
    """Give a JobTemplate with one task of one pod."""
    return template(name, task("work", script, container=IMAGE, pod=QUICK, **more))


DIAMOND = [
    flow(
        "diamond", [step("a"), step("b", "a"), step("c", "b"), step("d", "b"), step("e", "c", "d")]
    ),
    *(one(name, f"echo {name} was here") for name in "abcde"),
]
SAYS = [{"name": "main", "env": [{"name": "WORD", "value": "patched"}]}]
RICH = [
    flow(
        "rich",
        [
            step("serve"),
            step(
                "ask",
                "serve",
                probe={"httpGetList": [{"taskName": "work", "path": "/", "port": 8080}]},
                patch={
                    "jobSpec": {
                        "tasks": [{"name": "work", "template": {"spec": {"containers": SAYS}}}]
                    }
                },
            ),
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
    ),
    one("serve", SERVES),
    one("ask", "echo $WORD"),
    one("heal", HEALS),
    template(
        "yes",
        task("work", CALLS, 2, container=IMAGE, pod=QUICK),
        plugins={"env": [], "svc": []},
    ),
    one("no", "true"),
]
ABORTED = [
    flow("aborted", [step("bad"), step("after", "bad"), step("beside")]),
    one("bad", "exit 4", policies=[{"event": "PodFailed", "action": "AbortJob"}]),
    one("after", "true"),
    one("beside", "sleep 4"),
]
SINGLE = job(
    "single",
    task("work", "echo try $VC_TASK_INDEX; exit 5", container=IMAGE, pod=QUICK),
    # Volcano may fail a Job without asking its policies once all of its pods have ended.
    task("beside", "sleep 600", container=IMAGE, pod=QUICK),
    plugins={"env": []},
    ttlSecondsAfterFinished=600,
    policies=[{"event": "PodFailed", "action": "RestartJob"}],
    maxRetry=2,
)
SINGLE["metadata"]["labels"] = {"team": "tests"}


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


def needs_of(flow: Json) -> dict[str, set[str]]:
    """Give the steps of a flow, and which others have to end before each."""
    return {
        each["name"]: set((each.get("dependsOn") or {}).get("targets") or ())
        for each in flow["spec"]["flows"]
    }


def waited_for(status: Json) -> dict[str, set[str]]:
    """Give the Jobs of a flow, and which others had ended when each began."""
    spans = {
        each["name"]: (_at(each["startTimestamp"]), _ended(each))
        for each in status["jobStatusList"]
    }
    return {
        name: {other for other, (_, ended) in spans.items() if ended <= began and other != name}
        for name, (began, _) in spans.items()
    }


def after(status: Json) -> dict[str, set[str]]:
    """Give the Jobs of a flow, and which others had begun before each."""
    began = {each["name"]: _at(each["startTimestamp"]) for each in status["jobStatusList"]}
    return {name: {other for other, at in began.items() if at < began[name]} for name in began}


def _ended(job: Json) -> float:
    """Give when a Job came into its last state: upstream may leave its end out."""
    return _at(job["runningHistories"][-1]["startTimestamp"])


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


def test_volcanos_controller_runs_the_diamond_as_one_machine_does(played: Played) -> None:
    there = played.found["diamond"]
    here = played.helm.run(text(DIAMOND), scheduler="local")

    assert there["status"]["state"] == {"phase": "Succeed"}, played.helm("get", "diamond").stdout
    assert shape_of(there["status"]) == shape_of(here["status"])
    order = [{"diamond-a"}, {"diamond-b"}, {"diamond-c", "diamond-d"}, {"diamond-e"}]
    assert order_of(there["status"]) == order
    histories = there["status"]["jobStatusList"][0]["runningHistories"]
    assert [each["state"] for each in histories][-1] == "Completed"


def test_a_plain_flow_is_volcanos_own_and_goes_with_ours(played: Played) -> None:
    helm = played.helm
    (made,) = played.flows
    told = helm("logs", "diamond", "--no-color").stdout

    assert made["metadata"]["labels"]["workflow-id"] == played.found["diamond"]["metadata"]["uid"]
    owner = played.jobs["diamond-a"]["metadata"]["ownerReferences"][0]
    assert owner["uid"] == made["metadata"]["uid"]
    assert all(f"{name} was here" in told for name in "abcde")
    assert helm("delete", "diamond").returncode == 0
    helm.until(lambda: not things(helm, "jobflows"), "the end of the flow")
    helm.until(lambda: not things(helm, "jobtemplates"), "the end of its templates")
    helm.until(lambda: not any("diamond" in each for each in names(helm)), "the end of its Jobs")


def test_probes_patches_conditions_and_retries_are_driven_by_our_engine(played: Played) -> None:
    status = played.found["rich"]["status"]

    states = {each["name"]: each for each in status["jobStatusList"]}
    assert status["state"] == {"phase": "Succeed"}
    assert set(states) == {"rich-serve", "rich-ask", "rich-heal", "rich-yes"}
    assert states["rich-heal"]["restartCount"] == 1
    words = [each["state"] for each in states["rich-heal"]["runningHistories"]]
    assert words.count("Failed") == 1
    assert words[-1] == "Completed"
    asked, served = states["rich-ask"], states["rich-serve"]
    assert _at(asked["startTimestamp"]) < _at(served["endTimestamp"])
    assert "patched" in played.helm("logs", "rich", "--no-color").stdout


def test_replicas_of_a_job_that_we_drive_are_told_of_each_other_by_volcanos_plugin(
    played: Played,
) -> None:
    told = played.helm("logs", "rich", "--no-color").stdout

    domain = f"{played.helm.namespace}.svc.cluster.local"
    known = [f"rich-yes-work-{index}.rich-yes" for index in range(2)]
    for index, name in enumerate(known):
        assert f"{index} is {name}.{domain} of {','.join(known)} {' '.join(known)}" in told


def test_a_policy_that_upstream_hangs_on_fails_the_flow_once_its_siblings_have_ended(
    played: Played,
) -> None:
    status = played.found["aborted"]["status"]

    assert status["state"] == {"phase": "Failed"}
    assert status["terminatedJobs"] == ["aborted-bad"]
    assert status["completedJobs"] == ["aborted-beside"]
    assert sorted(status["conditions"]) == ["aborted-bad", "aborted-beside"]


def test_a_retried_flow_runs_what_had_failed_as_a_new_job_and_nothing_else(
    played: Played,
) -> None:
    helm = played.helm
    assert helm("retry", "aborted").returncode == 0
    done = helm("wait", "aborted")

    jobs = {each["metadata"]["name"]: each["metadata"]["uid"] for each in things(helm, "jobs")}
    before = {name: each["metadata"]["uid"] for name, each in played.jobs.items()}
    assert done.returncode == 1, done.stderr
    assert jobs["aborted-bad"] != before["aborted-bad"]
    assert jobs["aborted-beside"] == before["aborted-beside"]
    assert helm.get("aborted")["status"]["terminatedJobs"] == ["aborted-bad"]


def test_a_job_is_submitted_as_it_is_and_its_policies_are_volcanos(played: Played) -> None:
    found, made = played.found["single"], played.jobs["single"]

    assert found["kind"] == "Job"
    assert found["status"]["state"]["phase"] == "Failed"
    assert found["status"]["retryCount"] == made["status"]["retryCount"] == 2
    assert made["metadata"]["labels"]["team"] == "tests"
    told = played.helm("logs", "single", "--no-color").stdout
    assert told.count("try 0") == 2


@pytest.fixture
def crater(
    helm: Helm,
    volcano: ControlPlane,
    token: str,  # noqa: F811 - a fixture
) -> Helm:
    """Give a ``tiphys`` that may do what the shipped role allows."""
    config = json.loads(volcano.kubeconfig.read_text())
    config["users"][0]["user"]["token"] = token
    (helm.folder / "kubeconfig").write_text(json.dumps(config))
    helm.configure(str(helm.folder / "kubeconfig"))
    return helm


def test_jobs_go_after_success_where_the_flow_says_so(crater: Helm) -> None:
    always = {"steps": {"only": {"when": "1 == 1"}}}
    plain = flow("plain", [step("only")], jobRetainPolicy="delete")
    driven = flow("driven", [step("only")], always, jobRetainPolicy="delete")

    found = crater.run(text([plain, driven, one("only", "true")]), scheduler="volcano")["items"]

    assert [each["status"]["state"] for each in found] == [{"phase": "Succeed"}] * 2
    crater.until(lambda: not things(crater, "jobs"), "the end of the Jobs")


def test_a_killed_tiphys_finds_its_jobs_and_can_end_them(
    crater: Helm,
) -> None:
    """Of a flow that Volcano drives, and of one that we do."""
    always = {"steps": {"then": {"when": "1 == 1"}}}
    documents = [
        flow("plain", [step("first"), step("then", "first")]),
        flow("driven", [step("first"), step("then", "first")], always),
        template(
            "first",
            task("work", "echo begun; sleep 600", container=IMAGE, pod=QUICK),
            plugins={"svc": []},
        ),
        one("then", "true"),
    ]
    process = crater.begin("run", "--scheduler", "volcano", crater.write(text(documents)))
    crater.until_running(2)
    for name in ("plain-first", "driven-first"):
        crater.until(partial(_is_known, crater, name), f"the host names of {name}")
    crater.kill(process)
    for mark in (crater.folder / "data" / "attempts").rglob("made"):
        mark.unlink()  # As if it had died between the making and the note of it.
    (crater.folder / "data" / "door").unlink(missing_ok=True)

    process = crater.begin("watch", "plain", "driven")
    crater.until((crater.folder / "data" / "door").exists, "a host")
    for name in ("plain", "driven"):
        crater.until(partial(_terminates, crater, name), f"the end of {name}")
    process.communicate(timeout=200)

    for name in ("plain", "driven"):
        status = crater.get(name)["status"]
        assert status["state"] == {"phase": "Failed"}
        assert status["terminatedJobs"] == [f"{name}-first"]
        assert "begun" in crater("logs", name, "--no-color").stdout
    assert names(crater) == {"plain-first", "driven-first"}
    crater.until(lambda: _phases(crater) == {"Terminated"}, "Volcano's own end")


def _is_known(helm: Helm, job: str) -> bool:
    """Whether the name service of a cluster would give addresses to a Job's host names."""
    query = f"?labelSelector=kubernetes.io/service-name={job}"
    path = f"/apis/discovery.k8s.io/v1/namespaces/{helm.namespace}/endpointslices{query}"
    slices = helm.api.call("GET", path)["items"]
    found = [end for each in slices for end in each["endpoints"] or () if end["addresses"]]
    return [end.get("hostname") for end in found] == [f"{job}-work-0"]


def _terminates(helm: Helm, name: str) -> bool:
    return helm("terminate", name).returncode == 0


def names(helm: Helm) -> set[str]:
    """Give the names of the Jobs that are there."""
    return {each["metadata"]["name"] for each in things(helm, "jobs")}


def _phases(helm: Helm) -> set[str]:
    found = [(each.get("status") or {}).get("state") or {} for each in things(helm, "jobs")]
    return {str(each.get("phase") or "") for each in found}


def test_volcanos_own_example_goes_the_same_way_here_there_and_in_volcanos_own_status(
    example: Example,
) -> None:
    """Last in its file: it has been under way since the first test."""
    if not example.files:
        pytest.skip("the source of Volcano, which has the example, is not in Go's cache")
    name, deck = "test", example.there
    path = f"/apis/flow.volcano.sh/v1alpha1/namespaces/{deck.namespace}/jobflows/{name}"
    for helm in (example.here, deck.helm):
        assert helm("wait", name).returncode == 0, helm("get", name).stdout
    deck.until(lambda: state_of(deck.api.call("GET", path)) == "Succeed", "Volcano's own end")
    theirs = {f"{name}-{each}" for each in "abcde"}
    deck.until(lambda: not theirs & names(deck.helm), "the end of Jobs that are not retained")

    here, there = (each.get(name)["status"] for each in (example.here, deck.helm))
    own = deck.api.call("GET", path)["status"]

    assert shape_of(here) == shape_of(there)
    needs = needs_of(yaml.safe_load(example.files[-1].read_text()))
    assert len(needs) == 5
    for status in (here, there, own):
        assert status["state"] == {"phase": "Succeed"}
        assert sorted(status["completedJobs"]) == sorted(f"{name}-{each}" for each in needs)
        assert {each["state"] for each in status["jobStatusList"]} == {"Completed"}
        # Upstream notes an end when it next looks, which may be after the start of what waited.
        waited = waited_for(status) if status is not own else after(status)
        for each, others in needs.items():
            assert {f"{name}-{other}" for other in others} <= waited[f"{name}-{each}"]


def test_pod_groups_of_a_flow_that_volcano_drives_are_told_of(example: Example) -> None:
    """By the time of the test before it all of them have been."""
    if not example.files:
        pytest.skip("the source of Volcano, which has the example, is not in Go's cache")
    deck = example.there
    uid = deck.helm.get("test")["metadata"]["uid"]

    def told() -> set[tuple[str, str]]:
        said = [each for each in deck.said("gang_changed") if each["workflow_id"] == uid]
        return {(job_of_group(each["gang"]), each["phase"]) for each in said}

    wanted = {(f"test-{each}", phase) for each in "abcde" for phase in ("Running", "Deleted")}
    deck.until(lambda: wanted <= told(), "the ends of its groups")
    events = deck.client.do(calls.get_events(f"wf-{uid}"))
    assert any(each.kind == "PodGroup" and "of 1 in queue default" in each.text for each in events)


def state_of(flow: Json) -> str:
    """Give Volcano's word for how a flow is."""
    return str((((flow.get("status") or {}).get("state") or {}).get("phase")) or "")
