"""Measures admission by layers on a real cluster: from free quota to pods that may run.

    scripts/cluster up --argo --kueue [--kwok 2]
    python benchmarks/kueue.py [--home FOLDER] [--layer 200] [--nested 20] [--running 10]

With KWOK's nodes, large groups run there and are measured to the start of their last pod. Without,
they are let go but fit on no node (their flavor names none), and are measured until then. Either
way Argo, Kueue and the controller are measured, and not how fast one machine starts containers;
``--running`` is a small layer of real pods, to their start.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.cluster.dock import GPU, Dock, Json, is_true
from tests.cluster.rig.__main__ import _default_home
from tests.cluster.rig.daemon import Daemons
from tests.cluster.rig.kwok import LABEL, TAINT
from tests.cluster.rig.plane import ControlPlane

HEAD = "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nmetadata: {generateName: b-}\nspec:\n"
WORK = f"""
  - name: work
    container:
      image: alpine:3.23
      command: [sleep, "600"]
      resources: {{requests: {{cpu: 1m, {GPU}: 1}}, limits: {{{GPU}: 1}}}}
"""
NOWHERE = {"tiphys.dev/nowhere": "true"}
KWOK: Json = {"labels": LABEL, "tolerations": [{"key": TAINT, "operator": "Exists"}]}


def flat(count: int) -> str:
    """Give a workflow with one layer."""
    steps = f"    - - {{name: work, template: work, withSequence: {{count: {count}}}}}\n"
    return f"{HEAD}  entrypoint: main\n  templates:\n  - name: main\n    steps:\n{steps}{WORK}"


def nested(count: int) -> str:
    """Give a workflow with as many layers as leaves in each."""
    loop = f"withSequence: {{count: {count}}}"
    return (
        f"{HEAD}  entrypoint: outer\n  templates:\n"
        f"  - name: outer\n    steps:\n    - - {{name: o, template: inner, {loop}}}\n"
        f"  - name: inner\n    steps:\n    - - {{name: i, template: work, {loop}}}\n{WORK}"
    )


def pretended(plane: ControlPlane) -> bool:
    """Whether there are KWOK's nodes; if so, they have room for what is measured."""
    nodes = plane.api.call("GET", "/api/v1/nodes?labelSelector=type%3Dkwok")["items"]
    for node in nodes:
        patch = {"status": {key: {GPU: "1000"} for key in ("capacity", "allocatable")}}
        path = f"/api/v1/nodes/{node['metadata']['name']}/status"
        plane.api.call("PATCH", path, patch, "merge-patch+json")
    return bool(nodes)


def measure(
    plane: ControlPlane, text: str, pods: int, *, flavor: Json, done: Callable[[Dock], int]
) -> tuple[float, float, float, int]:
    """Give the seconds until all pods wait in Workloads, those from quota until all are let go,
    those until ``done``, and how many Workloads there were."""
    with tempfile.TemporaryDirectory() as folder:
        dock = Dock(plane, Path(folder))
        try:
            dock.queue({GPU: 0}, **flavor)
            dock.start()
            begun = time.monotonic()
            dock.submit(text)
            dock.until(lambda: _asked(dock) == pods, f"{pods} pods in Workloads")
            grouped = time.monotonic()
            dock.queue({GPU: pods}, **flavor)
            dock.until(lambda: _let_go(dock) == pods, f"{pods} pods without a gate")
            free = time.monotonic()
            dock.until(lambda: done(dock) == pods, f"{pods} pods")
            ended = time.monotonic()
            if flavor == KWOK:
                _check_end(dock)
            return grouped - begun, free - grouped, ended - grouped, len(dock.workloads())
        finally:
            dock.close()


def _check_end(dock: Dock) -> None:
    """Wait until everything that was taken is given back."""
    dock.until(lambda: all(is_true(w, "Finished") for w in dock.workloads()), "the end of all")
    dock.until(lambda: dock.usage() == "0", "the return of all quota")
    assert not dock.gated(), "a pod is stuck at its gate"


def _asked(dock: Dock) -> int:
    return sum(each["count"] for w in dock.workloads() for each in w["spec"]["podSets"])


def _running(dock: Dock) -> int:
    """Count the pods that have started; pretended ones end soon after."""
    return sum(pod["status"]["phase"] in ("Running", "Succeeded") for pod in dock.pods())


def _let_go(dock: Dock) -> int:
    return sum(not pod["spec"].get("schedulingGates") for pod in dock.pods())


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--home", type=Path, default=_default_home())
    parser.add_argument("--layer", type=int, default=200)
    parser.add_argument("--nested", type=int, default=20)
    parser.add_argument("--running", type=int, default=10)
    parser.add_argument("--nowhere", action="store_true", help="do not use KWOK's nodes")
    given = parser.parse_args()
    plane = ControlPlane(given.home, Daemons(given.home))
    run = pretended(plane) and not given.nowhere
    large = KWOK if run else {"labels": NOWHERE}
    rows: list[tuple[str, str, int, Json, bool]] = [
        (f"layer of {given.layer}", flat(given.layer), given.layer, large, run),
        (f"{given.nested} x {given.nested}", nested(given.nested), given.nested**2, large, run),
        (f"layer of {given.running}, real pods", flat(given.running), given.running, {}, True),
    ]
    for name, text, pods, flavor, run in rows:
        if not pods:
            continue
        done = _running if run else _let_go
        grouped, free, ended, workloads = measure(plane, text, pods, flavor=flavor, done=done)
        running = f", running {ended:.1f} s" if run else ""
        print(
            f"{name}: submitted to grouped {grouped:.1f} s ({workloads} Workloads), "
            f"quota free to let go {free:.1f} s{running}",
            flush=True,
        )


if __name__ == "__main__":
    main()
