"""Tasks in a sandbox of a user without rights, or of a kind that was asked for: a script for tests.

``python -m tests.contract.as_nobody DATA UID``: everything is imported before the rights go, since
that user may not be able to read the interpreter's files; the executor is a fork for the same
reason. Prints what it saw as one line of JSON.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.contract.machine import Machine, shell
from tiphys.executor.place import Place
from tiphys.executor.server import serve
from tiphys.ports import TaskEnded
from tiphys.spec import model

PR_SET_DUMPABLE = 4
NAME = "tiphys-nobody"
TOKEN = "a-token-that-no-task-may-see"
PLACES = (f"/{NAME}", f"/tmp/{NAME}", f"/var/tmp/{NAME}", f"/usr/{NAME}", f"/usr/share/{NAME}")


def become(uid: int) -> None:
    """Give all rights away."""
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    # Else /proc/self belongs to root.
    ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)


def start_executor(data: Path) -> int:
    """Be an executor, in a child."""
    pid = os.fork()
    if pid == 0:
        try:
            serve(Place(data), 1.0)
        finally:
            os._exit(0)
    end = time.monotonic() + 60
    while not (data / "executor" / "socket").exists():
        assert time.monotonic() < end, "the executor does not listen"
        time.sleep(0.01)
    return pid


def looks(data: Path) -> dict[str, model.Template]:
    """Give the tasks, by name."""
    parameter = model.Parameter(name="p", value_from=model.ValueFrom(path=f"/usr/share/{NAME}/p"))
    volume = model.Volume(name="v", config_map=model.ConfigMapVolumeSource(name="cm"))
    mounted = model.Container(
        command=("sh", "-c", f"cat /etc/{NAME}/k"),
        volume_mounts=(model.VolumeMount(name="v", mount_path=f"/etc/{NAME}"),),
    )
    there = model.Container(
        command=("sh", "-c", "pwd; echo x > mine; ls"), working_dir=f"/usr/lib/{NAME}/inner"
    )
    write = "".join(f"echo x > {place} && echo {place}; " for place in PLACES[:4])
    return {
        "private": shell(f"{{ {write} }} 2>/dev/null; true"),
        "output": shell(
            f"mkdir -p /usr/share/{NAME}; echo made > /usr/share/{NAME}/p; ls /usr/share | wc -l",
            model.Outputs(parameters=(parameter,)),
        ),
        "volume": model.Template(name="t", container=mounted, volumes=(volume,)),
        "workdir": model.Template(name="t", container=there),
        "hidden": shell(f"ls -A {data} | wc -l"),
    }


def breakouts(data: Path, processes: dict[str, int]) -> dict[str, model.Template]:
    """Give tasks that try to get at what is hidden, by name; each prints what it got hold of."""
    doors = "".join(
        f"ls -L /proc/{pid}/{name} && echo {who} {name} >&3; "
        for who, pid in processes.items()
        for name in ("root/", "cwd/", "fd/0", "ns/mnt")
    )
    contents = "".join(
        f"head -c 1 /proc/{pid}/{name} | grep -q . && echo {who} {name} >&3; "
        for who, pid in processes.items()
        for name in ("environ", "maps", "auxv")
    )
    contents += "".join(
        f"true < /proc/{pid}/mem && echo {who} mem >&3; " for who, pid in processes.items()
    )
    uncover = f"umount {data} && echo unmounted; umount -l {data} && echo detached; ls -A {data}"
    again = (
        f"{uncover}; mkdir /tmp/again; mount --bind {data.parent} /tmp/again && echo bound;"
        f" ls -A /tmp/again/{data.name}; mount -t tmpfs none /tmp/again && echo mounts of its own"
    )
    return {
        "proc": shell(f"exec 3>&1 >/dev/null 2>&1; {doors} {contents} true"),
        "token": shell(f"grep -ls {TOKEN} /proc/[0-9]*/environ; true"),
        "unmount": shell(f"{{ {uncover}; }} 2>/dev/null; true"),
        "namespace": shell(f"unshare -Urm sh -c '{{ {again}; }} 2>/dev/null'; true"),
        "child": shell(
            "sleep 60 & until grep -q sleep /proc/$!/cmdline; do :; done;"
            " ls /proc/$!/root/ >/dev/null && echo open; kill $!"
        ),
    }


def seen(end: TaskEnded) -> dict[str, Any]:
    """Give what a test wants to know of an end."""
    outputs = end.outputs or model.Outputs()
    values = [parameter.value for parameter in outputs.parameters]
    return {"phase": end.phase, "message": end.message, "result": outputs.result, "values": values}


def main(data: Path, uid: int) -> None:
    """Run all tasks and print what became of them."""
    tempfile.gettempdir()
    templates = looks(data)
    if uid:
        become(uid)
    pid = start_executor(data)
    with Machine(data, "sandbox") as machine:
        found: dict[str, Any] = {"usable": machine.why or "yes"}
        if machine.usable:
            templates |= breakouts(data, {"executor": machine.executor_pid, "server": os.getpid()})
            found |= {name: seen(machine.run(each)) for name, each in templates.items()}
    os.waitpid(pid, 0)
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
