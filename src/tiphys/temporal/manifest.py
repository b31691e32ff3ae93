"""Jobs and gangs as the text of a Volcano Job, which runs on one machine and on a cluster alike."""

from __future__ import annotations

import json
from typing import Any

from tiphys.temporal.payload import GangInput, JobInput, Worker


def job_text(given: JobInput) -> str:
    """Write the Job of a single task."""
    return _text(given.name, [given.worker], 1, given.max_retry)


def gang_text(given: GangInput) -> str:
    """Write the Job of a gang."""
    total = sum(worker.replicas for worker in given.workers)
    size = given.size or total
    if not 1 <= size <= total:
        raise ValueError(f"a gang of {size} cannot be had from {total} workers")
    return _text(given.name, given.workers, size, given.max_retry)


def _text(name: str, workers: list[Worker], least: int, retries: int) -> str:
    total = sum(worker.replicas for worker in workers)
    spec: dict[str, Any] = {
        "minAvailable": least,
        "minSuccess": total,
        "plugins": {"env": [], "svc": []},
        "tasks": [_task(worker) for worker in workers],
        # A gang is one thing: when one of it fails it fails as a whole, or is begun again.
        "maxRetry": retries + 1,
        "policies": [{"event": "PodFailed", "action": "RestartJob" if retries else "TerminateJob"}],
    }
    return json.dumps(
        {
            "apiVersion": "batch.volcano.sh/v1alpha1",
            "kind": "Job",
            "metadata": {"generateName": f"{name}-"},
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
    if worker.gpu:
        amounts["nvidia.com/gpu"] = str(worker.gpu)
    container: dict[str, Any] = {
        "name": "main",
        "image": worker.image,
        "command": worker.command,
        "args": worker.args,
        "env": [{"name": key, "value": value} for key, value in worker.env.items()],
    }
    if amounts:
        container["resources"] = {"requests": amounts}
    return {
        "name": worker.name,
        "replicas": worker.replicas,
        "template": {"spec": {"restartPolicy": "Never", "containers": [container]}},
    }
