"""Schedules of cron workflows, as the cron library of Argo reads them."""

from __future__ import annotations

import re

from tiphys.core.duration import parse_duration
from tiphys.errors import InvalidInputError

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_FIELDS: tuple[tuple[str, int, int, dict[str, int]], ...] = (
    ("minute", 0, 59, {}),
    ("hour", 0, 23, {}),
    ("day of month", 1, 31, {}),
    ("month", 1, 12, {name: number for number, name in enumerate(_MONTHS, start=1)}),
    ("day of week", 0, 6, {name: number for number, name in enumerate(_DAYS)}),
)
_WORDS = frozenset(
    {"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"}
)
_ZONE = re.compile(r"(CRON_)?TZ=\S+\s+")


def schedule_problem(schedule: str) -> str:
    """Say what is wrong with a schedule; "" where nothing is."""
    text = _ZONE.sub("", schedule, count=1).strip()
    if text in _WORDS:
        return ""
    if text.startswith("@every "):
        try:
            parse_duration(text.removeprefix("@every ").strip())
        except InvalidInputError as error:
            return str(error)
        return ""
    parts = text.split()
    if len(parts) != len(_FIELDS):
        return f"expected 5 fields (minute hour day month weekday), found {len(parts)}"
    for part, (name, low, high, words) in zip(parts, _FIELDS, strict=True):
        for item in part.split(","):
            problem = _item_problem(item, low, high, words)
            if problem:
                return f"the {name} {part!r}: {problem}"
    return ""


def _item_problem(item: str, low: int, high: int, words: dict[str, int]) -> str:
    span, slash, step = item.partition("/")
    if slash and not (step.isdecimal() and int(step) > 0):
        return f"{step!r} is not a step"
    if span in ("*", "?"):
        return ""
    first, dash, last = span.partition("-")
    bounds = [_number(bound, words) for bound in ((first, last) if dash else (first,))]
    if any(bound is None for bound in bounds):
        return f"{span!r} is not a number or a range"
    numbers = [bound for bound in bounds if bound is not None]
    if numbers[0] < low or numbers[-1] > high:
        return f"{span!r} is not between {low} and {high}"
    return f"{span!r} runs backwards" if numbers[0] > numbers[-1] else ""


def _number(text: str, words: dict[str, int]) -> int | None:
    if text.isascii() and text.isdecimal() and len(text) < 10:
        return int(text)
    return words.get(text.lower())
