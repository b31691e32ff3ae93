"""Where a cluster is found, and who we are to it."""

from __future__ import annotations

import base64
import json
import stat
from pathlib import Path

import pytest

from tiphys.errors import ClusterError
from tiphys.kube.access import find_access, read_kubeconfig

CONFIG = {
    "current-context": "one",
    "contexts": [
        {"name": "one", "context": {"cluster": "c", "user": "u", "namespace": "mine"}},
        {"name": "two", "context": {"cluster": "d", "user": "v"}},
    ],
    "clusters": [
        {"name": "c", "cluster": {"server": "http://127.0.0.1:8080/base/"}},
        {"name": "d", "cluster": {"server": "http://[::1]"}},
    ],
    "users": [
        {"name": "u", "user": {"token": "secret"}},
        {"name": "v", "user": {"username": "me", "password": "pass"}},
    ],
}


def write(folder: Path, config: object) -> Path:
    path = folder / "config"
    path.write_text(json.dumps(config))
    return path


def test_the_current_context_is_taken(tmp_path: Path) -> None:
    access = read_kubeconfig(write(tmp_path, CONFIG))

    assert (access.host, access.port, access.prefix) == ("127.0.0.1", 8080, "/base")
    assert access.namespace == "mine"
    assert access.credential.headers() == {"Authorization": "Bearer secret"}


def test_another_context_can_be_named(tmp_path: Path) -> None:
    access = read_kubeconfig(write(tmp_path, CONFIG), context="two", namespace="other")

    pair = base64.b64encode(b"me:pass").decode()
    assert (access.host, access.port, access.namespace) == ("::1", 80, "other")
    assert access.credential.headers() == {"Authorization": f"Basic {pair}"}


def test_the_environment_names_the_file(tmp_path: Path) -> None:
    path = write(tmp_path, CONFIG)

    access = find_access({"KUBECONFIG": f"/nowhere:{path}"})

    assert access.port == 8080


def test_no_cluster_at_all_is_told_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match="KUBECONFIG"):
        find_access({"HOME": str(tmp_path)})


@pytest.mark.parametrize("config", [{}, [], {**CONFIG, "current-context": "none"}, "text"])
def test_a_file_that_is_no_kubeconfig_is_refused(tmp_path: Path, config: object) -> None:
    with pytest.raises(ClusterError, match="no usable kubeconfig"):
        read_kubeconfig(write(tmp_path, config))


def test_a_program_gives_the_token(tmp_path: Path) -> None:
    program = tmp_path / "login"
    program.write_text('#!/bin/sh\necho "{\\"status\\": {\\"token\\": \\"$1-$WHO\\"}}"\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    plugin = {"command": str(program), "args": ["for"], "env": [{"name": "WHO", "value": "me"}]}
    users = [{"name": "u", "user": {"exec": plugin}}]

    access = read_kubeconfig(write(tmp_path, {**CONFIG, "users": users}))

    assert access.credential.is_slow
    assert access.credential.headers() == {"Authorization": "Bearer for-me"}
