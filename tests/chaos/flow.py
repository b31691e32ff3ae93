"""Workflows whose tasks keep the ledger."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tiphys.testing.ledger import Ledger

LINES = 3
KEY = "{{inputs.parameters.key}}"


def workflow(name: str, templates: list[Mapping[str, Any]], **spec: Any) -> dict[str, Any]:
    """Give a workflow whose entrypoint is ``main``."""
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Workflow",
        "metadata": {"name": name},
        "spec": {"entrypoint": "main", "templates": templates, **spec},
    }


def shell(name: str, script: str, **more: Any) -> dict[str, Any]:
    """Give a template that runs a shell script and takes a ``key``."""
    return {
        "name": name,
        "inputs": {"parameters": [{"name": "key"}]},
        "container": {"image": "none", "command": ["sh", "-c", script]},
        **more,
    }


def stages(
    name: str, ledger: Ledger, *, count: int, width: int
) -> tuple[dict[str, Any], list[str]]:
    """Give ``count`` stages, one after another, of ``width`` tasks each, and the tasks' keys.

    Every seventh task takes a while, so that some run through each crash.
    """
    groups = [
        [
            {
                "name": f"s{stage}",
                "template": "task",
                "arguments": {"parameters": [{"name": "key", "value": f"s{stage}-{{{{item}}}}"}]},
                "withSequence": {"count": str(width)},
            }
        ]
        for stage in range(count)
    ]
    pause = f"case {KEY} in *0|*7) sleep 0.2;; esac"
    task = shell("task", ledger.script(KEY, pause, lines=LINES))
    spec: dict[str, Any] = {}
    if ledger.seen_as:
        folder = {"name": "ledger", "mountPath": ledger.seen_as.rpartition("/")[0]}
        task["container"]["volumeMounts"] = [folder]
        path = {"path": str(ledger.path.parent)}
        spec["volumes"] = [{"name": "ledger", "hostPath": path}]
    keys = [f"s{stage}-{item}" for stage in range(count) for item in range(width)]
    return workflow(name, [{"name": "main", "steps": groups}, task], **spec), keys
