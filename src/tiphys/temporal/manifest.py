"""Jobs and gangs of activities as the text of a Volcano Job (``core.gang``)."""

from __future__ import annotations

from tiphys.core import gang
from tiphys.temporal.payload import GangInput, JobInput


def job_text(given: JobInput) -> str:
    """Write the Job of a single task."""
    return gang.gang_text(given.name, [given.worker], size=1, retries=given.max_retry)


def gang_text(given: GangInput) -> str:
    """Write the Job of a gang."""
    return gang.gang_text(given.name, given.workers, size=given.size, retries=given.max_retry)
