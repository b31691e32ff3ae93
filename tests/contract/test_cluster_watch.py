"""Watching and ordering about a cluster: nothing that is heard ends a watch, no refusal is lost."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
import pytest

from tests.contract.kube_server import Server, Told, answering
from tiphys.dispatch.argo import ArgoDispatcher
from tiphys.dispatch.volcano import VolcanoDispatcher
from tiphys.kube.access import Access
from tiphys.kube.client import Client
from tiphys.ports import (
    ARGO_DEFAULT,
    GANG_GONE,
    K8S_NATIVE,
    VOLCANO,
    Dispatch,
    GangChanged,
    Instruction,
    Mirrored,
    RuntimeEvent,
    Task,
    TaskEnded,
)
from tiphys.runtimes.config import LocalConfig
from tiphys.runtimes.kubernetes import KubernetesRuntime
from tiphys.runtimes.kubernetes_config import KubernetesConfig
from tiphys.runtimes.kubernetes_gangs import Gangs
from tiphys.runtimes.kubernetes_job import ATTEMPT_ID, job_name
from tiphys.runtimes.kubernetes_lookout import Lookout, pods_path
from tiphys.runtimes.volcano_runtime import VolcanoRuntime
from tiphys.spec import model
from tiphys.spec.parse import parse_text
from tiphys.testing.volcano import flow, step, task, template, text

Json = dict[str, Any]
JOB_UID = "00000000-0000-4000-8000-000000000001"
EXPIRED = {"type": "ERROR", "object": {"code": 410, "message": "too old"}}
NO = Told(403, b'{"message": "commands is forbidden", "reason": "Forbidden"}')


def listed(*things: Json) -> Told:
    whole = {"items": list(things), "metadata": {"resourceVersion": "1"}}
    return Told(body=json.dumps(whole).encode())


def events(*given: Json) -> Told:
    return Told(pieces=tuple(json.dumps(each).encode() + b"\n" for each in given))


def a_thing(name: str, **more: Any) -> Json:
    meta = {"name": name, "namespace": "n", "uid": f"uid-{name}", "resourceVersion": "2"}
    return {"metadata": {**meta, **more.pop("metadata", {})}, **more}


async def until(holds: Callable[[], bool]) -> None:
    """Wait for a state of the world that sets no event."""
    async with asyncio.timeout(60):
        while not holds():  # noqa: ASYNC110 - it is the world's, not ours
            await asyncio.sleep(0.02)


def following(
    server: Server, begin: Callable[[Client, Any], Any], holds: Callable[[], bool]
) -> None:
    """Have something follow the server until something holds."""

    async def follow() -> None:
        client, tasks = Client(Access(server=server.address)), set()

        def spawn(job: Any) -> asyncio.Task[None]:
            made: asyncio.Task[None] = asyncio.create_task(job)
            tasks.add(made)
            return made

        found = begin(client, spawn)
        if found is not None:
            await found
        await until(holds)
        for each in tasks:
            each.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await client.close()

    asyncio.run(follow())


# --- watches --------------------------------------------------------------------------------


def test_what_cannot_be_taken_in_is_noted_and_the_next_is_taken(
    caplog: pytest.LogCaptureFixture,
) -> None:
    taken: list[str] = []

    def answer(_method: str, path: str) -> Told:
        if "watch=true" in path:
            return events({"type": "ADDED", "object": a_thing("c")})
        return listed(a_thing("a"), a_thing("b"))

    def take(_namespace: str, pod: Json, _gone: bool) -> None:
        name = pod["metadata"]["name"]
        if name == "a":
            raise OSError("no space left on device")
        taken.append(name)

    with answering(answer) as server:
        following(
            server,
            lambda client, spawn: Lookout(client, spawn, [(pods_path, "", take)]).watch("n"),
            lambda: "c" in taken,
        )

    assert taken[:2] == ["b", "c"]
    (note, *_) = [each for each in caplog.records if each.name == "tiphys.cluster"]
    assert "/namespaces/n/pods/a could not be taken in" in note.getMessage()


def test_a_group_that_a_new_list_lacks_is_told_as_gone() -> None:
    told: list[RuntimeEvent] = []
    lists = [listed(a_thing("g", spec={"queue": "gold"}, status={"phase": "Running"})), listed()]

    def answer(_method: str, path: str) -> Told:
        if "watch=true" in path:
            return events(EXPIRED) if lists else events()
        return lists.pop(0)

    with answering(answer) as server:
        following(
            server,
            lambda client, spawn: Gangs(client, "", told.extend, spawn, lambda *_: []).watch("n"),
            lambda: len(told) == 2,
        )

    found = [each for each in told if isinstance(each, GangChanged)]
    assert [(each.was, each.phase, each.queue) for each in found] == [
        ("", "Running", "gold"),
        ("Running", GANG_GONE, "gold"),
    ]


def test_a_group_is_told_with_the_time_when_its_first_pod_came_to_a_node() -> None:
    told: list[RuntimeEvent] = []
    lists = [listed(a_thing("g", status={"phase": "Inqueue"})), listed()]
    gangs: list[Gangs] = []

    def of_group(name: str, at: str) -> Json:
        return {
            "metadata": {"name": "p", "annotations": {"scheduling.k8s.io/group-name": name}},
            "status": {"startTime": at} if at else {},
        }

    def take(changes: Sequence[RuntimeEvent]) -> None:
        told.extend(changes)
        for name, at in (("g", ""), ("g", "1970-01-01T00:00:09Z"), ("g", "1970-01-01T00:00:07Z")):
            gangs[0].take_pod("n", of_group(name, at))
        gangs[0].take_pod("n", of_group("another", "1970-01-01T00:00:01Z"))

    def answer(_method: str, path: str) -> Told:
        if "watch=true" in path:
            return events(EXPIRED) if lists else events()
        return lists.pop(0)

    def watch(client: Client, spawn: Any) -> None:
        gangs.append(Gangs(client, "", take, spawn, lambda *_: []))
        gangs[0].watch("n")

    with answering(answer) as server:
        following(server, watch, lambda: len(told) == 2)

    found = [each for each in told if isinstance(each, GangChanged)]
    assert [(each.phase, each.began_at) for each in found] == [("Inqueue", None), (GANG_GONE, 7.0)]


# --- orders ---------------------------------------------------------------------------------


class Cluster:
    """A Volcano that does nothing, and whose commands are for others."""

    def __init__(self, *jobs: Json, groups: tuple[Json, ...] = ()) -> None:
        self.jobs, self.groups = jobs, groups
        self.commands = 0

    def answer(self, method: str, path: str) -> Told:
        collection = urlsplit(path).path.rpartition("/namespaces/n/")[2]
        if method == "GET" and "watch=true" in path:
            return events()
        if method == "GET" and collection == "jobflows/f":
            return Told(body=json.dumps(a_flow()).encode())
        if method == "GET":
            return listed(*{"jobs": self.jobs, "podgroups": self.groups}.get(collection, ()))
        if method == "POST" and collection == "jobs":
            return Told(201, json.dumps(a_thing("f-a", metadata={"uid": JOB_UID})).encode())
        if method == "POST" and collection == "commands":
            self.commands += 1
            return NO
        return Told()


def a_flow() -> Json:
    return a_thing("f", metadata={"labels": {"workflow-id": "u"}}, status={})


def config(server: Server, folder: Path) -> KubernetesConfig:
    kubeconfig = {
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": server.address}}],
        "users": [{"name": "u", "user": {}}],
    }
    (folder / "kubeconfig").write_text(json.dumps(kubeconfig))
    return KubernetesConfig(kubeconfig=str(folder / "kubeconfig"))


def notes(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [each.getMessage() for each in caplog.records if each.name == "tiphys.cluster"]


def is_noted(caplog: pytest.LogCaptureFixture, times: int) -> bool:
    return len(notes(caplog)) == times


def a_task() -> Task:
    pods = {"tasks": [{"name": "w", "template": {"spec": {"containers": []}}}]}
    return Task(
        id="u.1",
        workflow="f",
        namespace="n",
        workflow_uid="u",
        node_id="f-1",
        node_name="f.a",
        template=model.Template(name="a", volcano_job=pods),
        scheduler=VOLCANO,
    )


def test_a_job_that_may_not_be_terminated_is_noted_and_can_be_tried_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cluster, heard = Cluster(), list[RuntimeEvent]()

    async def run(server: Server) -> None:
        runtime = VolcanoRuntime(tmp_path, config=config(server, tmp_path), local=LocalConfig())
        await runtime.open(heard.extend)
        await runtime.start([a_task()])
        await until(lambda: bool(heard))
        for number in (1, 2):
            await runtime.stop(["u.1"], grace=0.0)
            await until(partial(is_noted, caplog, number))
        await runtime.close()

    with answering(cluster.answer) as server:
        asyncio.run(run(server))

    assert cluster.commands == 2
    assert notes(caplog)[0] == "cannot terminate Job n/f-a: commands is forbidden"


def test_the_group_of_a_job_that_is_over_is_told_and_that_of_a_layer_is_not(
    tmp_path: Path,
) -> None:
    labels = {"metadata": {"labels": {"workflow-id": "u"}}}
    groups = (a_thing("pg-u", **labels), a_thing(f"old-{JOB_UID}", **labels))
    heard: list[RuntimeEvent] = []

    async def run(server: Server) -> None:
        runtime = VolcanoRuntime(tmp_path, config=config(server, tmp_path), local=LocalConfig())
        await runtime.open(heard.extend)
        await runtime.start([a_task()])
        await until(lambda: any(isinstance(each, GangChanged) for each in heard))
        await runtime.close()

    with answering(Cluster(groups=groups).answer) as server:
        asyncio.run(run(server))

    found = [each for each in heard if isinstance(each, GangChanged)]
    assert [(each.gang, each.members) for each in found] == [(f"old-{JOB_UID}", ())]


def test_a_flow_whose_jobs_may_not_be_terminated_can_be_told_to_end_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    bundle = parse_text(text([flow("f", [step("a")]), template("a", task("t", "true"))]))
    order = Dispatch(
        uid="u", name="f", namespace="n", scheduler=VOLCANO, workflow=bundle.workflows[0].value
    )
    stop = Instruction(uid="u", name="f", namespace="n", verb="terminate", scheduler=VOLCANO)
    job = a_thing("f-a", metadata={"ownerReferences": [{"uid": "uid-f"}]})
    cluster, heard = Cluster(job), list[Mirrored]()

    async def run(server: Server) -> None:
        dispatcher = VolcanoDispatcher(tmp_path, config(server, tmp_path))
        await dispatcher.open(heard.extend)
        await dispatcher.dispatch([order])
        await until(
            lambda: any(len(each.nodes) == 1 and "f.a" in each.nodes[0].name for each in heard)
        )
        for number in (1, 2):
            await dispatcher.instruct([stop])
            await until(partial(is_noted, caplog, number))
        await dispatcher.close()

    with answering(cluster.answer) as server:
        asyncio.run(run(server))

    assert cluster.commands == 2
    assert notes(caplog)[0] == "cannot terminate Job n/f-a: commands is forbidden"


def test_a_flow_that_is_told_to_end_before_it_was_made_is_not_made(tmp_path: Path) -> None:
    bundle = parse_text(text([flow("f", [step("a")]), template("a", task("t", "true"))]))
    order = Dispatch(
        uid="u", name="f", namespace="n", scheduler=VOLCANO, workflow=bundle.workflows[0].value
    )
    stop = Instruction(uid="u", name="f", namespace="n", verb="stop", scheduler=VOLCANO)
    heard: list[Mirrored] = []

    def answer(method: str, path: str) -> Told:
        if "watch=true" in path:
            return events()
        return Told(404, b"{}") if path.endswith("jobflows/f") else listed()

    async def run(server: Server) -> None:
        dispatcher = VolcanoDispatcher(tmp_path, config(server, tmp_path))
        await dispatcher.open(heard.extend)
        await dispatcher.dispatch([order])
        await dispatcher.instruct([stop])
        await until(lambda: bool(heard))
        await dispatcher.close()

    with answering(answer) as server:
        asyncio.run(run(server))

    assert {each[0] for each in server.asked} == {"GET"}
    assert [(each.phase, each.message) for each in heard] == [
        ("Failed", "Stopped with strategy 'Stop'")
    ]


def test_argo_is_told_to_end_a_workflow_only_once_it_is_there(tmp_path: Path) -> None:
    made, slow, answers = threading.Event(), threading.Event(), list[int]()
    there = a_thing("w", metadata={"labels": {"workflow-id": "u"}}, spec={}, status={})
    workflow = model.Workflow(spec=model.WorkflowSpec(entrypoint="main"))
    order = Dispatch(uid="u", name="w", namespace="n", scheduler=ARGO_DEFAULT, workflow=workflow)
    stop = Instruction(uid="u", name="w", namespace="n", verb="terminate")

    def answer(method: str, path: str) -> Told:
        if method == "GET":
            return events() if "watch=true" in path else listed(there)
        if method == "POST":
            slow.wait(0.3)  # Long enough to be overtaken.
            made.set()
            return Told(201, json.dumps(there).encode())
        answers.append(200 if made.is_set() else 404)
        return Told(answers[-1])

    async def run(server: Server) -> None:
        dispatcher = ArgoDispatcher(tmp_path, config(server, tmp_path))
        await dispatcher.open(lambda _: None)
        await dispatcher.dispatch([order])
        await dispatcher.instruct([stop])
        await until(lambda: bool(answers))
        await dispatcher.close()

    with answering(answer) as server:
        asyncio.run(run(server))

    assert answers == [200]


# --- tasks of an earlier server -------------------------------------------------------------


class Found:
    """A cluster on which one Job is over, with its pod."""

    def __init__(self, job: Json, pod: Json) -> None:
        self.job, self.pod = job, pod

    def answer(self, method: str, path: str) -> Told:
        collection = urlsplit(path).path.rpartition("/namespaces/n/")[2]
        if method == "POST" and collection == "jobs":
            return Told(409, b'{"reason": "AlreadyExists"}')
        if "watch=true" in path:
            return events()
        if collection in ("jobs", "pods"):
            return listed(self.job if collection == "jobs" else self.pod)
        if collection.startswith("jobs/"):
            return Told(body=json.dumps(self.job).encode())
        return Told() if collection.endswith("/log") else listed()


BEGAN, OVER = "1970-01-01T00:00:07Z", "1970-01-01T00:00:09Z"


def a_pod(labels: dict[str, str], **more: Any) -> Json:
    ended = {"exitCode": 0, "startedAt": BEGAN, "finishedAt": OVER}
    status = {
        "phase": "Succeeded",
        "startTime": BEGAN,
        "containerStatuses": [{"name": "main", "state": {"terminated": ended}}],
    }
    meta = {"labels": labels, "creationTimestamp": BEGAN, **more}
    spec = {"containers": [{"name": "main"}]}
    return a_thing("p", metadata=meta, spec=spec, status=status)


def attached(runtime: Any, work: Task) -> list[str]:
    """Attach to a task; give what is told up to its end, and where the loop comes between."""
    heard: list[str] = []

    def hear(events: Sequence[RuntimeEvent]) -> None:
        heard.extend(type(each).__name__ for each in events)
        asyncio.get_running_loop().call_soon(heard.append, "|")

    async def run() -> None:
        await runtime.open(hear)
        await runtime.attach([work])
        await until(lambda: TaskEnded.__name__ in heard)
        await runtime.close()

    asyncio.run(run())
    return heard[: heard.index(TaskEnded.__name__) + 1]


def test_nothing_is_told_of_a_pod_that_is_over_before_its_end_is_known(tmp_path: Path) -> None:
    container = model.Container(image="x", command=("true",))
    plain = msgspec.structs.replace(
        a_task(), template=model.Template(name="a", container=container), scheduler=K8S_NATIVE
    )
    name = job_name(plain)
    job = a_thing(name, metadata={"annotations": {ATTEMPT_ID: plain.id}}, spec={}, status={})
    pod = a_pod({"batch.kubernetes.io/job-name": name})

    with answering(Found(job, pod).answer) as server:
        given = config(server, tmp_path)
        runtime = KubernetesRuntime(tmp_path, config=given, local=LocalConfig())
        heard = attached(runtime, plain)

    assert heard == ["TaskStarted", "TaskEnded"]


def test_nothing_is_told_of_a_volcano_job_that_is_over_before_its_end_is_known(
    tmp_path: Path,
) -> None:
    status = {"state": {"phase": "Completed"}, "succeeded": 1}
    marks = {"uid": JOB_UID, "annotations": {ATTEMPT_ID: "u.1"}}
    job = a_thing("f-a", metadata=marks, spec={}, status=status)
    owner = {"ownerReferences": [{"uid": JOB_UID, "controller": True}]}
    pod = a_pod({"volcano.sh/job-name": "f-a", "volcano.sh/task-spec": "w"}, **owner)

    with answering(Found(job, pod).answer) as server:
        given = config(server, tmp_path)
        runtime = VolcanoRuntime(tmp_path, config=given, local=LocalConfig())
        heard = attached(runtime, a_task())

    assert heard == ["TaskStarted", "TaskSeen", "TaskEnded"]
