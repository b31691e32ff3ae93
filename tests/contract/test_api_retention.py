"""What a server forgets in the course of time: a workflow's own time, ages, numbers, logs."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.contract.api_server import PATIENCE, ApiServer, flow

Ids = list[str]


@contextmanager
def serving(folder: Path, **retention: Any) -> Iterator[ApiServer]:
    """Run a server with these rules."""
    with ApiServer(folder, "--config", _settings(folder, retention)) as server:
        yield server


def _settings(folder: Path, retention: dict[str, Any]) -> str:
    path = folder / "rules.yaml"
    settings = {"isolation": "process", "lingerSeconds": 0.5, "retention": retention}
    path.write_text(json.dumps(settings))
    return str(path)


def wait_for(true: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end, what
        time.sleep(0.05)


def listed(server: ApiServer) -> Ids:
    return [each["id"] for each in server.get("/workflows").data]


def with_ttl(text: str, **seconds: int) -> str:
    workflow = json.loads(text)
    workflow["spec"]["ttlStrategy"] = seconds
    return json.dumps(workflow)


def test_a_workflow_is_forgotten_when_its_own_time_has_come(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        soon = server.submit(with_ttl(flow("echo hi"), secondsAfterSuccess=0))
        late = server.submit(with_ttl(flow("echo hi"), secondsAfterSuccess=3600))
        never = server.submit(with_ttl(flow("echo hi"), secondsAfterFailure=0))
        failed = server.submit(with_ttl(flow("false"), secondsAfterCompletion=0))
        kept = server.submit(flow("echo hi"))
        for each in (late, never, kept):
            server.wait(each)

        wait_for(lambda: not {soon, failed} & set(listed(server)), "the end of both")

        assert set(listed(server)) == {late, never, kept}
        attempts = {path.name for path in (server.data / "attempts").iterdir()}
        assert attempts == {each.removeprefix("wf-") for each in (late, never, kept)}


def test_a_workflows_own_time_holds_after_a_restart(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        made = server.submit(with_ttl(flow("true"), secondsAfterCompletion=2))
        server.wait(made)

        server.restart()

        wait_for(lambda: made not in listed(server), "its end")


def test_what_ended_long_ago_goes_by_age(tmp_path: Path) -> None:
    with serving(tmp_path, succeeded="1s") as server:
        good, bad = server.submit(flow("true")), server.submit(flow("false"))
        server.wait(bad)

        server.restart()  # It looks at once; else every half a minute.
        wait_for(lambda: good not in listed(server), "the end of what succeeded")

        assert listed(server) == [bad]


def test_only_so_many_are_kept_and_they_are_the_latest(tmp_path: Path) -> None:
    with serving(tmp_path, count=2) as server:
        made = []
        for _ in range(4):
            made.append(server.submit(flow("true")))
            server.wait(made[-1])
        running = server.submit(flow("sleep 600"))

        server.restart()
        wait_for(lambda: len(listed(server)) == 3, "the end of two")

        assert set(listed(server)) == {*made[-2:], running}
        server.post(f"/workflows/{running}/terminate", {})
        server.wait(running)


def test_logs_go_before_the_record_and_what_is_left_is_the_archive(tmp_path: Path) -> None:
    with serving(tmp_path, logs="1s") as server:
        made = server.submit(flow("echo hello"))
        server.wait(made)
        folder = server.data / "attempts" / made.removeprefix("wf-")
        before = folder.is_dir()

        server.restart()
        wait_for(lambda: not folder.exists(), "the end of the logs")
        archived = server.ask("GET", f"/argo/api/v1/archived-workflows/{made.removeprefix('wf-')}")

        assert before
        assert server.get(f"/workflows/{made}").data["status"] == "succeeded"
        assert archived.status == 200
        assert archived.body["status"]["phase"] == "Succeeded"


def test_logs_that_were_archived_are_read_once_their_files_are_gone(tmp_path: Path) -> None:
    with serving(tmp_path, logs="1s") as server:
        text = json.loads(flow("echo hello; echo world"))
        text["spec"]["archiveLogs"] = True
        made = server.submit(json.dumps(text))
        node = server.wait(made)["nodes"][-1]["id"]
        folder = server.data / "attempts" / made.removeprefix("wf-")
        before = folder.is_dir()

        server.restart()
        wait_for(lambda: not folder.exists(), "the end of the logs")
        output = server.get(f"/workflows/{made}/nodes/{node}/output").data
        lines = server.get(f"/workflows/{made}/nodes/{node}/logs").raw.splitlines()

        assert before
        assert (output["stdout"], output["exit_code"]) == ("hello\nworld\n", 0)
        assert [json.loads(line)["text"] for line in lines] == ["hello", "world"]


def test_a_rule_that_cannot_be_read_is_told_at_the_start(tmp_path: Path) -> None:
    server = ApiServer(tmp_path, "--config", _settings(tmp_path, {"failed": "soon", "count": -1}))
    code = server.process.wait(PATIENCE)
    server.stop()

    assert code == 2
    assert "retention.failed" in server.said
    assert "retention.count" in server.said
