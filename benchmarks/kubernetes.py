"""Nodes per second on a cluster: ``k8s-native`` and the Argo controller, side by side.

    scripts/cluster up --argo --kwok 20
    python benchmarks/kubernetes.py [--home FOLDER] [--nodes 1000] [--layers 20] [--only ours|argo]

The same workflow on the same cluster, one engine after the other: N pods in layers, each of which
begins when the one before has ended; ``--layers 1`` is one loop over all of them. Pods are placed
on KWOK's nodes, which only pretend to run them, so that the engines and the API server are measured
and not how fast one machine starts containers. Both are timed from the submission to the
``finishedAt`` of the workflow: ours with the start of the command, Argo's with its controller
running already and its settings as shipped. Argo looks at a workflow every ten seconds and makes
20 pods a second, ours is bound by what the cluster can do: one loop is Argo's best case, and a busy
machine makes the ratio smaller.

Ours makes Jobs, whose pods the cluster's own controller makes, with about four requests each. As
shipped that controller may send 20 a second: 5 to 10 Jobs. How the one here was started is
printed first. What a node costs the cluster in CPU time has Argo's controller in it, and not us.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import yaml

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.cluster.helm import Helm
from tests.cluster.rig.__main__ import _default_home
from tests.cluster.rig.argo import SERVICE_ACCOUNT
from tests.cluster.rig.daemon import Daemons
from tests.cluster.rig.kwok import TAINT
from tests.cluster.rig.plane import ControlPlane

GOAL = 3.0
LIMIT = 600.0
WORKFLOW = f"""
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {{name: fan-out}}
spec:
  entrypoint: main
  nodeSelector: {{type: kwok}}
  tolerations: [{{key: {TAINT}, operator: Exists}}]
  templates:
  - name: main
    steps:
STEPS
  - name: work
    container: {{image: "alpine:3.23", command: ["true"]}}
"""


def fan_out(nodes: int, layers: int) -> str:
    """Give the workflow."""
    width = f'withSequence: {{count: "{nodes // layers}"}}'
    steps = [f"    - - {{name: l{n}, template: work, {width}}}" for n in range(layers)]
    return WORKFLOW.replace("STEPS", "\n".join(steps))


def measure_ours(plane: ControlPlane, namespace: str, text: str) -> float:
    """Run the command; give the seconds from its start to the end of the workflow."""
    with tempfile.TemporaryDirectory() as folder, Helm(Path(folder), plane, namespace) as helm:
        helm.limit = LIMIT
        begun = time.time()
        done = helm("run", "--scheduler", "k8s-native", "-o", "json", helm.write(text))
        if done.returncode:
            raise SystemExit(f"the workflow failed: {done.stderr[-2000:]}")
        return _end_of(json.loads(done.stdout)) - begun


def measure_argo(plane: ControlPlane, namespace: str, text: str) -> float:
    """Hand the workflow to Argo's controller; give the seconds to its end."""
    account = {"apiVersion": "v1", "kind": "ServiceAccount"}
    plane.api.apply({**account, "metadata": {"name": SERVICE_ACCOUNT, "namespace": namespace}})
    path = f"/apis/argoproj.io/v1alpha1/namespaces/{namespace}/workflows"
    begun = time.time()
    plane.api.call("POST", path, yaml.safe_load(text))
    # Only those that have ended are asked for: the whole object, often, would slow things down.
    ended = f"{path}?labelSelector=workflows.argoproj.io/completed%3Dtrue&limit=1"
    while not plane.api.call("GET", ended)["items"]:
        if time.time() - begun > LIMIT:
            raise SystemExit(f"Argo's workflow did not end within {LIMIT:.0f} s")
        time.sleep(0.2)
    workflow = plane.api.call("GET", f"{path}/fan-out")
    if workflow["status"]["phase"] != "Succeeded":
        raise SystemExit(f"Argo's workflow ended as {workflow['status']['phase']}")
    return _end_of(workflow) - begun


def _end_of(workflow: dict[str, Any]) -> float:
    text: str = workflow["status"]["finishedAt"]
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


ENGINES: dict[str, Callable[[ControlPlane, str, str], float]] = {
    "ours": measure_ours,
    "argo": measure_argo,
}
NAMES = {"ours": "Tiphys, k8s-native", "argo": "Argo controller"}


def settings_of(plane: ControlPlane) -> str:
    """Tell what counts for the figures and is not as shipped."""
    pid = (plane.home / "pids" / "kube-controller-manager").read_text().split()[0]
    words = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
    told = [word.removeprefix("--") for word in words if word.startswith(("--kube-api", "--conc"))]
    settings = ", ".join(told) or "as shipped"
    return f"kube-controller-manager: {settings}; {os.cpu_count()} cores for everything"


def spent_by(plane: ControlPlane) -> float:
    """Give the CPU seconds of all that makes up the cluster, so far."""
    ticks = 0
    for path in (plane.home / "pids").iterdir():
        with suppress(FileNotFoundError):
            stat = Path(f"/proc/{path.read_text().split()[0]}/stat").read_text()
            fields = stat.rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def measure(plane: ControlPlane, engine: str, count: int, layers: int) -> float:
    """Measure one engine in a namespace of its own; give nodes per second."""
    namespace = f"bench-{os.urandom(3).hex()}"
    thing = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
    plane.api.apply(thing)
    load, before = os.getloadavg()[0], spent_by(plane)
    try:
        spent = ENGINES[engine](plane, namespace, fan_out(count, layers))
        rate = count / spent
        cost = (spent_by(plane) - before) / count * 1000
        told = f"{NAMES[engine]:20} {count} nodes, {layers} layers, in {spent:.1f} s:"
        told += f" {rate:.1f} nodes/s, {cost:.0f} ms of the cluster's CPU a node"
        print(f"{told} (load {load:.1f} before)", flush=True)
        return rate
    finally:
        plane.api.call("DELETE", f"/api/v1/namespaces/{namespace}")
        _until_gone(plane, namespace)


def _until_gone(plane: ControlPlane, namespace: str) -> None:
    """Wait until what one engine left no longer weighs on the next."""
    end = time.monotonic() + LIMIT
    while plane.api.answers(f"/api/v1/namespaces/{namespace}") and time.monotonic() < end:
        time.sleep(0.5)


def main() -> int:
    """Measure, and tell the ratio."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--home", type=Path, default=_default_home(), help="the cluster's folder")
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--layers", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--only", choices=ENGINES, default=None)
    parser.add_argument("--json", type=Path, help="write the figures to a file as well")
    given = parser.parse_args()
    plane = ControlPlane(given.home, Daemons(given.home))
    print(settings_of(plane), flush=True)
    best = dict.fromkeys([given.only] if given.only else ENGINES, 0.0)
    for _ in range(given.rounds):
        for engine in best:
            best[engine] = max(best[engine], measure(plane, engine, given.nodes, given.layers))
    if given.json:
        given.json.write_text(json.dumps(best) + "\n")
    if given.only:
        return 0
    ratio = best["ours"] / best["argo"]
    verdict = "met" if ratio >= GOAL else "missed"
    print(f"ratio {ratio:.1f} (goal {GOAL:g}: {verdict})")
    return 0 if ratio >= GOAL else 1


if __name__ == "__main__":
    raise SystemExit(main())
