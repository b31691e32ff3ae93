"""The command as people use it: real processes, a real store, the examples, and a real terminal."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
FAILING = {"exit-handler"}
ALONE = sorted(
    path.stem
    for path in EXAMPLES.glob("*.yaml")
    if path.stem != "template-library" and not path.stem.startswith("jobflow")
)
"""Flows have a status of another shape: test_jobflow.py runs them."""
LONG = """
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: long}
spec:
  entrypoint: main
  onExit: bye
  templates:
  - name: main
    container: {image: x, command: [sh, -c, "echo begun; sleep 300"]}
  - name: bye
    container: {image: x, command: [echo, bye]}
"""


class Tiphys:
    """The command with a data directory of its own."""

    def __init__(self, folder: Path) -> None:
        config = folder / "tiphys.yaml"
        config.write_text("lingerSeconds: 0.1\n")
        self.folder = folder
        self.environment = {
            **os.environ,
            "HOME": str(folder),
            "TIPHYS_DATA_DIR": str(folder / "data"),
            "TIPHYS_CONFIG": str(config),
            "TERM": "xterm",
        }

    def arguments(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "tiphys", *words]

    def __call__(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.arguments(*words),
            capture_output=True,
            text=True,
            env=self.environment,
            cwd=self.folder,
            timeout=120,
            check=False,
        )


@pytest.fixture
def tiphys(tmp_path: Path) -> Tiphys:
    return Tiphys(tmp_path)


@pytest.mark.parametrize("name", ALONE)
def test_an_example_runs(name: str, tiphys: Tiphys) -> None:
    files = [str(EXAMPLES / f"{name}.yaml")]
    if name == "template-ref":
        files.insert(0, str(EXAMPLES / "template-library.yaml"))

    done = tiphys("run", "-q", "-o", "json", *files)

    phase = json.loads(done.stdout)["status"]["phase"]
    assert (phase, done.returncode) == (("Failed", 1) if name in FAILING else ("Succeeded", 0))


def test_a_run_is_found_again_by_list_get_logs_and_delete(tiphys: Tiphys) -> None:
    ran = tiphys(
        "run", "-o", "name", "--name", "first", str(EXAMPLES / "hello.yaml"), "-p", "who=x"
    )
    assert ran.stdout == "first\n"

    assert tiphys("list", "-o", "name").stdout == "first\n"
    assert "✔ first" in tiphys("get", "@latest").stdout
    assert json.loads(tiphys("get", "first", "-o", "json").stdout)["metadata"]["name"] == "first"
    assert tiphys("logs", "first").stdout == "first: hello, x\n"
    assert tiphys("logs", "-f", "first", "--tail", "1").stdout == "first: hello, x\n"
    other = tiphys("logs", "first", "-c", "other")
    assert (other.returncode, "there are: main" in other.stderr) == (1, True)
    assert tiphys("delete", "first").stdout == "first deleted\n"
    assert tiphys("list", "-o", "name").stdout == ""
    assert not list((tiphys.folder / "data/attempts").glob("*"))


def test_several_workflows_are_printed_as_a_list(tiphys: Tiphys) -> None:
    files = [str(EXAMPLES / f"{name}.yaml") for name in ("hello", "conditional")]

    done = tiphys("run", "-q", "-o", "json", *files)

    listed = json.loads(done.stdout)
    assert listed["kind"] == "List"
    assert [item["kind"] for item in listed["items"]] == ["Workflow"] * 2


def test_the_lines_of_tasks_are_data_unless_something_else_is(tiphys: Tiphys) -> None:
    hello = str(EXAMPLES / "hello.yaml")

    assert tiphys("run", "--log", "--name", "a", hello).stdout == "a: hello, world\n"
    with_name = tiphys("run", "--log", "-o", "name", "--name", "b", hello)
    assert with_name.stdout == "b\n"
    assert "b: hello, world\n" in with_name.stderr


def test_a_workflow_comes_from_stdin(tiphys: Tiphys) -> None:
    done = subprocess.run(
        tiphys.arguments("run", "-q", "-o", "name", "--name", "piped", "-"),
        input=(EXAMPLES / "hello.yaml").read_bytes(),
        capture_output=True,
        env=tiphys.environment,
        cwd=tiphys.folder,
        timeout=60,
        check=False,
    )

    assert (done.stdout, done.returncode) == (b"piped\n", 0)


def test_an_interrupt_stops_the_workflow_and_runs_its_exit_handler(tiphys: Tiphys) -> None:
    (tiphys.folder / "long.yaml").write_text(LONG)
    process = subprocess.Popen(
        tiphys.arguments("run", "--log", "-o", "json", "long.yaml"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=tiphys.environment,
        cwd=tiphys.folder,
    )
    assert process.stderr is not None
    _read_until(process.stderr, "long: begun")

    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)

    assert process.returncode == 130
    phases = {n["name"]: n["phase"] for n in json.loads(out)["status"]["nodes"].values()}
    assert phases["long.onExit"] == "Succeeded"
    assert phases["long"] in {"Failed", "Error"}
    assert "stopping" in err


def test_a_third_interrupt_leaves_a_workflow_whose_end_is_out_of_reach(tiphys: Tiphys) -> None:
    place = {
        "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:9"}}],
        "users": [{"name": "u", "user": {}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
    }
    (tiphys.folder / "nowhere").write_text(json.dumps(place))
    process = subprocess.Popen(
        tiphys.arguments(
            "run", "--scheduler", "k8s-native", "--name", "far", str(EXAMPLES / "hello.yaml")
        ),
        stderr=subprocess.PIPE,
        text=True,
        env={**tiphys.environment, "KUBECONFIG": str(tiphys.folder / "nowhere")},
        cwd=tiphys.folder,
    )
    assert process.stderr is not None
    for told in ("far Running", "stopping", "terminating; once more leaves it"):
        _read_until(process.stderr, told)
        process.send_signal(signal.SIGINT)

    _, err = process.communicate(timeout=60)

    assert (process.returncode, "Traceback" in err) == (130, False)


def _read_until(lines: Iterator[str], text: str) -> None:
    for line in lines:
        if text in line:
            return
    raise AssertionError(f"no {text!r}")


def test_on_a_terminal_the_tree_is_shown_and_the_terminal_is_left_as_it_was(
    tiphys: Tiphys,
) -> None:
    terminal, end = pty.openpty()
    process = subprocess.Popen(
        tiphys.arguments("run", "--name", "ship", str(EXAMPLES / "conditional.yaml")),
        stdin=end,
        stdout=end,
        stderr=end,
        env=tiphys.environment,
        cwd=tiphys.folder,
    )
    os.close(end)

    shown = _read_all(terminal)

    assert process.wait(timeout=60) == 0
    assert "ship" in shown
    assert "look" in shown
    assert "Succeeded" in shown
    assert shown.count("\x1b[?25l") == shown.count("\x1b[?25h") == 1


def _read_all(terminal: int) -> str:
    found = b""
    while True:
        ready, _, _ = select.select([terminal], [], [], 60)
        assert ready, found
        try:
            data = os.read(terminal, 65536)
        except OSError:  # Linux's way to say that the other end has gone
            data = b""
        if not data:
            os.close(terminal)
            return found.decode()
        found += data
