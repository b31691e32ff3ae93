"""The part of ``tiphys get`` that JobFlows have: their Jobs, and what comes next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from tiphys.cli.failure import visible
from tiphys.cli.text import columns, short_duration
from tiphys.executor.clock import now


def flow_lines(flow: Mapping[str, Any]) -> list[str]:
    """Give the tables of a flow; none where nothing is known yet."""
    lines: list[str] = []
    if flow["jobs"]:
        head = ["JOB", "STATE", "DURATION", "PODS", "RESTARTS", "CPU", "MEMORY", "FAILED BEFORE"]
        lines += ["", *columns([head, *map(_job, flow["jobs"])])]
    if flow["next"]:
        lines += ["", *columns([["NEXT", "WAITS FOR"], *map(_step, flow["next"])])]
    return lines


def _job(job: Mapping[str, Any]) -> list[str]:
    begun, ended = _seconds(job["started_at"]), _seconds(job["finished_at"])
    pods = job["pods"]
    return [
        job["name"],
        job["state"],
        "" if begun is None else short_duration((ended or now()) - begun),
        f"{pods.get('Succeeded', 0)}/{sum(pods.values())}",
        str(job["restarts"]),
        f"{job['cpu_seconds']:.2f}s" if job["cpu_seconds"] else "",
        f"{job['memory_bytes'] / 2**20:.1f}Mi" if job["memory_bytes"] else "",
        f"{job['failed_before']} of {job['runs_before']}" if job["runs_before"] else "",
    ]


def _seconds(at: float | str | None) -> float | None:
    """Read an instant of the store, or of a server's answer."""
    return datetime.fromisoformat(at).timestamp() if isinstance(at, str) else at


def _step(step: Mapping[str, Any]) -> list[str]:
    waits: Sequence[Mapping[str, Any]] = step["waits_for"]
    words = [f"{each['missing']} of {each['step']} ({each['state']})" for each in waits]
    return [step["step"], visible(", ".join(words) or "its turn")]
