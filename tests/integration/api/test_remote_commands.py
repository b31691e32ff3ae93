"""The command line against a server elsewhere: everything goes through the client and the API."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.contract.api_server import ADMIN, ApiServer, flow, shell, steps


class Done(NamedTuple):
    code: int
    out: str
    err: str


class Shell:
    """A machine with nothing but the address of a server and a token."""

    def __init__(self, server: ApiServer, folder: Path, token: str) -> None:
        self.folder = folder
        kept = {key: value for key, value in os.environ.items() if not key.startswith("TIPHYS_")}
        self.environment = {
            **kept,
            "HOME": str(folder),
            "TIPHYS_DATA_DIR": str(folder / "nothing-here"),
            "TIPHYS_SERVER": f"http://127.0.0.1:{server.port}",
            "TIPHYS_TOKEN": token,
        }

    def run(self, *words: str, **environment: str) -> Done:
        done = subprocess.run(
            [sys.executable, "-m", "tiphys", *words],
            env={**self.environment, **environment},
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert not (self.folder / "nothing-here").exists(), "it worked on a store of its own"
        return Done(done.returncode, done.stdout, done.stderr)

    def ok(self, *words: str) -> str:
        done = self.run(*words)
        assert done.code == 0, done
        return done.out

    def submit(self, text: str, *words: str) -> str:
        (self.folder / "w.yaml").write_text(text)
        return self.ok("submit", "w.yaml", *words).strip()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    with ApiServer(tmp_path_factory.mktemp("remote")) as server:
        assert server.post("/projects", {"id": "argonauts"}).status == 201
        yield server


@pytest.fixture
def here(server: ApiServer, tmp_path: Path) -> Shell:
    return Shell(server, tmp_path, server.make_token("member", "argonauts"))


@pytest.fixture
def admin(server: ApiServer, tmp_path: Path) -> Shell:
    return Shell(server, tmp_path, ADMIN)


def test_a_workflow_is_submitted_awaited_shown_and_read(server: ApiServer, here: Shell) -> None:
    name = here.submit(steps(shell("a", "echo hello"), shell("b", "echo world >&2")), "-w")

    assert name.startswith("t-")
    assert name in here.ok("list").splitlines()[1]
    assert here.ok("list", "-o", "name").split() == [name]
    shown = here.ok("get", name)
    assert "Succeeded" in shown
    assert all(f"✔ {step}" in shown for step in ("a", "b"))
    assert sorted(line.split(": ")[1] for line in here.ok("logs", name).splitlines()) == [
        "hello",
        "world",
    ]
    assert "there are: main" in here.run("logs", name, "-c", "other").err
    found = json.loads(here.ok("get", "@latest", "-o", "json"))
    assert (found["metadata"]["name"], found["metadata"]["namespace"]) == (name, "argonauts")
    assert len(found["status"]["nodes"]) == 5


def test_what_is_shown_is_what_the_server_itself_shows(server: ApiServer, here: Shell) -> None:
    name = here.submit(steps(shell("a", "true"), shell("b", "false")))
    here.run("wait", name)
    local = {key: value for key, value in here.environment.items() if key != "TIPHYS_SERVER"}

    there = subprocess.run(
        [sys.executable, "-m", "tiphys", "get", name, "-n", "argonauts"],
        env={**local, "TIPHYS_DATA_DIR": str(server.data)},
        cwd=here.folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )

    assert here.ok("get", name) == there.stdout


def test_a_failure_is_an_exit_code(here: Shell) -> None:
    (here.folder / "w.yaml").write_text(flow("exit 3"))

    assert here.run("submit", "--wait", "w.yaml").code == 1
    name = here.ok("list", "--status", "Failed", "-o", "name").split()[0]
    assert here.run("wait", name).code == 1
    assert here.run("watch", name).code == 1


def test_parameters_labels_names_and_entrypoints_go_along(here: Shell) -> None:
    text = json.loads(flow("echo {{workflow.parameters.who}}"))
    text["spec"]["arguments"] = {"parameters": [{"name": "who", "value": "nobody"}]}
    text["spec"]["templates"].append(shell("other", "echo other-{{workflow.parameters.who}}"))
    words = ["-p", "who=jason", "-l", "team=crew", "--name", "chosen", "--entrypoint", "other"]

    name = here.submit(json.dumps(text), *words, "--priority", "7", "-w")

    assert name == "chosen"
    assert "other-jason" in here.ok("logs", name)
    assert here.ok("list", "-l", "team=crew", "-o", "name").split() == ["chosen"]
    assert json.loads(here.ok("get", name, "-o", "json"))["spec"]["priority"] == 7
    here.ok("delete", name)


def test_a_pause_is_explained_and_resumed_with_outputs(here: Shell) -> None:
    pause = {
        "name": "ask",
        "suspend": {},
        "outputs": {"parameters": [{"name": "verdict", "valueFrom": {"supplied": {}}}]},
    }
    name = here.submit(steps(pause))

    assert "ask" in here.ok("explain", name)
    assert here.ok("resume", name, "-p", "verdict=yes").strip() == f"{name} resumed"
    assert here.run("wait", name).code == 0
    assert "yes" in here.ok("get", name, "-o", "json")


def test_workflows_are_suspended_stopped_terminated_and_retried(here: Shell) -> None:
    name = here.submit(steps({"name": "ask", "suspend": {}}))

    assert here.ok("suspend", name).strip() == f"{name} suspended"
    assert "Suspended" in here.ok("list")
    assert here.ok("stop", name, "-m", "enough").strip() == f"{name} stopped"
    assert here.run("wait", name).code == 1
    assert "enough" in here.ok("get", name)
    assert here.ok("retry", name).strip() == f"{name} retried"
    assert here.ok("terminate", name).strip() == f"{name} terminated"
    assert here.run("stop", name).code == 1
    again = here.ok("resubmit", name).split()[0]
    assert again != name
    assert here.ok("terminate", again).strip() == f"{again} terminated"


def test_logs_are_followed_to_the_end(here: Shell) -> None:
    name = here.submit(steps(shell("a", "echo one; sleep 0.3; echo two"), shell("b", "echo three")))

    lines = here.ok("logs", "-f", name).splitlines()

    written = [line.split(": ")[1] for line in lines]
    assert sorted(written) == ["one", "three", "two"]
    assert written.index("one") < written.index("two")


def test_workflows_are_deleted(here: Shell) -> None:
    first, second = (
        here.submit(flow("true"), "-w"),
        here.submit(steps({"name": "p", "suspend": {}})),
    )

    refused = here.run("delete", second)
    assert refused.code == 1
    assert "has not ended" in refused.err
    assert first in here.ok("delete", "--all", "--dry-run")
    assert f"{first} deleted" in here.ok("delete", "--all")
    assert here.ok("delete", "--force", second).strip() == f"{second} deleted"
    assert here.run("get", first).code == 1


def test_a_flag_wins_over_the_variable(server: ApiServer, here: Shell) -> None:
    done = here.run(
        "list", "--server", f"http://127.0.0.1:{server.port}", TIPHYS_SERVER="http://127.0.0.1:1"
    )

    assert done.code == 0, done


def test_queues_are_made_shown_changed_and_deleted(server: ApiServer, admin: Shell) -> None:
    made = ["--capability", "cpu=2", "--weight", "3", "--fair", "--priority", "4", "--sla", "5m"]
    assert admin.ok("queue", "create", "rowers", *made) == "queue rowers created\n"
    assert admin.ok("queue", "update", "rowers", "--max-parallel", "2") == "queue rowers updated\n"
    admin.ok("queue", "close", "rowers")

    shown = json.loads(admin.ok("queue", "get", "rowers", "-o", "json"))

    wanted = {"weight": 3, "fair": True, "priority": 4, "slaSeconds": 300, "maxParallel": 2}
    assert {key: shown[key] for key in wanted} == wanted
    assert (shown["capability"], shown["effective"]) == ({"cpu": "2"}, "Closed")
    assert "rowers" in admin.ok("queue", "list", "-o", "wide")
    assert admin.run("queue", "create", "rowers").code == 1
    admin.ok("queue", "open", "rowers")
    assert admin.ok("queue", "delete", "rowers") == "queue rowers deleted\n"
    assert admin.run("queue", "get", "rowers").code == 1


def test_a_member_sees_queues_and_changes_none(here: Shell) -> None:
    assert "default" in here.ok("queue", "list", "-o", "name").split()

    for words in (["create", "mine"], ["update", "default", "--weight", "9"], ["close", "default"]):
        done = here.run("queue", *words)
        assert done.code == 1
        assert "role" in done.err


def test_a_copy_of_the_store_comes_whole_and_only_to_admins_of_all(
    server: ApiServer, here: Shell, admin: Shell
) -> None:
    name = here.submit(flow("true"), "-w")

    assert "bytes" in admin.ok("backup", "copy.db")

    with closing(sqlite3.connect(admin.folder / "copy.db")) as copy:
        found = copy.execute("SELECT phase FROM workflows WHERE name = ?", (name,)).fetchall()
    assert found == [("Succeeded",)]
    assert (admin.folder / "copy.db").stat().st_mode & 0o777 == 0o600
    assert "--force" in admin.run("backup", "copy.db").err
    assert here.run("backup", "mine.db").code == 1
    assert not (here.folder / "mine.db").exists()
    assert not list(server.data.glob("backup-*"))


def test_mistakes_are_told_with_lines(here: Shell) -> None:
    (here.folder / "w.yaml").write_text(flow("true").replace("entrypoint", "entrypont"))

    done = here.run("submit", "w.yaml")

    assert done.code == 2
    assert done.err.startswith("w.yaml:1:")
    assert "entrypoint" in done.err


def test_without_a_token_or_with_a_wrong_one_nothing_is_done(here: Shell) -> None:
    missing = here.run("list", TIPHYS_TOKEN="")
    wrong = here.run("list", TIPHYS_TOKEN="wrong")

    assert (missing.code, wrong.code) == (2, 1)
    assert "TIPHYS_TOKEN" in missing.err
    assert "token" in wrong.err


def test_a_server_that_is_not_there_is_told(here: Shell) -> None:
    done = here.run("list", TIPHYS_SERVER="http://127.0.0.1:1")

    assert done.code == 1
    assert "http://127.0.0.1:1" in done.err


def test_tokens_are_made_listed_and_revoked(server: ApiServer, admin: Shell) -> None:
    words = ["--role", "viewer", "--project", "argonauts", "--expires", "1d"]

    secret = admin.ok("token", "create", "ci", *words).strip()

    who = server.get("/whoami", token=secret).data
    assert (who["role"], who["project_id"]) == ("viewer", "argonauts")
    line = next(line for line in admin.ok("token", "list").splitlines() if "ci" in line.split())
    assert secret not in line
    assert admin.ok("token", "revoke", line.split()[0]).strip() == f"{line.split()[0]} revoked"
    assert server.get("/whoami", token=secret).status == 401


def test_an_end_that_cannot_be_makes_no_eternal_token(admin: Shell) -> None:
    before = admin.ok("token", "list")

    for expires in ("", "0s", "-5d", "nand", "99999h"):
        done = admin.run("token", "create", "ci", f"--expires={expires}")
        assert (done.code, done.out) == (2, ""), done
        assert "duration" in done.err or "3660d at most" in done.err

    assert admin.ok("token", "list") == before


def test_the_end_of_a_token_is_told_with_its_year(admin: Shell) -> None:
    made = admin.run("token", "create", "late", "--expires", "3000d")

    key = made.err.partition(":")[0]
    line = next(line for line in admin.ok("token", "list").splitlines() if key in line)
    until = line.split()[-1]
    assert f", until {until};" in made.err
    assert datetime.now(UTC) + timedelta(days=2999) < datetime.fromisoformat(until)


def test_a_list_of_tokens_holds_no_secrets_nor_room_for_them(admin: Shell) -> None:
    made = json.loads(admin.ok("token", "create", "shown", "-o", "json"))

    listed = json.loads(admin.ok("token", "list", "-o", "json"))

    (again,) = [each for each in listed if each["id"] == made["id"]]
    assert made.pop("token").startswith("tiphys_")
    assert again == made


def test_a_token_that_is_not_there_does_not_save_the_others(
    server: ApiServer, admin: Shell
) -> None:
    made = [json.loads(admin.ok("token", "create", name, "-o", "json")) for name in ("a", "b")]
    first, last = (each["id"] for each in made)

    done = admin.run("token", "revoke", first, "none", "", "admin", last, last)

    assert done.code == 1
    assert done.out == f"{first} revoked\n{last} revoked\n"
    said = done.err.splitlines()
    assert said[:2] == ["tiphys: there is no token 'none'", "tiphys: there is no token ''"]
    assert "TIPHYS_ADMIN_TOKEN" in said[2]
    assert [server.get("/whoami", token=each["token"]).status for each in made] == [401, 401]


def test_a_token_may_revoke_itself(admin: Shell) -> None:
    made = json.loads(admin.ok("token", "create", "own", "--role", "admin", "-o", "json"))

    done = admin.run("token", "revoke", made["id"], TIPHYS_TOKEN=made["token"])
    after = admin.run("token", "list", TIPHYS_TOKEN=made["token"])

    assert (done.code, after.code) == (0, 1)
    assert "the token is not known" in after.err


def test_a_member_makes_no_tokens(here: Shell) -> None:
    done = here.run("token", "create", "mine", "--project", "argonauts")

    assert done.code == 1
    assert "role" in done.err


def test_projects_are_made_listed_and_deleted(admin: Shell) -> None:
    assert admin.ok("project", "create", "colchis", "--name", "Far away").strip() == (
        "project colchis created"
    )
    assert "Far away" in admin.ok("project", "list")
    assert admin.ok("project", "delete", "colchis").strip() == "project colchis deleted"
    assert "colchis" not in admin.ok("project", "list", "-o", "name").split()


def test_tokens_of_the_local_server_need_no_address(tmp_path: Path) -> None:
    with ApiServer(tmp_path, environment={}) as server:
        local = {k: v for k, v in server.environment.items() if k != "TIPHYS_PORT"}

        done = subprocess.run(
            [sys.executable, "-m", "tiphys", "token", "list"],
            env=local,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    assert (done.returncode, done.stdout.split()[0]) == (0, "ID"), done.stderr
