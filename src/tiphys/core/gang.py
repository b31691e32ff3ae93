"""Work that people hand in without writing a workflow: one task, or several that start together.

A payload says what is to be done; its kind decides how many start together: a ``task`` is 1, a
``campaign`` 3 (content, design, analytics), a ``directive`` one for each agent, a ``gang`` as many
as it says. It becomes the text of a Volcano Job, which runs on one machine and on a cluster alike.
Pure; the launcher and the activities of Temporal share it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tiphys.core.label import QUEUE

CAMPAIGN = ("content", "design", "analytics")
KINDS = ("task", "campaign", "directive", "gang")
_AGENT = "{agent}"


@dataclass(slots=True, kw_only=True)
class Worker:
    """One kind of pod: what it runs, and how many of it."""

    name: str = "main"
    replicas: int = 1
    image: str = ""
    command: list[str] = field(default_factory=list)
    args: list[str] = field(default_factory=list)
    env: dict[str, str] = field(default_factory=dict)
    cpu: str = ""
    memory: str = ""
    gpu: int = 0


def members(kind: str, agents: Sequence[str], size: int = 0) -> list[str]:
    """Name those who work on a payload; raise ValueError where it says nothing sensible."""
    if kind == "task" and not agents and size in (0, 1):
        return ["main"]
    if kind == "campaign" and not agents and size in (0, len(CAMPAIGN)):
        return list(CAMPAIGN)
    if kind == "directive" and agents and size in (0, len(agents)):
        if len(set(agents)) != len(agents):
            raise ValueError("two agents have the same name")
        return list(agents)
    if kind == "gang" and size > 0 and not agents:
        return [f"worker-{number}" for number in range(size)]
    if kind not in KINDS:
        raise ValueError(f"{kind!r} is no task, no campaign, no gang and no directive to agents")
    raise ValueError(f"a {kind} of size {size} with {len(agents)} agents makes no sense")


def crew(worker: Worker, names: Sequence[str]) -> list[Worker]:
    """Give each member what it runs: ``{agent}`` in arguments is its name, and so is $AGENT."""
    return [
        replace(
            worker,
            name=name,
            command=[each.replace(_AGENT, name) for each in worker.command],
            args=[each.replace(_AGENT, name) for each in worker.args],
            env={**worker.env, "AGENT": name},
        )
        for name in names
    ]


def gang_text(
    name: str, workers: Sequence[Worker], *, size: int = 0, retries: int = 0, queue: str = ""
) -> str:
    """Write the Job of workers of whom ``size`` start together, all by default."""
    total = sum(worker.replicas for worker in workers)
    least = size or total
    if not 1 <= least <= total:
        raise ValueError(f"a gang of {least} cannot be had from {total} workers")
    spec: dict[str, Any] = {
        "minAvailable": least,
        "minSuccess": total,
        "plugins": {"env": [], "svc": []},
        "tasks": [_task(worker) for worker in workers],
        # A gang is one thing: when one of it fails it fails as a whole, or is begun again.
        "maxRetry": retries + 1,
        "policies": [{"event": "PodFailed", "action": "RestartJob" if retries else "TerminateJob"}],
    }
    notes = {"annotations": {QUEUE: queue}} if queue else {}
    return json.dumps(
        {
            "apiVersion": "batch.volcano.sh/v1alpha1",
            "kind": "Job",
            "metadata": {"generateName": f"{name}-", **notes},
            "spec": spec,
        },
        indent=2,
    )


def _task(worker: Worker) -> dict[str, Any]:
    amounts: dict[str, str] = {}
    if worker.cpu:
        amounts["cpu"] = worker.cpu
    if worker.memory:
        amounts["memory"] = worker.memory
    container: dict[str, Any] = {
        "name": "main",
        "image": worker.image,
        "command": worker.command,
        "args": worker.args,
        "env": [{"name": key, "value": value} for key, value in worker.env.items()],
    }
    gpu = {"nvidia.com/gpu": str(worker.gpu)} if worker.gpu else {}
    if amounts or gpu:
        # Kubernetes takes devices only where the limit is what is asked for.
        container["resources"] = {
            "requests": {**amounts, **gpu},
            **({"limits": gpu} if gpu else {}),
        }
    return {
        "name": worker.name,
        "replicas": worker.replicas,
        "template": {"spec": {"restartPolicy": "Never", "containers": [container]}},
    }
