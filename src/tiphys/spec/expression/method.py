"""The methods of times, durations and zones that an expression may call.

The tables are the whole of it: nothing of a Python object can be reached from an expression.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from tiphys.spec.expression import layout
from tiphys.spec.expression.fault import Fault
from tiphys.spec.expression.goformat import text_of
from tiphys.spec.expression.moment import (
    SECOND,
    UTC_ZONE,
    Duration,
    Instant,
    Named,
    Zone,
    from_wall,
)
from tiphys.spec.expression.semver import VERSION_METHODS, Version
from tiphys.spec.expression.value import Function, Value, is_int, type_name, wrap


def method_of(owner: Value, name: str) -> Function | None:
    """Find a method and bind it; most values have none."""
    found = _TABLES.get(type(owner), {}).get(name)
    if found is None:
        return None
    return Function(name, lambda *given: found(owner, *given))


def _instant(value: Value) -> Instant:
    if isinstance(value, Instant):
        return value
    raise Fault(f"reflect: Call using {type_name(value)} as type time.Time")


def _duration(value: Value) -> Duration:
    if isinstance(value, Duration):
        return value
    raise Fault(f"reflect: Call using {type_name(value)} as type time.Duration")


def _zone(value: Value) -> Zone:
    if isinstance(value, Zone):
        return value
    raise Fault(f"reflect: Call using {type_name(value)} as type *time.Location")


def _text(value: Value) -> str:
    if isinstance(value, str):
        return value
    raise Fault(f"reflect: Call using {type_name(value)} as type string")


def _whole(value: Value) -> int:
    if is_int(value):
        return int(value)
    raise Fault(f"reflect: Call using {type_name(value)} as type int")


def _add_date(at: Instant, years: Value, months: Value, days: Value) -> Instant:
    wall = at.wall
    month = at.year * 12 + wall.month - 1 + _whole(years) * 12 + _whole(months)
    try:
        start = datetime(month // 12, month % 12 + 1, 1, wall.hour, wall.minute, wall.second)  # noqa: DTZ001
        moved = start + timedelta(days=wall.day - 1 + _whole(days))
    except (ValueError, OverflowError):
        raise Fault("time: year is out of the range 0 to 9999") from None
    return from_wall(moved, at.nanosecond, at.zone)


def _weekday(at: Instant) -> Named:
    number = at.wall.isoweekday() % 7
    return Named(number, layout.DAYS[number])


INSTANT: dict[str, Callable[..., Value]] = {
    "Year": lambda at: at.year,
    "Month": lambda at: Named(at.wall.month, layout.MONTHS[at.wall.month - 1]),
    "Day": lambda at: at.wall.day,
    "Hour": lambda at: at.wall.hour,
    "Minute": lambda at: at.wall.minute,
    "Second": lambda at: at.wall.second,
    "Nanosecond": lambda at: at.nanosecond,
    "YearDay": lambda at: at.wall.timetuple().tm_yday,
    "Weekday": _weekday,
    "Unix": lambda at: at.seconds,
    "UnixMilli": lambda at: at.unix_nano // 1_000_000,
    "UnixMicro": lambda at: at.unix_nano // 1_000,
    "UnixNano": lambda at: wrap(at.unix_nano),
    "Format": lambda at, shape: layout.write(_text(shape), at),
    "String": text_of,
    "Add": lambda at, span: at.plus(_duration(span)),
    "Sub": lambda at, other: at.since(_instant(other)),
    "AddDate": _add_date,
    "Before": lambda at, other: at < _instant(other),
    "After": lambda at, other: _instant(other) < at,
    "Equal": lambda at, other: at == _instant(other),
    "Compare": lambda at, other: (at > _instant(other)) - (at < _instant(other)),
    "IsZero": lambda at: at.unix_nano == -62_135_596_800 * SECOND,
    "UTC": lambda at: at.seen_in(UTC_ZONE),
    "Local": lambda at: at.seen_in(UTC_ZONE),
    "In": lambda at, zone: at.seen_in(_zone(zone)),
    "Location": lambda at: at.zone,
    "Truncate": lambda at, span: at.plus(
        Duration(-((at.unix_nano + 62_135_596_800 * SECOND) % max(_duration(span).nanoseconds, 1)))
    ),
}
DURATION: dict[str, Callable[..., Value]] = {
    "Hours": lambda span: span.nanoseconds / (3600 * SECOND),
    "Minutes": lambda span: span.nanoseconds / (60 * SECOND),
    "Seconds": lambda span: span.nanoseconds / SECOND,
    "Milliseconds": lambda span: int(span.nanoseconds / 1_000_000),
    "Microseconds": lambda span: int(span.nanoseconds / 1_000),
    "Nanoseconds": lambda span: span.nanoseconds,
    "String": str,
    "Abs": lambda span: Duration(abs(span.nanoseconds)),
    "Round": lambda span, unit: span.rounded(_duration(unit).nanoseconds, half_up=True),
    "Truncate": lambda span, unit: span.rounded(_duration(unit).nanoseconds, half_up=False),
}
_TABLES: dict[type, dict[str, Callable[..., Value]]] = {
    Instant: INSTANT,
    Duration: DURATION,
    Zone: {"String": str},
    Named: {"String": text_of},
    Version: VERSION_METHODS,
}
