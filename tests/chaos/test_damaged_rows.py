"""Rows that cannot be read: each puts its own workflow aside, and never the server."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests.chaos.flow import shell, workflow
from tests.chaos.helm import Helm, seed_of_run

SOUND = 5
DAMAGED = 60
COLUMNS = (
    ("documents", "manifest"),
    ("documents", "spec"),
    ("documents", "library"),
    ("nodes", "body"),
)
WHERE = {
    "documents": "WHERE workflow = (SELECT number FROM workflows WHERE name = ?)",
    "nodes": "WHERE name = ?",
}


def _damage(data: bytes, chance: random.Random) -> bytes:
    """Do to bytes what disks and bugs do."""
    kinds: list[Callable[[], bytes]] = [
        lambda: b"",
        lambda: data[: chance.randrange(len(data))],
        lambda: bytes(len(data)),
        lambda: chance.randbytes(len(data)),
        lambda: b"null",
        lambda: b"[]",
        lambda: b'{"id":1}',
        lambda: data.replace(b'"main"', b'"gone"'),
        lambda: data.replace(b":", b";", 1),
    ]
    return chance.choice(kinds)()


def _damage_rows(helm: Helm, chance: random.Random) -> None:
    connection = sqlite3.connect(helm.data / "tiphys.db")
    with connection:
        for number in range(DAMAGED):
            table, column = COLUMNS[number % len(COLUMNS)]
            where = WHERE[table]
            name = (f"damaged-{number}",)
            (data,) = connection.execute(f"SELECT {column} FROM {table} {where}", name).fetchone()
            connection.execute(
                f"UPDATE {table} SET {column} = ? {where}", (_damage(data, chance), *name)
            )
    connection.close()


def test_damaged_workflows_do_not_keep_the_others_from_running(
    tmp_path: Path, record_property: Any
) -> None:
    seed = seed_of_run()
    pause = {"name": "main", "steps": [[{"name": "p", "template": "pause"}], [_step("a")]]}
    templates: list[Mapping[str, Any]] = [
        pause,
        {"name": "pause", "suspend": {}},
        shell("task", "echo {{workflow.name}}"),
    ]
    sound = [f"sound-{number}" for number in range(SOUND)]
    with Helm(tmp_path) as helm:
        first = helm.up()
        for name in (*sound, *(f"damaged-{number}" for number in range(DAMAGED))):
            helm.hand_in(workflow(name, templates))
        first.kill()
        _damage_rows(helm, random.Random(seed))

        server = helm.up()
        for name in sound:
            helm.ask("resume", key=name)

        phases = [helm.ask("wait", key=name)["phase"] for name in sound]
        assert phases == ["Succeeded"] * SOUND, f"seed {seed}"
        assert helm("list").returncode == 0, f"seed {seed}"
        assert server.process.poll() is None, f"seed {seed}: {server.said}"
        for number in range(len(COLUMNS)):
            shown = helm("get", f"damaged-{number}")
            assert "internal error" not in shown.stderr, f"seed {seed}, damaged-{number}"
        aside = helm.query("SELECT name FROM workflows WHERE quarantine != ''")
        assert aside, f"seed {seed}"
        assert all(name.startswith("damaged-") for (name,) in aside), f"seed {seed}"
        record_property("put aside", f"{len(aside)} of {DAMAGED} damaged ones")


def _step(name: str) -> dict[str, Any]:
    arguments = {"parameters": [{"name": "key", "value": name}]}
    return {"name": name, "template": "task", "arguments": arguments}
