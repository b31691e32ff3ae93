"""Instants, durations and zones with Go's precision and printing.

Pure: there is no "now" here. The zone database is read-only data (``zoneinfo``), not a clock.
Python's ``datetime`` stops at microseconds, Go's values carry nanoseconds; so an ``Instant`` keeps
its own nanoseconds and borrows ``datetime`` only for the calendar.
"""

from __future__ import annotations

import re
import zoneinfo
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache

from tiphys.spec.expression.fault import Fault

SECOND = 1_000_000_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_YEAR_ONE = -62_135_596_800
_YEAR_ZERO = -62_167_219_200
_CYCLE = 146_097 * 86_400
"""Seconds of 400 years, after which the calendar repeats."""
_UNITS = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "μs": 1_000,
    "ms": 1_000_000,
    "s": SECOND,
    "m": 60 * SECOND,
    "h": 3600 * SECOND,
}
_PART = re.compile(r"(\d*)(?:\.(\d*))?([^\d.]+)")


class Named(int):
    """An integer that prints as a name: Go's Month and Weekday."""

    label: str

    def __new__(cls, number: int, label: str) -> Named:
        """Make the number ``number``, printed as ``label``."""
        self = super().__new__(cls, number)
        self.label = label
        return self


@dataclass(frozen=True, slots=True, order=True)
class Duration:
    """A span of time."""

    nanoseconds: int

    def __str__(self) -> str:
        """Print as Go does: ``1h2m3.5s``."""
        total = abs(self.nanoseconds)
        sign = "-" if self.nanoseconds < 0 else ""
        if total < SECOND:
            return sign + _small(total)
        seconds, fraction = divmod(total, SECOND)
        minutes, seconds = divmod(seconds, 60)
        hours, minutes = divmod(minutes, 60)
        text = _decimal(seconds, fraction, 9) + "s"
        if minutes or hours:
            text = f"{minutes}m{text}"
        return sign + (f"{hours}h{text}" if hours else text)

    def rounded(self, unit: int, *, half_up: bool) -> Duration:
        """Round half away from zero (or toward zero) to a multiple of ``unit`` nanoseconds."""
        if unit <= 0:
            return self
        sign = -1 if self.nanoseconds < 0 else 1
        whole, rest = divmod(abs(self.nanoseconds), unit)
        if half_up and rest * 2 >= unit:
            whole += 1
        return Duration(sign * whole * unit)


def _small(total: int) -> str:
    if total == 0:
        return "0s"
    if total < 1_000:
        return f"{total}ns"
    if total < 1_000_000:
        return _decimal(*divmod(total, 1_000), 3) + "µs"
    return _decimal(*divmod(total, 1_000_000), 6) + "ms"


def _decimal(whole: int, fraction: int, digits: int) -> str:
    rest = f"{fraction:0{digits}d}".rstrip("0")
    return f"{whole}.{rest}" if rest else str(whole)


def parse_duration(text: str) -> Duration:
    """Read ``1h30m``, ``-1.5s``, ``0``, as time.ParseDuration."""
    body = text[1:] if text[:1] in {"+", "-"} else text
    if body == "0":
        return Duration(0)
    if not body:
        raise Fault(f'time: invalid duration "{text}"')
    total, position = 0, 0
    while position < len(body):
        match = _PART.match(body, position)
        if match is None or not (match[1] or match[2]):
            if re.fullmatch(r"\d+\.?\d*|\.\d+", body[position:]):
                raise Fault(f'time: missing unit in duration "{text}"')
            raise Fault(f'time: invalid duration "{text}"')
        unit = _UNITS.get(match[3])
        if unit is None:
            raise Fault(f'time: unknown unit "{match[3]}" in duration "{text}"')
        total += int(match[1] or 0) * unit
        if match[2]:
            total += int(match[2]) * unit // 10 ** len(match[2])
        position = match.end()
    if total > 2**63 - (0 if text[0] == "-" else 1):
        raise Fault(f'time: invalid duration "{text}"')
    return Duration(-total if text[0] == "-" else total)


@dataclass(frozen=True, slots=True)
class Zone:
    """A place's clock: from the zone database, or a fixed offset with an abbreviation."""

    name: str
    offset: int = 0
    """Seconds east of Greenwich, for a fixed zone."""
    table: tzinfo | None = None

    def at(self, seconds: int) -> tuple[int, str]:
        """Give the offset and the abbreviation that hold at a Unix time."""
        if self.table is None:
            return self.offset, self.name
        # Zones know nothing of the first years; any early moment answers for them.
        seconds = max(seconds, _YEAR_ONE + 172_800)
        moment = (_EPOCH + timedelta(seconds=seconds)).astimezone(self.table)
        shift = moment.utcoffset() or timedelta()
        return int(shift.total_seconds()), moment.tzname() or ""

    def to_unix(self, wall: datetime) -> int:
        """Give the Unix time at which this zone's clocks show ``wall``."""
        if self.table is None:
            return _unix(wall) - self.offset
        shift = wall.replace(tzinfo=self.table).utcoffset() or timedelta()
        return _unix(wall) - int(shift.total_seconds())

    def __str__(self) -> str:
        """Give the zone's name."""
        return self.name


UTC_ZONE = Zone("UTC")


def _unix(wall: datetime) -> int:
    delta = wall.replace(tzinfo=UTC) - _EPOCH
    return delta.days * 86400 + delta.seconds


@lru_cache(maxsize=256)
def load_zone(name: str) -> Zone:
    """Find a zone by its name in the database, as time.LoadLocation."""
    if name in {"", "UTC", "Local"}:
        # The core has no machine of its own: its local time is UTC.
        return UTC_ZONE if name != "Local" else Zone("Local", table=UTC)
    try:
        return Zone(name, table=zoneinfo.ZoneInfo(name))
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        raise Fault(f"unknown time zone {name}") from None


@dataclass(frozen=True, slots=True, eq=False)
class Instant:
    """A moment, seen in a zone. Two instants are equal when the moment is, whatever the zone."""

    seconds: int
    nanosecond: int = 0
    zone: Zone = UTC_ZONE

    def __eq__(self, other: object) -> bool:
        """Compare the moments."""
        return isinstance(other, Instant) and self.unix_nano == other.unix_nano

    def __hash__(self) -> int:
        """Hash the moment."""
        return hash(self.unix_nano)

    def __lt__(self, other: Instant) -> bool:
        """Tell whether this is before ``other``."""
        return self.unix_nano < other.unix_nano

    def __le__(self, other: Instant) -> bool:
        """Tell whether this is not after ``other``."""
        return self.unix_nano <= other.unix_nano

    @property
    def unix_nano(self) -> int:
        """Nanoseconds since 1970 in UTC."""
        return self.seconds * SECOND + self.nanosecond

    @property
    def wall(self) -> datetime:
        """What the zone's clock shows, to the second, without a zone.

        Go has a year 0 (a time without a date falls into it) and Python has not; such a moment is
        shown 400 years later, where the calendar is the same. ``year`` tells the true year.
        """
        seconds = self.seconds + self.zone.at(self.seconds)[0]
        if seconds < _YEAR_ONE:
            seconds += _CYCLE
        return (_EPOCH + timedelta(seconds=seconds)).replace(tzinfo=None)

    @property
    def year(self) -> int:
        """The year, 0 included."""
        early = self.seconds + self.zone.at(self.seconds)[0] < _YEAR_ONE
        return self.wall.year - 400 if early else self.wall.year

    @property
    def offset(self) -> int:
        """Seconds east of Greenwich."""
        return self.zone.at(self.seconds)[0]

    @property
    def abbreviation(self) -> str:
        """The zone's short name at this moment."""
        return self.zone.at(self.seconds)[1]

    def plus(self, span: Duration) -> Instant:
        """Move by ``span``."""
        return from_unix_nano(self.unix_nano + span.nanoseconds, self.zone)

    def since(self, other: Instant) -> Duration:
        """Give the span from ``other`` to this."""
        span = self.unix_nano - other.unix_nano
        return Duration(max(-(2**63), min(2**63 - 1, span)))

    def seen_in(self, zone: Zone) -> Instant:
        """Give the same moment in another zone."""
        return Instant(self.seconds, self.nanosecond, zone)


def from_unix_nano(nanoseconds: int, zone: Zone = UTC_ZONE) -> Instant:
    """Make an instant; outside the years 1 to 9999 is a fault, for the calendar ends there."""
    seconds, nanosecond = divmod(nanoseconds, SECOND)
    if not _YEAR_ZERO <= seconds <= 253_402_300_799:
        raise Fault("time: year is out of the range 0 to 9999")
    return Instant(seconds, nanosecond, zone)


def from_wall(wall: datetime, nanosecond: int, zone: Zone, *, early: bool = False) -> Instant:
    """Make the instant at which ``zone``'s clocks show ``wall``; ``early``: 400 years before."""
    seconds = zone.to_unix(wall) - (_CYCLE if early else 0)
    return from_unix_nano(seconds * SECOND + nanosecond, zone)


def from_datetime(at: datetime) -> Instant:
    """Make an instant of an aware datetime."""
    moment = at.astimezone(UTC)
    return Instant(_unix(moment.replace(tzinfo=None)), moment.microsecond * 1000)
