"""What a server does on a cluster about what the one before it died too early to do."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import msgspec
import pytest

from tests.contract.api_server import PATIENCE, ApiServer
from tests.contract.kube_server import Server, Told, answering, write_access
from tiphys.config import Config, SchedulerSettings, VolcanoSettings
from tiphys.control.clearance import KIND
from tiphys.control.host import hosting
from tiphys.control.server import Quiet
from tiphys.control.submit import Submission
from tiphys.ports import VOLCANO, Instruction
from tiphys.runtimes.config import LocalConfig
from tiphys.runtimes.kubernetes import KubernetesRuntime
from tiphys.runtimes.kubernetes_config import KubernetesConfig
from tiphys.runtimes.volcano_runtime import VolcanoRuntime
from tiphys.spec import model
from tiphys.spec.library import Library
from tiphys.store import Batch, ObjectRow, Store, WorkflowRow

Json = dict[str, Any]
JOBS = "/apis/batch/v1/namespaces/team/jobs"
VCJOBS = "/apis/batch.volcano.sh/v1alpha1/namespaces/team/jobs"
FLOWS = "/apis/flow.volcano.sh/v1alpha1/namespaces/team/jobflows"
COMMANDS = "/apis/bus.volcano.sh/v1alpha1/namespaces/team/commands"
CLAIMS = "/api/v1/namespaces/team/persistentvolumeclaims"
ON = VolcanoSettings(enabled=True)
OWNED = "tiphys.dev/owner=me"


def thing(name: str, attempt: str = "", *, uid: str = "", **more: Any) -> Json:
    meta: Json = {"name": name, "namespace": "team", "uid": f"uid-of-{name}"}
    meta["annotations"] = {"tiphys.dev/attempt-id": attempt}
    meta["labels"] = {"workflow-id": uid}
    return {"metadata": meta, "spec": {}, **more}


def in_phase(phase: str) -> Json:
    return {"state": {"phase": phase}}


THERE = {
    (JOBS, OWNED): [
        thing("settled", "s.2", spec={"ttlSecondsAfterFinished": 60}),
        thing("wanted", "w.1"),
        thing("stopped", "s.1"),
    ],
    (VCJOBS, OWNED): [
        thing("completed", "s.4", status=in_phase("Completed")),
        thing("wanted", "w.2", status=in_phase("Running")),
        thing("stopped", "s.3", status=in_phase("Running")),
    ],
    (CLAIMS, f"{OWNED},workflow-id"): [
        thing("of-succeeded", uid="succeeded"),
        thing("of-failed", uid="s"),
        thing("of-unknown", uid="unknown"),
    ],
    (FLOWS, "workflow-id=deleted"): [thing("flow")],
}


def answer(method: str, path: str) -> Told:
    """Answer as a cluster on which nothing but the above is: no JobFlow's Jobs, no news."""
    parts = urlsplit(path)
    if method != "GET":
        return Told()
    selector = parse_qs(parts.query).get("labelSelector")
    if selector:
        return Told(body=json.dumps({"items": THERE.get((parts.path, selector[0]), [])}).encode())
    folder, _, name = parts.path.rpartition("/")
    found = [each for (path, _), things in THERE.items() if path == folder for each in things]
    one = next((each for each in found if each["metadata"]["name"] == name), None)
    return Told(404) if one is None else Told(body=json.dumps(one).encode())


def row(uid: str, phase: str, scheduler: str) -> WorkflowRow:
    claim = {"metadata": {"name": "v"}, "spec": {"accessModes": ["ReadWriteOnce"]}}
    return WorkflowRow(
        uid=uid,
        name=uid,
        namespace="team",
        phase=phase,
        created_at=1.0,
        started_at=1.0,
        finished_at=2.0,
        labels={"tiphys.dev/scheduler": scheduler},
        spec=json.dumps({"entrypoint": "m", "volumeClaimTemplates": [claim]}).encode(),
    )


def left_behind(data: Path) -> None:
    """Have a store as a server leaves it that is killed behind its last commit."""
    data.mkdir()
    (data / "cluster-owner").write_text("me")
    order = Instruction(
        uid="deleted", name="flow", namespace="team", verb="delete", scheduler=VOLCANO
    )
    body = msgspec.json.encode(order)
    rows = [row("s", "Failed", VOLCANO), row("succeeded", "Succeeded", "k8s-native")]
    kept = ObjectRow(kind=KIND, namespace="", name=order.uid, body=body, at=1.0)
    with Store.open(data, owner=True) as store:
        store.commit(Batch(submitted=rows, objects=[kept]))


class After:
    """A server that was started behind one that was killed, and its cluster."""

    def __init__(self, server: ApiServer, cluster: Server) -> None:
        self.server, self.cluster = server, cluster

    def asked(self, *methods: str) -> list[tuple[str, str]]:
        return [(each[0], each[1]) for each in list(self.cluster.asked) if each[0] in methods]

    def wait(self, true: Callable[[], bool]) -> None:
        end = time.monotonic() + PATIENCE
        while not true():
            assert time.monotonic() < end, (self.asked("GET", "DELETE", "POST"), self.server.said)
            time.sleep(0.05)


@pytest.fixture(scope="module")
def after(tmp_path_factory: pytest.TempPathFactory) -> Iterator[After]:
    folder = tmp_path_factory.mktemp("after")
    left_behind(folder / "data")
    with answering(answer) as cluster:
        kubernetes = {"kubeconfig": write_access(folder, cluster)}
        settings = {"isolation": "process", "lingerSeconds": 0.5, "kubernetes": kubernetes}
        (folder / "cluster.yaml").write_text(json.dumps(settings))
        with ApiServer(folder, "--config", str(folder / "cluster.yaml")) as server:
            yield After(server, cluster)


def test_a_job_of_a_node_that_was_stopped_is_deleted(after: After) -> None:
    after.wait(lambda: ("DELETE", f"{JOBS}/stopped") in after.asked("DELETE"))

    assert ("DELETE", f"{JOBS}/settled") not in after.asked("DELETE")


def test_a_volcano_job_of_a_node_that_was_stopped_is_terminated(after: After) -> None:
    def orders() -> list[Json]:
        return [json.loads(each[3]) for each in list(after.cluster.asked) if each[1] == COMMANDS]

    after.wait(lambda: any(each["target"]["name"] == "stopped" for each in orders()))

    assert {each["action"] for each in orders()} == {"TerminateJob"}
    assert not any(each["target"]["name"] == "completed" for each in orders())


def test_volumes_go_of_a_workflow_that_succeeded_and_of_no_other(after: After) -> None:
    after.wait(lambda: ("PATCH", f"{CLAIMS}/of-succeeded") in after.asked("PATCH"))

    gone = [path for _, path in after.asked("DELETE") if path.startswith(CLAIMS)]
    assert gone == [f"{CLAIMS}/of-succeeded"]


def test_what_was_made_for_a_deleted_workflow_is_removed_and_its_order_forgotten(
    after: After,
) -> None:
    def orders() -> list[ObjectRow]:
        with Store.open(after.server.data, owner=False) as store:
            return store.objects(KIND)

    after.wait(lambda: not orders())

    assert ("DELETE", f"{FLOWS}/flow") in after.asked("DELETE")


def changes(cluster: Server) -> list[str]:
    return [each[1] + each[3].decode() for each in list(cluster.asked) if each[0] != "GET"]


@pytest.mark.parametrize("kind", [KubernetesRuntime, VolcanoRuntime])
def test_what_belongs_to_a_run_is_left_alone(
    tmp_path: Path, kind: type[KubernetesRuntime | VolcanoRuntime]
) -> None:
    (tmp_path / "cluster-owner").write_text("me")

    async def sweep(config: KubernetesConfig, cluster: Server) -> None:
        runtime = kind(tmp_path, config=config, local=LocalConfig())
        await runtime.open(lambda events: None)
        await runtime.sweep(["w.1", "w.2"], ["team"])
        async with asyncio.timeout(PATIENCE):
            while not changes(cluster):  # noqa: ASYNC110 - the other thread sets no event
                await asyncio.sleep(0.01)
        await runtime.close()

    with answering(answer) as cluster:
        config = KubernetesConfig(kubeconfig=write_access(tmp_path, cluster))
        asyncio.run(sweep(config, cluster))

    assert "stopped" in changes(cluster)[0]  # It is the last of the list.


@pytest.mark.parametrize(("status", "left"), [(200, 0), (404, 0), (403, 1)])
def test_the_order_to_remove_what_a_deleted_workflow_left_is_on_record_until_it_is_done(
    tmp_path: Path, status: int, left: int
) -> None:
    flow = row("f", "Failed", VOLCANO)
    flow.labels["tiphys.dev/kind"] = "JobFlow"
    with Store.open(tmp_path / "data", owner=True) as store:
        store.commit(Batch(submitted=[flow]))

    async def delete(kubeconfig: str) -> None:
        config = Config(kubernetes=KubernetesConfig(kubeconfig=kubeconfig))
        async with hosting(tmp_path / "data", config, Library(), Quiet()) as host:
            host.start()
            await host.forget(host.store.workflow("f"))

    with answering(lambda method, path: Told(status)) as cluster:
        asyncio.run(delete(write_access(tmp_path, cluster)))

    with Store.open(tmp_path / "data", owner=False) as store:
        assert len(store.objects(KIND)) == left
        assert store.count_workflows() == 0


@pytest.mark.parametrize(("retain", "promised"), [("delete", 1), ("retain", 0)])
def test_a_flow_whose_jobs_go_with_its_success_has_the_order_on_record_from_the_start(
    tmp_path: Path, retain: str, promised: int
) -> None:
    labels = {"tiphys.dev/kind": "JobFlow", "tiphys.dev/job-retain": retain}
    meta = model.ObjectMeta(name="f", labels={"tiphys.dev/scheduler": VOLCANO, **labels})
    spec = model.WorkflowSpec(entrypoint="m", templates=(model.Template(name="m"),))
    given = Submission(model.Workflow(metadata=meta, spec=spec), spec)

    async def submit() -> int:
        config = Config(isolation="process", scheduler=SchedulerSettings(volcano=ON))
        async with hosting(tmp_path / "data", config, Library(), Quiet()) as host:
            host.start()
            host.submit(given, Library(), start=False)
            await host.control.settle()
            return len(host.store.objects(KIND))

    assert asyncio.run(submit()) == promised
