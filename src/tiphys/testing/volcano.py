"""Jobs and JobFlows for tests, as plain data: a file is JSON, which is YAML as well."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

FLOW = "flow.volcano.sh/v1alpha1"
BATCH = "batch.volcano.sh/v1alpha1"
Document = dict[str, Any]


def task(name: str, script: str, replicas: int = 1, **more: Any) -> Document:
    """Give a task whose replicas run a shell script once; ``pod`` adds to the pod's spec."""
    container = {"name": "main", "image": "none", "command": ["sh", "-c", script]}
    container |= more.pop("container", {})
    pod = {"restartPolicy": "Never", "containers": [container], **more.pop("pod", {})}
    return {"name": name, "replicas": replicas, "template": {"spec": pod}, **more}


def job(name: str, *tasks: Document, **spec: Any) -> Document:
    """Give a Job."""
    meta = {"name": name}
    return {"apiVersion": BATCH, "kind": "Job", "metadata": meta, "spec": {"tasks": tasks, **spec}}


def template(name: str, *tasks: Document, **spec: Any) -> Document:
    """Give a JobTemplate."""
    return {**job(name, *tasks, **spec), "apiVersion": FLOW, "kind": "JobTemplate"}


def step(name: str, *targets: str, **more: Any) -> Document:
    """Give a step of a flow; ``probe`` belongs to what it depends on."""
    found: Document = {"name": name}
    if targets:
        found["dependsOn"] = {"targets": list(targets)}
        if "probe" in more:
            found["dependsOn"]["probe"] = more.pop("probe")
    return {**found, **more}


def flow(
    name: str, steps: Iterable[Document], control: Mapping[str, Any] | None = None, **spec: Any
) -> Document:
    """Give a JobFlow; ``control`` is the annotation for conditions, loops and retries."""
    meta: Document = {"name": name}
    if control is not None:
        meta["annotations"] = {"tiphys.dev/flow": json.dumps(control)}
    return {
        "apiVersion": FLOW,
        "kind": "JobFlow",
        "metadata": meta,
        "spec": {"flows": list(steps), **spec},
    }


def text(documents: Sequence[Document]) -> str:
    """Write documents as one file."""
    return "\n---\n".join(json.dumps(document, indent=1) for document in documents)
