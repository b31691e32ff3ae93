"""Every kind of sandbox, for users with and without rights; and none at all."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.contract.as_nobody import NAME, PLACES, TOKEN

ROOT = Path(__file__).parents[2]
NOBODY = 65534
HELLO = """
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: hello}
spec:
  entrypoint: main
  templates:
  - name: main
    container: {image: none, command: [sh, -c, "echo hello"]}
"""


@pytest.fixture
def data() -> Iterator[Path]:
    """Give a data directory that other users can reach, too."""
    path = Path(tempfile.mkdtemp(prefix="tiphys-kinds-", dir="/var/tmp"))
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def shown_data() -> Iterator[Path]:
    """Give a data directory in a folder that tasks see: /tmp and /var/tmp are their own."""
    places = [place for place in ("/srv", "/opt", "/var/lib") if os.access(place, os.W_OK)]
    if not places:
        pytest.skip("no folder of this machine that tasks see is ours to write to")
    path = Path(tempfile.mkdtemp(prefix="tiphys-kinds-", dir=places[0]))
    yield path
    shutil.rmtree(path, ignore_errors=True)


def _environment(**more: str) -> dict[str, str]:
    paths = os.pathsep.join([str(ROOT), *sys.path])
    return {**os.environ, "PYTHONPATH": paths, **more}


def _look(data: Path, kind: str, uid: int, before: Sequence[str] = ()) -> dict[str, Any]:
    if uid and os.geteuid() != 0:
        pytest.skip("only root can become another user")
    os.chown(data, uid or -1, uid or -1)
    done = subprocess.run(
        [*before, sys.executable, "-m", "tests.contract.as_nobody", str(data), str(uid)],
        env=_environment(TIPHYS_SANDBOX=kind, TIPHYS_ADMIN_TOKEN=TOKEN),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    if found["usable"] != "yes":
        pytest.skip(f"no {kind} sandbox for user {uid}: {found['usable']}")
    return found


@pytest.mark.parametrize(
    ("kind", "uid"),
    [("overlay", NOBODY), ("read-only", NOBODY), ("read-only", 0)],
    ids=["nobody's overlay", "nobody's read-only", "root's read-only"],
)
def test_a_task_has_places_to_write_and_the_host_stays_as_it_is(
    data: Path, kind: str, uid: int
) -> None:
    found = _look(data, kind, uid)

    written = found["private"]["result"].split()
    assert written[:3] == list(PLACES[:3])
    assert kind == "overlay" or len(written) == 3
    assert found["output"]["values"] == ["made"]
    assert int(found["output"]["result"]) == len(os.listdir("/usr/share")) + 1
    assert found["volume"]["result"] == "v"
    assert found["workdir"]["result"].split() == [f"/usr/lib/{NAME}/inner", "mine"]
    assert found["hidden"]["result"] == "0"
    everywhere = (*PLACES, f"/usr/lib/{NAME}", f"/etc/{NAME}")
    assert [place for place in everywhere if os.path.lexists(place)] == []


@pytest.mark.parametrize("kind", ["overlay", "read-only"])
def test_executor_and_server_are_closed_to_an_ordinary_users_task(
    shown_data: Path, kind: str
) -> None:
    found = _look(shown_data, kind, NOBODY)

    assert found["proc"]["result"] == ""
    assert found["token"]["result"] == ""
    assert found["child"]["result"] == "open"


@pytest.mark.parametrize("kind", ["overlay", "read-only"])
def test_an_ordinary_users_task_cannot_uncover_the_data_directory(
    shown_data: Path, kind: str
) -> None:
    found = _look(shown_data, kind, NOBODY)

    assert found["hidden"]["result"] == "0"
    assert found["unmount"]["result"] == ""
    assert found["namespace"]["result"] == "mounts of its own"


def test_what_lies_below_a_folder_does_not_take_away_the_places_to_write(
    data: Path,
) -> None:
    """An ordinary user cannot have an overlay of a folder with another file system below it."""
    other = Path(tempfile.mkdtemp(prefix="tiphys-mounted-", dir="/var/tmp"))
    mount = f"mount -t tmpfs none {other}"
    try:
        tried = subprocess.run(
            ["unshare", "-m", "sh", "-c", mount], capture_output=True, check=False
        )
        if tried.returncode:
            pytest.skip(f"nothing can be mounted here: {tried.stderr.decode()}")
        before = ["unshare", "-m", "sh", "-c", f'{mount} && exec "$0" "$@"']
        found = _look(data, "overlay", NOBODY, before)
    finally:
        other.rmdir()

    assert found["private"]["result"].split() == list(PLACES[:4])
    assert found["output"]["values"] == ["made"]
    assert found["volume"]["result"] == "v"
    assert [place for place in PLACES if os.path.lexists(place)] == []


def _run_without_rights(
    folder: Path, before: str, command: str = "echo hello", isolation: str = "auto"
) -> subprocess.CompletedProcess[str]:
    """Run a workflow as root of a user namespace, behind a shell command."""
    missing = [name for name in ("unshare", "setpriv") if shutil.which(name) is None]
    tried = subprocess.run(["unshare", "-Ur", "true"], capture_output=True, check=False)
    if missing or tried.returncode:
        pytest.skip(f"no user namespaces here: {', '.join(missing) or tried.stderr.decode()}")
    (folder / "hello.yaml").write_text(HELLO.replace("echo hello", command))
    words = [sys.executable, "-m", "tiphys", "run", "--log", "hello.yaml"]
    return subprocess.run(
        ["unshare", "-Urm", "sh", "-c", f'{before} "$0" "$@"', *words],
        env=_environment(
            TIPHYS_DATA_DIR=str(folder / "data"),
            TIPHYS_CONFIG="",
            TIPHYS_ISOLATION=isolation,
            TIPHYS_ADMIN_TOKEN=TOKEN,
        ),
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def test_root_of_a_user_namespace_has_a_sandbox(tmp_path: Path) -> None:
    done = _run_without_rights(tmp_path, "")

    assert done.returncode == 0, done.stderr
    assert "without a sandbox" not in done.stderr


@pytest.mark.parametrize("before", ["", "exec setpriv --inh-caps=+sys_admin,+sys_ptrace"])
def test_a_task_does_not_see_the_token_of_the_root_of_a_user_namespace(
    tmp_path: Path, before: str
) -> None:
    look = f"echo looked: $(grep -ls {TOKEN} /proc/[0-9]*/environ)."

    done = _run_without_rights(tmp_path, before, look)

    assert done.returncode == 0, done.stderr
    assert "looked: ." in done.stdout + done.stderr


def test_without_a_sandbox_a_task_keeps_all_rights(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    mount = f"mkdir {folder} && mount -t tmpfs none {folder} && echo mounted"

    done = _run_without_rights(tmp_path, "", mount, "process")

    assert "mounted" in done.stdout, done.stderr


def test_where_no_sandbox_can_be_made_one_line_says_so_and_tasks_run(tmp_path: Path) -> None:
    none_more = "echo 0 > /proc/sys/user/max_user_namespaces;"

    done = _run_without_rights(
        tmp_path, f"{none_more} exec setpriv --bounding-set=-all --inh-caps=-all"
    )

    assert done.returncode == 0, done.stderr
    told = [line for line in done.stderr.splitlines() if "without a sandbox" in line]
    assert len(told) == 1
    assert "unshare" in told[0]
