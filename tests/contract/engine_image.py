"""An image for the tests of container engines: busybox and nothing else, made here.

No registry is asked. Where the machine has no engine, no static busybox, or cannot run containers,
``require`` says so and the tests are skipped; ``TIPHYS_ENGINES=0`` leaves them out as well. One
process at a time makes the image, and what was found is passed on to child processes: an engine has
one store for everybody.
"""

from __future__ import annotations

import atexit
import fcntl
import functools
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import msgspec

from tiphys.errors import RuntimeFailure
from tiphys.executor.place import identity
from tiphys.spec import model

IMAGE = "localhost/tiphys-test:1"
FOUND = "TIPHYS_TEST_IMAGE"
FOLDERS = ("bin", "tmp", "etc", "proc", "sys", "dev", "var/tmp", "usr/bin", "root", "mnt")
SETTINGS = """
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
[engine]
runtime = "runc"
"""


def require(engine: str) -> str:
    """Return the name of an image that runs here; RuntimeFailure says why there is none."""
    problem = find_problem(engine)
    if problem:
        raise RuntimeFailure(problem)
    return IMAGE


@functools.cache
def find_problem(engine: str) -> str:
    """Make the image and try it, once; return why it cannot be used, or nothing."""
    if os.environ.get("TIPHYS_ENGINES") == "0":
        return f"{engine} is not tried with TIPHYS_ENGINES=0"
    if shutil.which(engine) is None:
        return f"{engine} is not installed"
    if os.environ.get(f"{FOUND}_{engine.upper()}") == IMAGE:
        return ""
    with open(Path(tempfile.gettempdir(), f"tiphys-test-{os.getuid()}-{engine}"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        problem = _try_with_settings(engine)
    if not problem:
        os.environ[f"{FOUND}_{engine.upper()}"] = IMAGE
    return f"{engine} cannot run containers here: {problem}" if problem else ""


def _try_with_settings(engine: str) -> str:
    problem = _try(engine)
    if problem and engine == "podman" and shutil.which("runc"):
        # In a machine that may not raise limits, or with both kinds of control groups.
        folder = Path(tempfile.mkdtemp(prefix="tiphys-test-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        settings = folder / "containers.conf"
        settings.write_text(SETTINGS)
        os.environ["CONTAINERS_CONF"] = str(settings)
        problem = _try(engine)
    return problem


def _try(engine: str) -> str:
    if _call(engine, "image", "inspect", IMAGE).returncode:
        problem = _make_image(engine)
        if problem:
            return problem
    done = _call(engine, "run", "--rm", "--network", "host", IMAGE, "true")
    return done.stderr.strip().rpartition("\n")[2] if done.returncode else ""


def _make_image(engine: str) -> str:
    busybox = shutil.which("busybox")
    if busybox is None:
        return "there is no busybox to make an image of"
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for name in FOLDERS:
            (root / name).mkdir(parents=True)
        (root / "tmp").chmod(0o1777)
        shutil.copy(busybox, root / "bin" / "busybox")
        listed = subprocess.run([busybox, "--list"], capture_output=True, text=True, check=True)
        for applet in listed.stdout.split():
            if applet != "busybox":
                (root / "bin" / applet).symlink_to("busybox")
        archive = subprocess.run(["tar", "-C", folder, "-c", "."], capture_output=True, check=True)
        change = 'CMD ["echo", "from the image"]'
        command = [engine, "import", "--change", change, "-", IMAGE]
        done = subprocess.run(command, input=archive.stdout, capture_output=True, check=False)
    return done.stderr.decode(errors="replace").strip() if done.returncode else ""


def _call(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, capture_output=True, text=True, check=False)


def give_to(template: model.Template, image: str) -> model.Template:
    """Return a template in which every container without an image has this one."""
    replace = msgspec.structs.replace

    def given(container: model.Container) -> model.Container:
        return container if container.image else replace(container, image=image)

    changes: dict[str, object] = {
        "sidecars": tuple(given(c) for c in template.sidecars),
        "init_containers": tuple(given(c) for c in template.init_containers),
    }
    if template.container is not None:
        changes["container"] = given(template.container)
    if template.script is not None:
        changes["script"] = given(template.script)
    if template.container_set is not None:
        nodes = tuple(given(node) for node in template.container_set.containers)
        changes["container_set"] = replace(template.container_set, containers=nodes)
    return replace(template, **changes)


def containers_of(engine: str, data: Path) -> list[str]:
    """Return the containers of one data directory."""
    label = f"label=tiphys.owner={identity(data)}"
    return _call(engine, "ps", "--all", "--quiet", "--filter", label).stdout.split()


def remove_containers_of(engine: str, data: Path) -> None:
    """Remove what the tests of one data directory have left."""
    for _ in range(5):
        found = containers_of(engine, data)
        if not found:
            return
        _call(engine, "rm", "--force", *found)
