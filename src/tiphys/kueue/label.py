"""Names that Argo, Kueue and we write on objects of a cluster."""

from __future__ import annotations

QUEUE = "kueue.x-k8s.io/queue-name"
PRIORITY = "kueue.x-k8s.io/priority-class"
MAX_RESOURCES = "kueue.k8s.io/max-resources"
TOLERATION = "kueue.k8s.io/toleration"
NODE_SELECTOR = "kueue.k8s.io/node-selector"

WORKFLOW = "workflows.argoproj.io/workflow"
"""The label of every pod that Argo makes."""
NODE_ID = "workflows.argoproj.io/node-id"
COMPONENT = "workflows.argoproj.io/component"

UNIT = "tiphys.dev/kueue-unit"
MODE = "tiphys.dev/kueue-mode"
"""``suspend``: the workflow has pauses (``tiphys kueue inject``), its pods are not gated."""
GATE = "tiphys.dev/kueue"
OWNER = "tiphys.dev/kueue-workflow"
"""The label of our Workloads: the uid of the workflow."""
LAYER = "tiphys.dev/kueue-layer"
NUMBER = "tiphys.dev/kueue-number"
LEAVES = "tiphys.dev/kueue-leaves"
WORKLOAD = "tiphys.dev/kueue-workload"
"""On pods: the Workload that let it go."""
EVICTING = "tiphys.dev/kueue-evicting"
HELD = "tiphys.dev/kueue-held"
"""On workflows: it is suspended, by us, until it is admitted."""
