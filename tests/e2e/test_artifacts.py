"""Artifacts of whole workflows: repositories by reference, keys, archived logs, and garbage.

S3 is a real server on the loopback; the same workflow runs against the local repository.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tiphys.store import Store

PATIENCE = 60.0
SECRET = """
apiVersion: v1
kind: Secret
metadata: {name: s3}
stringData: {access: test, secret: test}
---
"""
FLOW = """
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: flow}
spec:
  entrypoint: main
  %(ref)s
  artifactGC: {strategy: OnWorkflowDeletion%(gc)s}
  templates:
  - name: main
    steps:
    - - {name: make, template: make}
    - - name: read
        template: read
        arguments: {artifacts: [{name: a, from: "{{steps.make.outputs.artifacts.first}}"}]}
  - name: make
    container:
      image: any
      command: [sh, -c, "mkdir -p $D && cd $D && echo 1 > a && echo 2 > b && echo 3 > c; echo made"]
      env: [{name: D, value: "%(folder)s"}]
    outputs:
      artifacts:
      - {name: first, path: "%(folder)s/a", artifactGC: {strategy: OnWorkflowCompletion}}
      - {name: second, path: "%(folder)s/b", archive: {none: {}}}
      - {name: third, path: "%(folder)s/c", artifactGC: {strategy: Never}}
  - name: read
    inputs: {artifacts: [{name: a, path: "%(folder)s/in"}]}
    container: {image: any, command: [sh, -c, "cat %(folder)s/in"]}
"""


class Tiphys:
    """The command with a data directory of its own."""

    def __init__(self, folder: Path, settings: str = "") -> None:
        config = folder / "tiphys.yaml"
        config.write_text(f"lingerSeconds: 0.1\negress: {{allow: [127.0.0.1]}}\n{settings}")
        self.folder = folder
        self.data = folder / "data"
        self.environment = {
            **os.environ,
            "HOME": str(folder),
            "TIPHYS_DATA_DIR": str(self.data),
            "TIPHYS_CONFIG": str(config),
        }

    def start(self, *words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "tiphys", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=self.environment,
            cwd=self.folder,
        )

    def __call__(self, *words: str) -> subprocess.CompletedProcess[str]:
        process = self.start(*words)
        out, err = process.communicate(timeout=120)
        return subprocess.CompletedProcess(words, process.returncode, out, err)

    def run(self, text: str) -> dict[str, Any]:
        (self.folder / "flow.yaml").write_text(text)
        done = self("run", "-q", "-o", "json", "flow.yaml")
        assert done.stdout, done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    def get(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self("get", name, "-o", "json").stdout)
        return found


@dataclass
class Bucket:
    """A bucket of an S3 server."""

    endpoint: str
    name: str

    def request(self, method: str, path: str = "") -> bytes:
        connection = http.client.HTTPConnection(self.endpoint, timeout=30)
        with contextlib.closing(connection):
            connection.request(method, f"/{self.name}{path}")
            return connection.getresponse().read()

    def keys(self) -> list[str]:
        return sorted(re.findall(r"<Key>(.*?)</Key>", self.request("GET").decode()))

    def config_map(self, name: str = "artifact-repositories", annotation: str = "") -> str:
        """Write the config map that describes it, under the key ``mine``."""
        marks = f"{{workflows.argoproj.io/default-artifact-repository: {annotation}}}"
        return f"""
apiVersion: v1
kind: ConfigMap
metadata: {{name: {name}, annotations: {marks if annotation else "{}"}}}
data:
  mine: |
    archiveLogs: true
    s3:
      endpoint: {self.endpoint}
      bucket: {self.name}
      insecure: true
      keyFormat: "{{{{workflow.creationTimestamp.Y}}}}/{{{{workflow.name}}}}/{{{{pod.name}}}}"
      accessKeySecret: {{name: s3, key: access}}
      secretKeySecret: {{name: s3, key: secret}}
---
"""


@pytest.fixture(scope="module")
def s3_endpoint() -> Iterator[str]:
    server_module = pytest.importorskip("moto.server", reason="moto is not installed")
    pytest.importorskip("obstore", reason="obstore is not installed")
    server = server_module.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"{host}:{port}"
    server.stop()


@pytest.fixture
def bucket(s3_endpoint: str, tmp_path: Path) -> Bucket:
    made = Bucket(s3_endpoint, re.sub("[^a-z0-9]", "", tmp_path.name.lower())[-60:] + "0")
    made.request("PUT")
    return made


@pytest.fixture
def tiphys(tmp_path: Path) -> Tiphys:
    return Tiphys(tmp_path)


def flow(tmp_path: Path, ref: str = "", gc: str = "") -> str:
    return FLOW % {"folder": tmp_path / "work", "ref": ref, "gc": gc}


def outputs(workflow: dict[str, Any], node: str) -> dict[str, dict[str, Any]]:
    nodes = workflow["status"]["nodes"].values()
    found = next(each for each in nodes if each["displayName"] == node)
    return {each["name"]: each for each in found["outputs"]["artifacts"]}


def wait_until(is_so: Any) -> None:
    end = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < end, "it never came to be"
        time.sleep(0.05)


# --- the whole way ------------------------------------------------------------------------


def test_artifacts_logs_and_garbage_of_a_repository_that_the_workflow_names(
    tiphys: Tiphys, bucket: Bucket, tmp_path: Path
) -> None:
    ref = "artifactRepositoryRef: {configMap: elsewhere, key: mine}"

    ended = tiphys.run(SECRET + bucket.config_map("elsewhere") + flow(tmp_path, ref))
    made = outputs(ended, "make")
    year = ended["metadata"]["creationTimestamp"][:4]
    folder = made["third"]["s3"]["key"].rpartition("/")[0]

    assert ended["status"]["phase"] == "Succeeded"
    assert re.fullmatch(rf"{year}/flow/flow-make-\d+", folder)
    assert [name for name, each in made.items() if each.get("deleted")] == ["first"]
    assert made["main-logs"]["s3"]["bucket"] == bucket.name
    read_log = outputs(ended, "read")["main-logs"]["s3"]["key"]
    kept = [f"{folder}/b", f"{folder}/main.log", f"{folder}/third.tgz", read_log]
    assert bucket.keys() == sorted(kept)

    # Where the attempts' own files are gone, the archived logs serve.
    for attempt in (tiphys.data / "attempts").glob("*/*"):
        for file in attempt.iterdir():
            file.unlink()
        attempt.rmdir()
    assert tiphys("logs", "flow", "make").stdout == "made\n"
    assert tiphys("logs", "flow", "read").stdout == "1\n"

    assert tiphys("delete", "flow").stdout == "flow deleted\n"
    assert bucket.keys() == [f"{folder}/third.tgz"]
    assert tiphys("list", "-o", "name").stdout == ""


def test_the_config_map_of_the_namespace_counts_without_a_reference(
    tiphys: Tiphys, bucket: Bucket, tmp_path: Path
) -> None:
    ended = tiphys.run(SECRET + bucket.config_map(annotation="mine") + flow(tmp_path))

    assert ended["status"]["phase"] == "Succeeded"
    assert outputs(ended, "make")["second"]["s3"]["bucket"] == bucket.name
    assert len(bucket.keys()) == 4


def test_a_reference_that_leads_nowhere_is_an_error(tiphys: Tiphys, tmp_path: Path) -> None:
    ended = tiphys.run(flow(tmp_path, "artifactRepositoryRef: {key: mine}"))

    assert ended["status"]["phase"] == "Error"
    assert "artifact-repositories" in ended["status"]["message"]


def test_the_local_repository_has_a_key_format_and_garbage_too(tmp_path: Path) -> None:
    settings = (
        "artifactRepository:\n  archiveLogs: true\n"
        "  local: {keyFormat: 'kept/{{workflow.name}}/{{workflow.uid}}'}\n"
    )
    tiphys = Tiphys(tmp_path, settings)

    ended = tiphys.run(flow(tmp_path))
    made = outputs(ended, "make")
    uid = ended["metadata"]["uid"]
    stored = tiphys.data / "artifacts" / "default" / "kept" / "flow" / uid

    assert made["third"]["local"]["key"] == f"kept/flow/{uid}/third.tgz"
    assert made["first"]["deleted"]
    assert sorted(os.listdir(stored)) == ["b", "main.log", "third.tgz%tgz"]
    assert tiphys("delete", "flow").returncode == 0
    assert sorted(os.listdir(stored)) == ["third.tgz%tgz"]


@pytest.mark.parametrize(
    ("workflow", "template", "kept"),
    [("null", "null", False), ("true", "null", True), ("true", "false", False)],
)
def test_logs_are_archived_as_workflow_and_template_say(
    tiphys: Tiphys, workflow: str, template: str, kept: bool
) -> None:
    ended = tiphys.run(f"""
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {{name: wf}}
spec:
  entrypoint: main
  archiveLogs: {workflow}
  templates:
  - name: main
    archiveLocation: {{archiveLogs: {template}}}
    container: {{image: any, command: [echo, hi]}}
""")

    (node,) = ended["status"]["nodes"].values()
    assert [each["name"] for each in node["outputs"].get("artifacts", [])] == ["main-logs"] * kept


def test_what_a_killed_process_left_half_stored_is_swept(tiphys: Tiphys, tmp_path: Path) -> None:
    staging = tiphys.data / "artifacts" / ".staging"
    (staging / "left" / "below").mkdir(parents=True)

    tiphys.run(flow(tmp_path))

    assert os.listdir(staging) == []


# --- when it does not work ----------------------------------------------------------------


def test_what_cannot_be_deleted_is_told_and_keeps_the_workflow(
    tiphys: Tiphys, bucket: Bucket, tmp_path: Path
) -> None:
    # The secret goes at the end of the workflow: nothing can be deleted without it.
    secret = tiphys.data / "secrets" / "default" / "s3.json"
    text = SECRET + bucket.config_map(annotation="mine") + flow(tmp_path)
    ended = tiphys.run(text)
    assert ended["status"]["phase"] == "Succeeded"
    before = bucket.keys()
    saved = secret.read_bytes()
    secret.unlink()

    refused = tiphys("delete", "flow")
    assert refused.returncode != 0
    assert "flow is not deleted: artifacts could not be deleted" in refused.stderr
    conditions = {each["type"]: each for each in tiphys.get("flow")["status"]["conditions"]}
    assert "secret s3 has no key access" in conditions["ArtifactGCError"]["message"]
    assert bucket.keys() == before

    secret.write_bytes(saved)
    assert tiphys("delete", "flow").returncode == 0
    assert len(bucket.keys()) == 1


def test_what_cannot_be_deleted_at_the_end_does_not_change_how_the_workflow_ended(
    tiphys: Tiphys, bucket: Bucket, tmp_path: Path
) -> None:
    url = f"http://{bucket.endpoint}/{bucket.name}/page"
    (tmp_path / "web.yaml").write_text(f"""
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {{name: web}}
spec:
  entrypoint: main
  artifactGC: {{strategy: OnWorkflowCompletion}}
  templates:
  - name: main
    container: {{image: any, command: [sh, -c, "mkdir -p {tmp_path}/w; echo 1 > {tmp_path}/w/p"]}}
    outputs:
      artifacts:
      - {{name: page, path: {tmp_path}/w/p, http: {{url: "{url}"}}}}
      - {{name: plain, path: {tmp_path}/w/p}}
""")

    done = tiphys("run", "-q", "-o", "json", "web.yaml")
    ended = json.loads(done.stdout)
    conditions = {each["type"]: each for each in ended["status"]["conditions"]}

    assert (done.returncode, ended["status"]["phase"]) == (0, "Succeeded")
    assert "page" in conditions["ArtifactGCError"]["message"]
    assert "http artifacts cannot be deleted" in done.stderr
    made = outputs(ended, "web")
    assert made["plain"]["deleted"]
    assert "deleted" not in made["page"]


@pytest.mark.parametrize(
    ("gc", "words"), [(", forceFinalizerRemoval: true", ()), ("", ("--force",))]
)
def test_a_workflow_goes_without_its_artifacts_where_that_is_wanted(
    tiphys: Tiphys, bucket: Bucket, tmp_path: Path, gc: str, words: tuple[str, ...]
) -> None:
    tiphys.run(SECRET + bucket.config_map(annotation="mine") + flow(tmp_path, gc=gc))
    (tiphys.data / "secrets" / "default" / "s3.json").unlink()

    done = tiphys("delete", "flow", *words)

    assert done.returncode == 0
    assert tiphys("list", "-o", "name").stdout == ""
    assert len(bucket.keys()) == 4


# --- a crash in between -------------------------------------------------------------------


@pytest.fixture
def own_server() -> Iterator[tuple[str, int]]:
    """Start an S3 server that can be made to stand still; give its address and process id."""
    pytest.importorskip("moto.server", reason="moto is not installed")
    pytest.importorskip("obstore", reason="obstore is not installed")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )

    def answers() -> bool:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return True
        return False

    try:
        wait_until(answers)
        yield f"127.0.0.1:{port}", process.pid
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGINT])
def test_garbage_is_not_forgotten_when_the_process_ends_before_it_is_gone(
    own_server: tuple[str, int], tmp_path: Path, sent: signal.Signals
) -> None:
    endpoint, pid = own_server
    bucket = Bucket(endpoint, "crash")
    bucket.request("PUT")
    tiphys = Tiphys(tmp_path, "isolation: process\n")
    # The workflow's own last step makes the server stand still, so that the collection hangs.
    halt = f"""
  onExit: halt
  templates:
  - name: halt
    archiveLocation: {{archiveLogs: false}}
    container: {{image: any, command: [sh, -c, "kill -STOP {pid}"]}}
"""
    text = flow(tmp_path).replace("\n  templates:\n", halt, 1)
    config_map = bucket.config_map(annotation="mine").replace("archiveLogs: true", "")
    (tmp_path / "flow.yaml").write_text(SECRET + config_map + text)

    process = tiphys.start("run", "-q", "flow.yaml")
    try:
        wait_until(lambda: _phase(tiphys) == "Succeeded" or process.poll() is not None)
        assert process.poll() is None, process.communicate()
        process.send_signal(sent)
        process.communicate(timeout=PATIENCE)
    finally:
        os.kill(pid, signal.SIGCONT)
    assert "deleted" not in outputs(tiphys.get("flow"), "make")["first"]

    server = tiphys.start("server", "--port", "0")
    try:
        wait_until(lambda: len(bucket.keys()) == 2)
        wait_until(lambda: outputs(tiphys.get("flow"), "make")["first"].get("deleted", False))
    finally:
        server.send_signal(signal.SIGTERM)
        server.communicate(timeout=60)


def test_a_deletion_that_was_begun_is_finished_by_the_next_process(
    own_server: tuple[str, int], tmp_path: Path
) -> None:
    endpoint, pid = own_server
    bucket = Bucket(endpoint, "crash")
    bucket.request("PUT")
    tiphys = Tiphys(tmp_path)
    tiphys.run(SECRET + bucket.config_map(annotation="mine") + flow(tmp_path))

    os.kill(pid, signal.SIGSTOP)
    try:
        process = tiphys.start("delete", "flow")
        wait_until(lambda: _is_being_deleted(tiphys) or process.poll() is not None)
        assert process.poll() is None, process.communicate()
        process.kill()
        process.communicate()
    finally:
        os.kill(pid, signal.SIGCONT)
    assert tiphys("list", "-o", "name").stdout == "flow\n"

    server = tiphys.start("server", "--port", "0")
    try:
        wait_until(lambda: tiphys("list", "-o", "name").stdout == "")
    finally:
        server.send_signal(signal.SIGTERM)
        server.communicate(timeout=60)
    assert len(bucket.keys()) == 1


def test_a_server_collects_garbage_of_what_is_submitted_to_it(
    tiphys: Tiphys, tmp_path: Path
) -> None:
    (tmp_path / "flow.yaml").write_text(flow(tmp_path))
    server = tiphys.start("server", "--port", "0")
    stored = tiphys.data / "artifacts" / "default" / "flow"
    try:
        wait_until((tiphys.data / "door").exists)
        assert tiphys("submit", "--wait", "flow.yaml").returncode == 0
        wait_until(lambda: outputs(tiphys.get("flow"), "make")["first"].get("deleted", False))
        assert sorted(each.name for each in stored.glob("*/*")) == ["b", "third.tgz%tgz"]

        assert tiphys("delete", "flow").returncode == 0
        assert sorted(each.name for each in stored.glob("*/*")) == ["third.tgz%tgz"]
    finally:
        server.send_signal(signal.SIGTERM)
        server.communicate(timeout=60)


def _is_being_deleted(tiphys: Tiphys) -> bool:
    with Store.open(tiphys.data, owner=False) as store:
        return any(b"deleting" in mark.body for mark in store.objects("ArtifactGC"))


def _phase(tiphys: Tiphys) -> str:
    try:
        with Store.open(tiphys.data, owner=False) as store:
            return store.workflow("flow").phase
    except Exception:  # Not there yet.
        return ""
