"""When a schedule is due: cron texts as github.com/robfig/cron v3 reads them.

Pure: texts and instants in, instants out. Zones come from the zone database, which is read-only
data; the machine's own zone is handed in as a function from an instant to its offset.

Argo's schedules are this library's, oddities included, so they are kept here:

- A day must match both its fields if one of them has a star, else either of them. ``*/2`` is not a
  star in this sense, ``*/1`` and ``?`` are.
- An hour that the clocks skip has no slots; one that they repeat has them twice.
- A search ends after five years: ``0 0 30 2 *`` is never due.
- ``@every`` counts whole seconds from the instant asked about, at least one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from tiphys.core.duration import parse_duration
from tiphys.errors import InvalidInputError

Zone = Callable[[int], int]
"""Seconds east of Greenwich at an instant."""

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_SEARCH_YEARS = 5
_MOST_STEPS = 20_000
"""Five years of days and more. The library goes in circles where a zone skips a whole day."""
_MAX_INT = 2**63 - 1
_MAX_LENGTH = 1000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# What Go takes for white space; Python's split would add a few control characters.
_SPACE = "\t\n\v\f\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_SPACES = re.compile(f"[{_SPACE}]+")
_AROUND = re.compile(f"^[{_SPACE}]+|[{_SPACE}]+$")
_NUMBER = re.compile(r"[+-]?[0-9]+", re.ASCII)
_ZONED = re.compile(r"(?:CRON_)?TZ=([^ ]*)( ?)", re.ASCII)


@dataclass(frozen=True, slots=True)
class _Bounds:
    name: str
    low: int
    high: int
    words: tuple[str, ...] = ()
    """The names of its values from ``low`` on."""


_MINUTE = _Bounds("minute", 0, 59)
_HOUR = _Bounds("hour", 0, 23)
_DAY = _Bounds("day of month", 1, 31)
_MONTH = _Bounds("month", 1, 12, _MONTHS)
_WEEKDAY = _Bounds("day of week", 0, 6, _DAYS)
_FIELDS = (_MINUTE, _HOUR, _DAY, _MONTH, _WEEKDAY)
_WORDS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}


@dataclass(frozen=True, slots=True)
class _Field:
    values: frozenset[int]
    star: bool = False


@dataclass(frozen=True, slots=True)
class Every:
    """Due once every so many seconds."""

    seconds: int

    def next(self, at: float) -> int:
        """Give the first slot behind ``at``."""
        return math.floor(at) + self.seconds


@dataclass(frozen=True, slots=True)
class Calendar:
    """Due whenever the clocks of a zone show what its fields name."""

    minute: _Field
    hour: _Field
    day: _Field
    month: _Field
    weekday: _Field
    zone: Zone

    def next(self, at: float) -> int | None:
        """Give the first slot behind ``at``; None if there is none within five years."""
        if not (self.minute.values and self.hour.values and self.month.values):
            return None
        try:
            return _Search(self, math.floor(at) + 1).run()
        except OverflowError:  # Python's calendar ends with the year 9999.
            return None

    def fits_day(self, wall: datetime) -> bool:
        """Tell whether the fields allow the day."""
        day = wall.day in self.day.values
        weekday = wall.isoweekday() % 7 in self.weekday.values
        return day and weekday if self.day.star or self.weekday.star else day or weekday


Schedule = Every | Calendar


class _Search:
    """One search for a slot: field by field, from the month down, each to its next match.

    A field that wraps around sends the search back to the month, for what was matched before may
    match no more. ``_reset`` clears the smaller fields once, when the first field moves.
    """

    def __init__(self, calendar: Calendar, start: int) -> None:
        self._calendar, self._at = calendar, start
        self._moved = False
        self._looks = 0
        self._last_year = self._wall().year + _SEARCH_YEARS

    def run(self) -> int | None:
        """Give the slot."""
        steps = (self._month, self._day, self._hour, self._minute, self._second)
        while self._wall().year <= self._last_year and self._looks <= _MOST_STEPS:
            if all(step() for step in steps):
                return self._at
        return None

    def _wall(self) -> datetime:
        self._looks += 1
        return _EPOCH + timedelta(seconds=self._at + self._calendar.zone(self._at))

    def _reset(self, wall: datetime) -> None:
        if not self._moved:
            self._moved = True
            self._at = _unix(wall.replace(second=0), self._calendar.zone)

    def _month(self) -> bool:
        while (wall := self._wall()).month not in self._calendar.month.values:
            self._reset(wall.replace(day=1, hour=0, minute=0))
            self._at = _unix(_next_month(self._wall()), self._calendar.zone)
            if self._wall().month == 1:
                return False
        return True

    def _day(self) -> bool:
        while not self._calendar.fits_day(wall := self._wall()):
            self._reset(wall.replace(hour=0, minute=0))
            self._at = _unix(self._wall() + timedelta(days=1), self._calendar.zone)
            hour = self._wall().hour
            # Midnight may not exist where the clocks go forward: step to the nearest there is.
            if hour:
                self._at += (24 - hour if hour > 12 else -hour) * 3600
            if self._wall().day == 1 or self._looks > _MOST_STEPS:
                return False
        return True

    def _hour(self) -> bool:
        values = self._calendar.hour.values
        wall = self._wall()
        while wall.hour not in values:
            self._reset(wall.replace(minute=0))
            self._leap(3600, _following(values, wall.hour, 24) - wall.hour)
            wall = self._wall()
            if wall.hour == 0:
                return False
        return True

    def _minute(self) -> bool:
        values = self._calendar.minute.values
        wall = self._wall()
        while wall.minute not in values:
            if not self._moved:
                self._moved = True
                self._at -= self._at % 60
            self._leap(60, _following(values, wall.minute, 60) - wall.minute)
            wall = self._wall()
            if wall.minute == 0:
                return False
        return True

    def _leap(self, unit: int, count: int) -> None:
        """Go ``count`` steps at once, or one where the clocks of the zone change on the way."""
        zone, after = self._calendar.zone, self._at + unit * count
        self._at = after if zone(self._at) == zone(after) else self._at + unit

    def _second(self) -> bool:
        second = self._wall().second
        if second:
            self._moved = True
            self._at += 60 - second
        return not second


def _following(values: frozenset[int], value: int, end: int) -> int:
    return min((each for each in values if each > value), default=end)


def _next_month(wall: datetime) -> datetime:
    """Add a month; a day that the next month lacks falls into the one behind it."""
    year, month = divmod(wall.year * 12 + wall.month, 12)
    return wall.replace(year=year, month=month + 1, day=1) + timedelta(days=wall.day - 1)


def _unix(wall: datetime, zone: Zone) -> int:
    """Give the instant at which a zone shows ``wall``, chosen as Go does where it is not plain."""
    span = wall - _EPOCH
    unix = span.days * 86400 + span.seconds
    offset = zone(unix)
    return unix - zone(unix - offset) if offset else unix


# --- reading --------------------------------------------------------------------------------


def utc(_: int) -> int:
    """Be the zone of Greenwich."""
    return 0


def parse_schedule(text: str, *, timezone: str = "", local: Zone = utc) -> Schedule:
    """Read a schedule; raise InvalidInputError with what is wrong.

    ``timezone`` is the field of a cron workflow; without it and without a ``TZ=`` in the text
    ``local`` counts.
    """
    if len(text) > _MAX_LENGTH:
        raise InvalidInputError(f"a schedule of {len(text)} characters is too long")
    zone = load_zone(timezone, local) if timezone else local
    prefix = _ZONED.match(text)
    if prefix:
        if timezone:
            raise InvalidInputError("the time zone is given twice: in the schedule and beside it")
        if not prefix[2]:
            raise InvalidInputError(f"there is nothing behind the time zone in {text[:60]!r}")
        zone = load_zone(prefix[1], local)
        text = text[prefix.end() :]
    if prefix or timezone:  # Otherwise a blank before an @ is a mistake.
        text = _AROUND.sub("", text)
    if text.startswith("@every "):
        seconds = int(parse_duration(text.removeprefix("@every ")))
        return Every(max(1, seconds))
    if text.startswith("@"):
        if text not in _WORDS:
            raise InvalidInputError(f"{text[:60]!r} is none of {', '.join(_WORDS)}, @every 1h30m")
        text = _WORDS[text]
    parts = [part for part in _SPACES.split(text) if part]
    if len(parts) != len(_FIELDS):
        raise InvalidInputError(
            f"expected 5 fields (minute hour day month weekday), found {len(parts)}"
        )
    minute, hour, day, month, weekday = map(_field, parts, _FIELDS)
    return Calendar(minute, hour, day, month, weekday, zone)


def load_zone(name: str, local: Zone = utc) -> Zone:
    """Find a zone by its name in the database, as Go's LoadLocation."""
    if name == "Local":
        return local
    return _named_zone(name)


@lru_cache(maxsize=512)
def _named_zone(name: str) -> Zone:
    import zoneinfo  # noqa: PLC0415 - most files have no schedules

    if name in {"", "UTC"}:
        return utc
    try:
        table = zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        raise InvalidInputError(f"there is no time zone {name[:60]!r}") from None

    def offset(unix: int) -> int:
        moment = (_EPOCH + timedelta(seconds=unix)).astimezone(table)
        return int((moment.utcoffset() or timedelta()).total_seconds())

    return offset


def _field(text: str, bounds: _Bounds) -> _Field:
    # Empty places between commas count for nothing, even if nothing else is there.
    ranges = [_range(each, bounds) for each in text.split(",") if each]
    values = frozenset[int]().union(*(each.values for each in ranges))
    return _Field(values, any(each.star for each in ranges))


def _range(text: str, bounds: _Bounds) -> _Field:
    span, *steps = text.split("/")
    low, *highs = span.split("-")
    star = low in {"*", "?"}
    if star:
        first, last = bounds.low, bounds.high
    else:
        first = _number(low, bounds)
        last = _number(highs[0], bounds) if highs else first
        _check(len(highs) < 2, bounds, text, "has too many hyphens")
    _check(len(steps) < 2, bounds, text, "has too many slashes")
    step = 1
    if steps:
        step = _number(steps[0], _Bounds(bounds.name, 0, _MAX_INT))
        if not highs:
            last = bounds.high  # A step behind a number leads to the end.
    _check(first >= bounds.low, bounds, text, f"begins before {bounds.low}")
    _check(last <= bounds.high, bounds, text, f"ends behind {bounds.high}")
    _check(first <= last, bounds, text, "runs backwards")
    _check(step > 0, bounds, text, "has no step above 0")
    return _Field(frozenset(range(first, last + 1, step)), star and step == 1)


def _check(sound: bool, bounds: _Bounds, text: str, problem: str) -> None:
    if not sound:
        raise InvalidInputError(f"the {bounds.name} {text[:60]!r} {problem}")


def _number(text: str, bounds: _Bounds) -> int:
    word = text.lower()
    if word in bounds.words:
        return bounds.low + bounds.words.index(word)
    number = int(text) if len(text) < 40 and _NUMBER.fullmatch(text) else -1
    if not 0 <= number <= _MAX_INT:
        raise InvalidInputError(f"the {bounds.name} {text[:60]!r} is not a number")
    return number
