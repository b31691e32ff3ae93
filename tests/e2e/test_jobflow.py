"""JobFlows and Volcano Jobs through the real command: order, policies, probes, gangs, and status.

The ten traps are places where the flows of Volcano's own controller go wrong
(docs/adr/0006-jobflow-control.md); each has a test here.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tiphys.testing.volcano import Document, flow, job, step, task, template, text

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
PATIENCE = 120.0


class Tiphys:
    """The command with a data directory of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data = folder / "data"
        self.configure()
        self.environment = {
            **os.environ,
            "HOME": str(folder),
            "TIPHYS_DATA_DIR": str(self.data),
            "TIPHYS_CONFIG": str(folder / "tiphys.yaml"),
            "TIPHYS_PORT": "0",
        }

    def configure(self, **more: Any) -> None:
        """Write the settings."""
        settings = {"lingerSeconds": 0.1, "allowHostPath": True, **more}
        (self.folder / "tiphys.yaml").write_text(json.dumps(settings))

    def __call__(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a command to its end."""
        return subprocess.run(
            [sys.executable, "-m", "tiphys", *words],
            capture_output=True,
            text=True,
            env=self.environment,
            cwd=self.folder,
            timeout=PATIENCE,
            check=False,
        )

    def begin(self, *words: str) -> subprocess.Popen[bytes]:
        """Start a command; what it says goes to a file."""
        with (self.folder / "said").open("wb") as said:
            return subprocess.Popen(
                [sys.executable, "-m", "tiphys", *words],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=said,
                env=self.environment,
                cwd=self.folder,
            )

    def serve(self) -> subprocess.Popen[bytes]:
        """Start a server and wait until it is ready."""
        server = self.begin("server")
        until = time.monotonic() + PATIENCE
        while "ready" not in (self.folder / "said").read_text():
            assert server.poll() is None
            assert time.monotonic() < until
            time.sleep(0.05)
        return server

    def write(self, *documents: Document, name: str = "flow.json") -> str:
        """Write documents into a file; give its name."""
        (self.folder / name).write_text(text(documents))
        return name

    def run(self, *documents: Document, words: Sequence[str] = ()) -> tuple[int, Document]:
        """Run documents to their end; give exit code and object."""
        done = self("run", "-q", "-o", "json", *words, self.write(*documents))
        assert done.stdout, done.stderr
        return done.returncode, json.loads(done.stdout)

    def refused(self, *documents: Document) -> str:
        """Have documents refused; give what was said."""
        done = self("run", "-q", self.write(*documents))
        assert (done.returncode, done.stdout) == (2, "")
        assert self("list", "-o", "name").stdout == "", "something was begun"
        return done.stderr

    def lines(self, name: str, *words: str) -> list[str]:
        """Give the lines of a run's logs."""
        return self("logs", name, *words).stdout.splitlines()


@pytest.fixture
def tiphys(tmp_path: Path) -> Tiphys:
    return Tiphys(tmp_path)


def one(name: str, script: str = "true", **spec: Any) -> Document:
    """Give a JobTemplate with one pod."""
    return template(name, task("t", script), **spec)


def states(found: Document) -> dict[str, str]:
    """Give the state of each Job of a flow."""
    return {each["name"]: each["state"] for each in found["status"]["jobStatusList"]}


def times(found: Document, name: str) -> tuple[datetime, datetime]:
    """Give when a Job of a flow began and ended."""
    (listed,) = [each for each in found["status"]["jobStatusList"] if each["name"] == name]
    return tuple(datetime.fromisoformat(listed[f"{x}Timestamp"]) for x in ("start", "end"))  # type: ignore[return-value]


def wait_for(path: Path) -> None:
    """Wait until a task has made a file."""
    until = time.monotonic() + PATIENCE
    while not path.exists():
        assert time.monotonic() < until, f"{path.name} did not appear"
        time.sleep(0.02)


def shared(folder: Path) -> Document:
    """Give what a pod needs to see a folder of this machine at /shared."""
    return {
        "container": {"volumeMounts": [{"name": "shared", "mountPath": "/shared"}]},
        "pod": {"volumes": [{"name": "shared", "hostPath": {"path": str(folder)}}]},
    }


# --- the diamond ------------------------------------------------------------------------------


def test_the_diamond_runs_in_order_with_upstreams_status(tiphys: Tiphys) -> None:
    done = tiphys("run", "-q", "-o", "json", str(EXAMPLES / "jobflow.yaml"))

    found = json.loads(done.stdout)
    names = [f"jobflow-{letter}" for letter in "abcde"]
    assert (done.returncode, found["kind"]) == (0, "JobFlow")
    assert found["status"]["state"] == {"phase": "Succeed"}
    assert sorted(found["status"]["completedJobs"]) == names
    assert sorted(found["status"]["conditions"]) == names
    assert found["status"]["conditions"]["jobflow-b"]["taskStatusCount"] == {
        "split": {"phase": {"Succeeded": 3}}
    }
    for before, after in ("ab", "bc", "bd", "ce", "de"):
        ended = times(found, f"jobflow-{before}")[1]
        assert ended <= times(found, f"jobflow-{after}")[0], f"{after} began before {before} ended"
    assert {"b.split-0: part 0", "b.split-1: part 1", "b.split-2: part 2"} <= set(
        tiphys.lines("jobflow")
    )


def test_the_example_with_control_flow_runs(tiphys: Tiphys) -> None:
    done = tiphys("run", "-q", "-o", "json", str(EXAMPLES / "jobflow-control.yaml"))

    name = "jobflow-control"
    found = json.loads(done.stdout)
    assert done.returncode == 0
    assert set(states(found)) == {
        f"{name}-{each}" for each in ("measure", "split-0", "split-1", "report")
    }
    assert sorted(tiphys.lines(name, "report")) == ["page 0", "page 1"]


# --- the ten traps ----------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["jobSpec", "spec"])
def test_trap_1_a_patch_is_laid_over_the_template(form: str, tiphys: Tiphys) -> None:
    command = ["sh", "-c", "echo patched"]
    change = {
        "tasks": [
            {
                "name": "t",
                "replicas": 2,
                "template": {"spec": {"containers": [{"name": "main", "command": command}]}},
            }
        ]
    }

    code, _ = tiphys.run(flow("f", [step("a", patch={form: change})]), one("a", "echo plain"))

    assert code == 0
    assert sorted(tiphys.lines("f")) == ["a.t-0: patched", "a.t-1: patched"]


def test_trap_2_an_aborted_job_fails_its_flow(tiphys: Tiphys) -> None:
    policy = [{"event": "PodFailed", "action": "AbortJob"}]

    code, found = tiphys.run(
        flow("f", [step("a"), step("b", "a")]), one("a", "exit 3", policies=policy), one("b")
    )

    assert code == 1
    assert found["status"]["state"]["phase"] == "Failed"
    assert found["status"]["terminatedJobs"] == ["f-a"]
    assert states(found) == {"f-a": "Aborted"}
    assert "unKnowJobs" not in found["status"]


def test_trap_3_siblings_of_a_failed_job_end_first_and_the_status_is_true(tiphys: Tiphys) -> None:
    code, found = tiphys.run(
        flow("f", [step("bad"), step("slow"), step("after", "bad")]),
        one("bad", "exit 1"),
        one("slow", "sleep 1; echo slow is done"),
        one("after"),
    )

    assert code == 1
    assert states(found) == {"f-bad": "Failed", "f-slow": "Completed"}
    assert found["status"]["failedJobs"] == ["f-bad"]
    assert found["status"]["completedJobs"] == ["f-slow"]
    assert tiphys.lines("f") == ["slow.t-0: slow is done"]


def test_trap_4_a_job_that_has_ended_never_runs_again(tiphys: Tiphys) -> None:
    steps = [step("a"), step("b", "a"), step("c", "b"), step("d", "c")]
    jobs = [one(name, f"echo {name}", ttlSecondsAfterFinished=0) for name in "abcd"]

    code, found = tiphys.run(flow("f", steps, jobRetainPolicy="retain"), *jobs)

    assert code == 0
    assert tiphys.lines("f") == ["a.t-0: a", "b.t-0: b", "c.t-0: c", "d.t-0: d"]
    assert [each["restartCount"] for each in found["status"]["jobStatusList"]] == [0] * 4


def test_trap_5_empty_flows_and_names_that_are_there_twice_are_errors(tiphys: Tiphys) -> None:
    twice = tiphys.refused(flow("f", [step("a"), step("a")]), one("a"))
    empty = tiphys.refused(flow("f", []))

    assert "flow.json:13:13: spec.flows[1].name: the step 'a' is there twice" in twice
    assert "spec.flows: a flow needs at least one step" in empty


def test_trap_6_a_run_keeps_what_it_was_submitted_with(tiphys: Tiphys, tmp_path: Path) -> None:
    place = tmp_path / "shared"
    place.mkdir()
    waits = "touch /shared/begun; until test -e /shared/go; do sleep 0.05; done"
    first = template("a", task("t", waits, **shared(place)))
    tiphys("template", "create", tiphys.write(first, one("b", "echo old"), name="templates.json"))
    steps = tiphys.write(flow("f", [step("a"), step("b", "a")]))
    server = tiphys.serve()
    try:
        assert tiphys("submit", steps).returncode == 0
        wait_for(place / "begun")
        changed = tiphys("template", "update", tiphys.write(one("b", "echo new"), name="new.json"))
        again = tiphys("submit", tiphys.write(flow("f", [step("b")]), name="again.json"))
        (place / "go").touch()
        waited = tiphys("wait", "f")
    finally:
        server.terminate()
        server.wait(PATIENCE)

    assert changed.stdout == "template b updated\n"
    assert "there is already a workflow named 'f'" in again.stderr
    assert waited.returncode == 0
    assert tiphys.lines("f") == ["b.t-0: old"]


def test_trap_7_a_cycle_is_an_error_that_shows_it(tiphys: Tiphys) -> None:
    said = tiphys.refused(flow("f", [step("a", "b"), step("b", "a")]), one("a"), one("b"))

    assert "steps wait for each other: a → b → a [cycle]" in said


def test_trap_8_names_that_are_too_long_are_errors_before_anything_starts(tiphys: Tiphys) -> None:
    said = tiphys.refused(flow("f" * 50, [step("s" * 20)]), one("s" * 20))

    assert f"the Job's name '{'f' * 50}-{'s' * 20}' is too long" in said


def test_trap_9_the_end_of_a_job_is_when_it_ended(tiphys: Tiphys) -> None:
    # b waits for a in the one place there is: its end is not its creation and its running time.
    tiphys.configure(capacity={"cpu": "1"})
    asks: Document = {"container": {"resources": {"requests": {"cpu": "1"}}}}
    jobs = [template(name, task("t", "sleep 2", **asks)) for name in ("a", "b")]

    code, found = tiphys.run(flow("f", [step("a"), step("b")]), *jobs)

    assert code == 0
    (first, second) = sorted(times(found, f"f-{name}")[1] for name in "ab")
    assert (second - first).total_seconds() >= 1
    phases = found["status"]["jobStatusList"][1]["runningHistories"]
    assert [each["state"] for each in phases] == ["Pending", "Running", "Completed"]
    assert phases[-1]["endTimestamp"] == found["status"]["jobStatusList"][1]["endTimestamp"]


def test_trap_10_a_flow_whose_jobs_end_at_once_ends_too(tiphys: Tiphys) -> None:
    code, found = tiphys.run(flow("f", [step("a"), step("b")]), one("a"), one("b"))

    assert code == 0
    assert found["status"]["state"]["phase"] == "Succeed"


# --- probes -----------------------------------------------------------------------------------

SERVER = """
import http.server
class Handler(http.server.BaseHTTPRequestHandler):
    asked = 0
    def do_GET(self):
        Handler.asked += 1
        ready = self.headers.get("X-Probe") == "yes" and Handler.asked > 2
        self.send_response(200 if ready or self.path != "/health" else 503)
        self.end_headers()
        print(self.path, ready, flush=True)
        self.server.over = self.path == "/quit"
    def log_message(self, *_): pass
server = http.server.HTTPServer(("0.0.0.0", PORT), Handler)
server.over = False
while not server.over:
    server.handle_request()
"""
LISTENER = """
import socket
server = socket.create_server(("0.0.0.0", PORT))
while server.accept()[0].recv(4) != b"quit":
    pass
print("over")
"""


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def python(name: str, source: str, port: int) -> Document:
    # Not the one of our environment: where that lies below /tmp, a sandbox has none of it.
    command = [os.path.realpath(sys.executable), "-c", source.replace("PORT", str(port))]
    return task(name, "", container={"command": command})


def test_a_step_starts_once_the_service_of_another_answers_well(tiphys: Tiphys) -> None:
    port = free_port()
    header = {"name": "X-Probe", "value": "yes"}
    asks = {"taskName": "serve", "path": "/health", "port": port, "httpHeader": header}
    client = "import urllib.request as u; print(u.urlopen('http://127.0.0.1:PORT/quit').status)"

    code, found = tiphys.run(
        flow("f", [step("a"), step("b", "a", probe={"httpGetList": [asks]})]),
        template("a", python("serve", SERVER, port)),
        template("b", python("ask", client, port)),
    )

    assert code == 0
    assert states(found) == {"f-a": "Completed", "f-b": "Completed"}
    assert tiphys.lines("f", "a") == [
        "/health False",
        "/health False",
        "/health True",
        "/quit False",
    ]
    assert tiphys.lines("f", "b") == ["200"]


def test_a_step_starts_once_a_port_of_another_takes_connections(tiphys: Tiphys) -> None:
    port = free_port()
    asks = {"taskName": "listen", "port": port}
    client = "import socket; socket.create_connection(('127.0.0.1', PORT)).sendall(b'quit')"

    code, _ = tiphys.run(
        flow("f", [step("a"), step("b", "a", probe={"tcpSocketList": [asks]})]),
        template("a", python("listen", LISTENER, port)),
        template("b", python("ask", client, port)),
    )

    assert code == 0
    assert tiphys.lines("f", "a") == ["over"]


def test_a_step_starts_once_the_pods_of_another_are_in_a_phase(
    tiphys: Tiphys, tmp_path: Path
) -> None:
    place = tmp_path / "shared"
    place.mkdir()
    waits = template(
        "a", task("t", "until test -e /shared/go; do sleep 0.05; done", **shared(place))
    )
    probe = {"taskStatusList": [{"taskName": "t", "phase": "Running"}]}

    code, found = tiphys.run(
        flow("f", [step("a"), step("b", "a", probe=probe)]),
        waits,
        template("b", task("t", "touch /shared/go", **shared(place))),
    )

    assert code == 0
    assert states(found) == {"f-a": "Completed", "f-b": "Completed"}


# --- policies ---------------------------------------------------------------------------------

ONE_FAILS = 'test "$VC_TASK_INDEX" = 0 && exit 4; exec sleep 60'


@pytest.mark.parametrize(
    ("action", "cause", "code", "phase", "retries"),
    [
        ("AbortJob", {"event": "PodFailed"}, 1, "Aborted", 0),
        ("AbortJob", {"exitCode": 4}, 1, "Aborted", 0),
        ("TerminateJob", {"events": ["PodFailed"]}, 1, "Terminated", 0),
        ("CompleteJob", {"exitCode": 4}, 0, "Completed", 0),
        ("RestartJob", {"event": "*"}, 1, "Failed", 2),
        ("RestartTask", {"event": "PodFailed"}, 1, "Failed", 2),
        ("RestartPod", {"exitCode": 4}, 1, "Failed", 2),
    ],
)
def test_a_policy_decides_what_a_failed_pod_means(
    action: str, cause: Document, code: int, phase: str, retries: int, tiphys: Tiphys
) -> None:
    policies = [{**cause, "action": action}]
    given = job("j", task("t", ONE_FAILS, 2), plugins={"env": []}, policies=policies, maxRetry=2)

    ended, found = tiphys.run(given)

    assert ended == code
    assert found["status"]["state"]["phase"] == phase
    assert found["status"]["retryCount"] == retries


def test_a_pod_that_failed_once_heals_its_job(tiphys: Tiphys) -> None:
    script = 'case "$TIPHYS_ATTEMPT_ID" in *.1) exit 1;; esac; echo healed'
    policies = [{"event": "PodFailed", "action": "RestartTask"}]

    code, found = tiphys.run(
        flow("f", [step("a")]), template("a", task("t", script), policies=policies)
    )

    assert code == 0
    (listed,) = found["status"]["jobStatusList"]
    assert (listed["state"], listed["restartCount"]) == ("Completed", 1)
    words = [each["state"] for each in listed["runningHistories"]]
    assert words == ["Pending", "Running", "Restarting", "Pending", "Running", "Completed"]


def test_a_retried_step_is_one_job_in_the_status(tiphys: Tiphys) -> None:
    script = 'case "$TIPHYS_ATTEMPT_ID" in *.1) exit 1;; esac'
    control = {"steps": {"a": {"retry": {"limit": 2}}}}

    code, found = tiphys.run(flow("f", [step("a")], control), one("a", script))

    assert code == 0
    assert found["status"]["completedJobs"] == ["f-a"]
    assert "failedJobs" not in found["status"]
    assert found["status"]["jobStatusList"][0]["restartCount"] == 1


# --- conditions and loops ---------------------------------------------------------------------


def test_the_result_of_a_job_decides_what_follows(tiphys: Tiphys) -> None:
    control = {
        "parameters": {"who": "eu"},
        "steps": {
            "yes": {"when": "{{tasks.ask.outputs.result}} == yes"},
            "no": {"when": "{{tasks.ask.outputs.result}} == no"},
            "each": {"for": {"items": ["x", "y"]}, "parameters": {"it": "{{item}}"}},
        },
    }
    steps = [step("ask"), step("yes", "ask"), step("no", "ask"), step("each", "yes")]

    code, found = tiphys.run(
        flow("f", steps, control),
        one("ask", "echo yes"),
        one("yes", "echo {{workflow.parameters.who}}"),
        one("no"),
        one("each", "echo {{inputs.parameters.it}}"),
    )

    assert code == 0
    assert sorted(states(found)) == ["f-ask", "f-each-0", "f-each-1", "f-yes"]
    assert tiphys.lines("f", "yes") == ["eu"]
    assert sorted(tiphys.lines("f", "f-each-0") + tiphys.lines("f", "f-each-1")) == ["x", "y"]


def test_a_step_is_repeated_until_its_condition_holds(tiphys: Tiphys, tmp_path: Path) -> None:
    place = tmp_path / "shared"
    place.mkdir()
    count = 'echo >> /shared/rounds; set -- $(wc -l < /shared/rounds); echo "$1"'
    until = {"until": "{{steps.run.outputs.result}} == 3", "limit": 9}

    code, found = tiphys.run(
        flow("f", [step("a")], {"steps": {"a": {"for": until}}}),
        template("a", task("t", count, **shared(place))),
    )

    assert code == 0
    assert found["status"]["completedJobs"] == ["f-a", "f-a-1", "f-a-2"]


def skip_without_sandbox(tiphys: Tiphys) -> None:
    """Leave a test out where tasks cannot have an /etc/hosts of their own."""
    probe = tiphys.write(job("probe", task("t", "true")), name="probe.json")
    if "no sandbox on this machine" in tiphys("run", "-q", "--runtime", "sandbox", probe).stderr:
        pytest.skip("no sandbox on this machine")


# --- plugins ----------------------------------------------------------------------------------


def test_replicas_know_their_index_and_find_each_other_by_name(tiphys: Tiphys) -> None:
    if not shutil.which("getent"):
        pytest.skip("getent is not on this machine")
    script = (
        'echo "$HOSTNAME is $VC_TASK_INDEX of $VC_WORKER_NUM"; '
        "for host in $(cat /etc/volcano/worker.host); do getent hosts $host; done; "
        "getent hosts j-worker-1 | cut -d' ' -f1"
    )
    given = job("j", task("worker", script, 2), plugins={"env": [], "svc": []})
    skip_without_sandbox(tiphys)

    code, _ = tiphys.run(given)

    first, second = tiphys.lines("j", "worker-0"), tiphys.lines("j", "worker-1")
    assert code == 0
    assert first[0] == "j-worker-0 is 0 of 2"
    assert second[0] == "j-worker-1 is 1 of 2"
    assert first[1:] == second[1:]
    addresses = [line.split()[0] for line in first[1:]]
    assert len(set(addresses[:2])) == 2
    assert addresses[2] == addresses[1]
    assert all(address.startswith("127.") for address in addresses)


def test_without_a_sandbox_the_machines_own_names_stay_as_they_are(tiphys: Tiphys) -> None:
    before = Path("/etc/hosts").read_bytes()
    script = "cat /etc/hosts > hosts; cmp hosts /etc/hosts; echo $VC_W_HOSTS"

    code, _ = tiphys.run(
        job("j", task("w", script, 2), plugins={"svc": []}), words=("--runtime", "process")
    )

    assert code == 0
    assert tiphys.lines("j", "w-0") == ["j-w-0.j,j-w-1.j"]
    assert Path("/etc/hosts").read_bytes() == before


def test_replicas_talk_to_each_other_by_name(tiphys: Tiphys) -> None:
    skip_without_sandbox(tiphys)
    port = free_port()
    server = (
        "import socket; s = socket.create_server(('j-server-0.j', PORT)); "
        "print(s.accept()[0].recv(9).decode())"
    )
    client = (
        "import socket, time\n"
        "for _ in range(600):\n"
        "    try:\n"
        "        socket.create_connection(('j-server-0.j', PORT)).sendall(b'hello')\n"
        "        break\n"
        "    except OSError:\n"
        "        time.sleep(0.1)\n"
    )

    code, _ = tiphys.run(
        job(
            "j", python("server", server, port), python("client", client, port), plugins={"svc": []}
        )
    )

    assert code == 0
    assert tiphys.lines("j", "server-0") == ["hello"]


# --- gangs ------------------------------------------------------------------------------------


def test_two_gangs_that_only_fit_one_after_the_other_never_mix(
    tiphys: Tiphys, tmp_path: Path
) -> None:
    place = tmp_path / "shared"
    place.mkdir()
    tiphys.configure(capacity={"cpu": "3"})
    more = shared(place)
    more["container"]["resources"] = {"requests": {"cpu": "1"}}
    waits = "echo NAME >> /shared/order; until test -e /shared/go; do sleep 0.05; done"
    jobs = [
        template(name, task("w", waits.replace("NAME", name), 2, **more)) for name in ("a", "b")
    ]
    run = tiphys.begin("run", "-q", tiphys.write(flow("f", [step("a"), step("b")]), *jobs))
    try:
        until = time.monotonic() + PATIENCE
        order = place / "order"
        while not (order.exists() and len(order.read_text().split()) == 2):
            assert time.monotonic() < until
            time.sleep(0.02)
        explained = tiphys("explain", "f").stdout
        (place / "go").touch()
        code = run.wait(PATIENCE)
    finally:
        run.kill()
        run.wait(PATIENCE)

    begun = order.read_text().split()
    second = {"a": "b", "b": "a"}[begun[0]]
    assert code == 0
    assert begun[0] == begun[1]
    assert begun[2:] == [second] * 2
    assert f"gang f.{second} is short by 1: 1 of 2 have room" in explained


# --- as people use it -------------------------------------------------------------------------


def test_pods_are_named_as_volcano_names_them(tiphys: Tiphys) -> None:
    tiphys.run(flow("f", [step("a")]), template("a", task("w", "echo $HOSTNAME", 2)))

    shown = tiphys("get", "f").stdout
    assert "f-a-w-0" in shown
    assert "f-a-w-1" in shown
    assert tiphys.lines("f", "f-a-w-1") == ["f-a-w-1"]
    assert sorted(tiphys.lines("f", "f-a")) == ["f-a-w-0", "f-a-w-1"]


def test_what_a_flow_waits_for_and_how_templates_fared_is_shown(
    tiphys: Tiphys, tmp_path: Path
) -> None:
    place = tmp_path / "shared"
    place.mkdir()
    waits = "touch /shared/begun; until test -e /shared/go; do sleep 0.05; done"
    tiphys.run(flow("first", [step("bad")]), one("bad", "exit 1"))
    given = tiphys.write(
        flow("f", [step("bad"), step("a"), step("b", "a")]),
        one("bad"),
        template("a", task("t", waits, **shared(place))),
        one("b"),
    )
    run = tiphys.begin("run", "-q", given)
    try:
        wait_for(place / "begun")
        shown = [line.split() for line in tiphys("get", "f").stdout.splitlines()]
        (place / "go").touch()
        code = run.wait(PATIENCE)
    finally:
        run.kill()
        run.wait(PATIENCE)

    assert code == 0
    assert ["b", "the", "end", "of", "a", "(Running)"] in shown
    (bad,) = [line for line in shown if line[:1] == ["f-bad"]]
    assert bad[-3:] == ["1", "of", "1"]


def test_a_failed_flow_is_retried_without_what_had_succeeded(
    tiphys: Tiphys, tmp_path: Path
) -> None:
    place = tmp_path / "shared"
    place.mkdir()
    flaky = "test -e /shared/fixed || exit 1; echo b"
    documents = (
        flow("f", [step("a"), step("b", "a"), step("c", "b")]),
        one("a", "echo a"),
        template("b", task("t", flaky, **shared(place))),
        one("c", "echo c"),
    )
    code, _ = tiphys.run(*documents)
    (place / "fixed").touch()
    tiphys.write(*documents)

    retried, waited = tiphys("retry", "f"), tiphys("wait", "f")
    found = json.loads(tiphys("get", "f", "-o", "json").stdout)

    assert (code, retried.returncode, waited.returncode) == (1, 0, 0)
    assert states(found) == {"f-a": "Completed", "f-b": "Completed", "f-c": "Completed"}
    assert tiphys.lines("f") == ["a.t-0: a", "b.t-0: b", "c.t-0: c"]


def test_a_flow_is_listed_resubmitted_and_deleted(tiphys: Tiphys) -> None:
    tiphys.run(flow("f", [step("a")]), one("a", "echo a"))

    again = tiphys("resubmit", "f").stdout.split()[0]
    assert tiphys("wait", again).returncode == 0
    assert again.startswith("f-")
    assert tiphys.lines(again) == ["a.t-0: a"]
    assert json.loads(tiphys("get", again, "-o", "json").stdout)["kind"] == "JobFlow"
    assert tiphys("list", "-o", "name").stdout.split() == [again, "f"]
    assert tiphys("delete", "f", again).returncode == 0
    assert tiphys("list", "-o", "name").stdout == ""


@pytest.mark.parametrize("word", ["stop", "terminate"])
def test_a_flow_under_way_can_be_ended(word: str, tiphys: Tiphys, tmp_path: Path) -> None:
    place = tmp_path / "shared"
    place.mkdir()
    waits = template("a", task("t", "touch /shared/begun; exec sleep 300", **shared(place)))
    run = tiphys.begin(
        "run", "-q", tiphys.write(flow("f", [step("a"), step("b", "a")]), waits, one("b"))
    )
    try:
        wait_for(place / "begun")
        told = tiphys(word, "f")
        run.wait(PATIENCE)
    finally:
        run.kill()
        run.wait(PATIENCE)

    found = json.loads(tiphys("get", "f", "-o", "json").stdout)
    assert told.returncode == 0
    assert found["status"]["state"]["phase"] == "Failed"
    assert states(found) == {"f-a": "Terminated"}


def test_a_flow_may_drop_the_files_of_its_jobs_once_it_succeeded(tiphys: Tiphys) -> None:
    good = flow("good", [step("a")], jobRetainPolicy="delete")
    bad = flow("bad", [step("b")], jobRetainPolicy="delete")
    jobs = one("a", "echo a"), one("b", "echo b; exit 1")

    done = tiphys("run", "-q", "--log", tiphys.write(good, bad, *jobs))

    kept = json.loads(tiphys("get", "good", "-o", "json").stdout)
    assert sorted(done.stdout.splitlines()) == ["bad.b.t-0: b", "good.a.t-0: a"]
    assert states(kept) == {"good-a": "Completed"}
    assert tiphys.lines("good") == []
    assert tiphys.lines("bad") == ["b.t-0: b"]
    assert len(list((tiphys.data / "attempts").iterdir())) == 1


def test_lint_and_simulate_know_the_templates_that_are_kept(tiphys: Tiphys) -> None:
    file = tiphys.folder / "flow.yaml"
    file.write_text(text([flow("f", [step("a"), step("b", "a")])]))
    templates = tiphys.folder / "templates.yaml"
    templates.write_text(text([one("a"), one("b")]))
    before = tiphys("lint", str(file))

    assert tiphys("template", "create", str(templates)).returncode == 0
    after, played = tiphys("lint", str(file)), tiphys("simulate", str(file), "-o", "json")

    assert (before.returncode, after.returncode) == (2, 0)
    assert "there is no JobTemplate 'a'" in before.stdout
    assert played.returncode == 0, played.stderr
    assert "f.b.t-0" in played.stdout


# --- many -------------------------------------------------------------------------------------


def _levels(count: int, width: int) -> Iterator[Document]:
    for number in range(count):
        before = [f"j{number - width}"] if number >= width else []
        yield step(f"j{number}", *before)


@pytest.mark.slow
def test_a_flow_of_a_thousand_jobs_ends(tiphys: Tiphys) -> None:
    control = {"steps": {f"j{number}": {"template": "true"} for number in range(1000)}}
    only = template("true", task("t", "", container={"command": ["/bin/true"]}))

    code, found = tiphys.run(
        flow("f", _levels(1000, 20), control), only, words=("--runtime", "process")
    )

    assert code == 0
    assert len(found["status"]["completedJobs"]) == 1000
    assert set(states(found).values()) == {"Completed"}
