"""Runs a workflow on Argo's controller in a cluster, and waits for its end.

    run_argo.py FILE CLUSTER

CLUSTER is the folder of a cluster that ``scripts/cluster`` has started.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from tests.cluster.rig.daemon import Daemons
from tests.cluster.rig.plane import ControlPlane
from told import Stopwatch

ENDED = {"Succeeded", "Failed", "Error"}


def main() -> None:
    """Run it."""
    home = Path(sys.argv[2])
    api = ControlPlane(home, Daemons(home)).api
    flow = json.loads(Path(sys.argv[1]).read_text())
    folder = "/apis/argoproj.io/v1alpha1/namespaces/default/workflows"
    api.call("DELETE", folder)  # What an earlier run may have left when it was cut.
    watch = Stopwatch()
    name = api.call("POST", folder, flow)["metadata"]["name"]
    try:
        phase = ""
        while phase not in ENDED:
            time.sleep(0.1)
            phase = api.call("GET", f"{folder}/{name}").get("status", {}).get("phase", "")
        watch.tell()
    finally:
        api.call("DELETE", f"{folder}/{name}")
    sys.exit(0 if phase == "Succeeded" else f"the workflow ended as {phase}")


if __name__ == "__main__":
    main()
