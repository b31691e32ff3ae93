"""Schedules of cron workflows, as the cron library of Argo reads them."""

from __future__ import annotations

from tiphys.core.cron import parse_schedule
from tiphys.errors import InvalidInputError


def schedule_problem(schedule: str, timezone: str = "") -> str:
    """Say what is wrong with a schedule; "" where nothing is."""
    try:
        parse_schedule(schedule, timezone=timezone)
    except InvalidInputError as error:
        return str(error)
    return ""
