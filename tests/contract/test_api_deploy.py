"""What is deployed: the unit for systemd and its promises about tasks, the image's parts."""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from configparser import RawConfigParser
from pathlib import Path

import pytest

DEPLOY = Path(__file__).parents[2] / "deploy"


def test_a_restart_of_the_service_leaves_tasks_alone() -> None:
    unit = RawConfigParser(strict=False)
    unit.read(DEPLOY / "tiphys.service")
    service = unit["Service"]

    assert service["KillMode"] == "process"
    assert service["Delegate"] == "yes"
    assert service["OOMPolicy"] == "continue"
    # These would take away what the sandbox of tasks is made of.
    broken = {"RestrictNamespaces", "ProtectSystem", "PrivateMounts", "ProtectControlGroups"}
    assert not {key.lower() for key in broken} & set(service)


def test_the_image_takes_the_driver_of_postgresql_from_a_lock_with_its_checksums() -> None:
    text = (DEPLOY / "Containerfile").read_text()
    program = re.search(r"awk '([^']+)' requirements-dev.lock", text)
    assert program is not None

    found = subprocess.run(
        ["awk", program[1], str(DEPLOY.parent / "requirements-dev.lock")],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    ).stdout

    heads = [line.split("==")[0] for line in found.splitlines() if not line.startswith(" ")]
    assert heads == ["psycopg", "psycopg-binary"]
    assert found.count("--hash=sha256:") > 2


def test_the_image_is_built_from_all_that_its_build_reads() -> None:
    settings = tomllib.loads((DEPLOY.parent / "pyproject.toml").read_text())
    hook = settings["tool"]["hatch"]["build"]["targets"]["wheel"]["hooks"]["custom"]["path"]
    copied = re.findall(r"^COPY (?!--)(.+) \S+$", (DEPLOY / "Containerfile").read_text(), re.M)
    let_in = (DEPLOY.parent / ".dockerignore").read_text().splitlines()

    names = {name for line in copied for name in line.split()}
    assert {hook, "src", "pyproject.toml"} <= names
    assert {f"!{name}" for name in names} <= set(let_in)


def test_systemd_finds_nothing_wrong_with_the_unit() -> None:
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("there is no systemd here")

    done = subprocess.run(
        [analyze, "verify", str(DEPLOY / "tiphys.service")],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")
