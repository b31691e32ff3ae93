"""The names of Volcano Jobs, made from the names of their nodes."""

from __future__ import annotations

import re

# A step of a flow, the item of its loop, its rounds and its attempts.
_STEP = re.compile(
    r"(?P<step>[-\w]+)(\((?P<item>\d+):.*\))?(?P<rounds>(\[1\]\.again)*)(\[0\]\.run)?(\(\d+\))?",
    re.DOTALL,
)


def job_name(run: str, node: str) -> str:
    """Name the Job of a node: flow and step, with the number of a loop's item or round.

    All attempts at a step are of one Job, as the pods of a Job that is restarted keep their names.
    """
    if node == run:
        return run
    short = node.removeprefix(run).removeprefix(".")
    found = _STEP.fullmatch(short)
    if found is None:
        return "-".join((run, *re.findall(r"[a-z0-9]+", short.lower())))
    rounds = found["rounds"].count("again")
    parts = (run, found["step"], found["item"], str(rounds) if rounds else "")
    return "-".join(part for part in parts if part)
