"""Hera and Argo's generated SDK, as published, against our server."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from tests.contract.argo_server import ADMIN, ArgoServer

HERE = Path(__file__).parent


def done(server: ArgoServer, python: Path, what: str) -> dict[str, Any]:
    """Have the clients do something and give what they tell."""
    environment = {
        "HOST": f"http://127.0.0.1:{server.port}",
        "TOKEN": ADMIN,
        "PATH": os.environ["PATH"],
        "HOME": os.environ.get("HOME", "/"),
    }
    script = HERE / f"{what.split('_', maxsplit=1)[0]}_client.py"
    command = [str(python), str(script), what]
    answer = subprocess.run(
        command, capture_output=True, text=True, check=False, env=environment, timeout=120
    )
    assert answer.returncode == 0, answer.stderr
    found: dict[str, Any] = json.loads(answer.stdout.splitlines()[-1])
    return found


def test_hera_lints_runs_and_waits_and_gets_an_artifact(server: ArgoServer, python: Path) -> None:
    found = done(server, python, "hera_runs_a_workflow")

    assert found["phase"] == "Succeeded"
    # Bytes as Python shows them: in which quotes depends on what is among them.
    assert found["kept"][:2] in ("b'", 'b"')
    assert found["kept"][2:].startswith("\\x1f\\x8b")


def test_hera_lists_suspends_stops_resubmits_and_deletes(server: ArgoServer, python: Path) -> None:
    found = done(server, python, "hera_lists_and_steers")

    assert found["listed"] == ["steered"]
    assert server.ended(found["again"])["status"]["phase"] == "Failed"
    assert server.ask("GET", "/api/v1/workflows/default/steered").status == 404


def test_hera_creates_updates_runs_and_deletes_templates(server: ArgoServer, python: Path) -> None:
    found = done(server, python, "hera_keeps_templates")

    assert found["made"] == ["hera-kept", "hera-kept"]
    assert found["labels"]["a"] == "b"


def test_hera_creates_updates_suspends_and_deletes_cron_workflows(
    server: ArgoServer, python: Path
) -> None:
    assert done(server, python, "hera_keeps_cron_workflows") == {
        "schedules": ["0 0 1 2 *"],
        "suspended": [True, False],
        "listed": True,
    }


def test_hera_finds_its_own_words_for_every_refusal(server: ArgoServer, python: Path) -> None:
    assert done(server, python, "hera_understands_refusals") == {
        "missing": "NotFound",
        "stranger": "Unauthorized",
        "taken": "AlreadyExists",
        "wrong": "BadRequest",
        "sources": "NotImplemented",
    }


def test_hera_sets_sync_limits_and_sends_events(server: ArgoServer, python: Path) -> None:
    assert done(server, python, "hera_sets_limits_and_sends_events") == {"said": "done"}

    kept = server.ask("GET", "/api/v1/sync/default/turns", cmName="of-hera")
    gone = server.ask("GET", "/api/v1/sync/default/gone", cmName="of-hera")
    assert (kept.json["limit"], gone.status) == (3, 404)


def test_hera_reads_archive_labels_version_and_itself(server: ArgoServer, python: Path) -> None:
    found = done(server, python, "hera_reads_the_rest")

    assert found["archived"] == "told"
    assert "workflows.argoproj.io/phase" in found["keys"]
    assert found["who"] == "admin"
    assert found["version"].startswith("v4.")


def test_hera_waits_without_blocking(server: ArgoServer, python: Path) -> None:
    assert done(server, python, "hera_waits_without_blocking")["phase"] == "Succeeded"


def test_the_sdk_creates_follows_gets_lists_and_deletes(server: ArgoServer, python: Path) -> None:
    found = done(server, python, "sdk_runs_a_workflow")

    assert found["log"] == "hi"
    assert found["phase"] in {"Running", "Succeeded"}
    assert (found["listed"], found["missing"]) == (1, 404)
    assert found["version"].startswith("v4.")
