"""Volcano's scheduler and controllers (JobFlow among them), outside of the cluster.

Without its webhooks: they fill in defaults and refuse mistakes, which the tests do not rely on.
"""

from __future__ import annotations

from functools import partial

from tests.cluster.rig.daemon import Daemons, wait_until
from tests.cluster.rig.parts import VOLCANO
from tests.cluster.rig.plane import ControlPlane, free_port

NAMESPACE = "volcano-system"
SCHEDULER_CONFIG = """actions: "enqueue, allocate, preempt, reclaim, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
    enablePreemptable: false
  - name: conformance
- plugins:
  - name: drf
    enablePreemptable: false
  - name: predicates
  - name: proportion
  - name: nodeorder
  - name: binpack
"""


def start(plane: ControlPlane, daemons: Daemons) -> None:
    """Install the definitions and the root queues, and run both programs."""
    for folder in ("config/crd/volcano/bases", "config/crd/jobflow/bases"):
        plane.api.apply_definitions(VOLCANO.home / "manifests" / folder)
    served = (
        "scheduling.volcano.sh/v1beta1/queues",
        "batch.volcano.sh/v1alpha1/jobs",
        "flow.volcano.sh/v1alpha1/jobtemplates",
        "flow.volcano.sh/v1alpha1/jobflows",
    )
    for path in served:
        wait_until(partial(plane.api.answers, f"/apis/{path}"), path, 60)
    plane.api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    config = plane.home / "volcano-scheduler.yaml"
    config.write_text(SCHEDULER_CONFIG)
    shared = [f"--kubeconfig={plane.kubeconfig}", "--leader-elect=false", "--enable-healthz=false"]
    daemons.start(
        "vc-controller-manager",
        [
            VOLCANO.program("vc-controller-manager"),
            *shared,
            f"--listen-address=127.0.0.1:{free_port()}",
        ],
    )
    daemons.start(
        "vc-scheduler",
        [
            VOLCANO.program("vc-scheduler"),
            *shared,
            f"--listen-address=127.0.0.1:{free_port()}",
            f"--scheduler-conf={config}",
            "--enable-metrics=false",
        ],
    )
    default = "/apis/scheduling.volcano.sh/v1beta1/queues/default"
    wait_until(lambda: plane.api.answers(default), "Volcano's default queue", 60)
