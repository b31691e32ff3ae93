"""Go's layouts of time: ``2006-01-02T15:04:05Z07:00`` and its kin, for reading and writing.

A layout is an example of the reference time; each piece of it names a field.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache

from tiphys.spec.expression.fault import Fault
from tiphys.spec.expression.goformat import offset_text, quote, zone_text
from tiphys.spec.expression.moment import UTC_ZONE, Instant, Zone, from_wall

MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
DAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]
NAMED = {
    "ANSIC": "Mon Jan _2 15:04:05 2006",
    "UnixDate": "Mon Jan _2 15:04:05 MST 2006",
    "RubyDate": "Mon Jan 02 15:04:05 -0700 2006",
    "RFC822": "02 Jan 06 15:04 MST",
    "RFC850": "Monday, 02-Jan-06 15:04:05 MST",
    "RFC1123": "Mon, 02 Jan 2006 15:04:05 MST",
    "RFC3339": "2006-01-02T15:04:05Z07:00",
    "RFC3339Nano": "2006-01-02T15:04:05.999999999Z07:00",
    "Kitchen": "3:04PM",
}
_GUESSES = (
    "2006-01-02",
    "15:04:05",
    "2006-01-02 15:04:05",
    NAMED["RFC3339"],
    NAMED["RFC822"],
    NAMED["RFC850"],
    NAMED["RFC1123"],
)
_PIECE = re.compile(
    r"January|Jan(?![a-z])|Monday|Mon(?![a-z])|MST|2006|__2|_2(?!006)|002|0[1-6]|15|[12345]"
    r"|PM|pm|[-Z]07(?::00:00|0000|:00|00|)|[.,](?:0+|9+)(?![0-9])"
)


@lru_cache(maxsize=512)
def pieces(layout: str) -> tuple[tuple[str, str], ...]:
    """Split a layout into ``(text before, piece)``; the last piece is empty."""
    found: list[tuple[str, str]] = []
    position = 0
    for match in _PIECE.finditer(layout):
        found.append((layout[position : match.start()], match[0]))
        position = match.end()
    found.append((layout[position:], ""))
    return tuple(found)


def write(layout: str, at: Instant) -> str:
    """Write an instant by a layout."""
    wall = at.wall
    written: list[str] = []
    for before, piece in pieces(layout):
        written.append(before)
        writer = _WRITERS.get(piece)
        if writer is not None:
            written.append(writer(wall))
        elif piece:
            written.append(_write_other(piece, at))
    return "".join(written)


_WRITERS: dict[str, Callable[[datetime], str]] = {
    "January": lambda wall: MONTHS[wall.month - 1],
    "Jan": lambda wall: MONTHS[wall.month - 1][:3],
    "Monday": lambda wall: DAYS[wall.isoweekday() % 7],
    "Mon": lambda wall: DAYS[wall.isoweekday() % 7][:3],
    "01": lambda wall: f"{wall.month:02d}",
    "1": lambda wall: str(wall.month),
    "02": lambda wall: f"{wall.day:02d}",
    "2": lambda wall: str(wall.day),
    "_2": lambda wall: f"{wall.day:2d}",
    "002": lambda wall: f"{wall.timetuple().tm_yday:03d}",
    "__2": lambda wall: f"{wall.timetuple().tm_yday:3d}",
    "15": lambda wall: f"{wall.hour:02d}",
    "03": lambda wall: f"{(wall.hour + 11) % 12 + 1:02d}",
    "3": lambda wall: str((wall.hour + 11) % 12 + 1),
    "04": lambda wall: f"{wall.minute:02d}",
    "4": lambda wall: str(wall.minute),
    "05": lambda wall: f"{wall.second:02d}",
    "5": lambda wall: str(wall.second),
    "PM": lambda wall: "PM" if wall.hour >= 12 else "AM",
    "pm": lambda wall: "pm" if wall.hour >= 12 else "am",
}


def _write_other(piece: str, at: Instant) -> str:
    if piece == "MST":
        return zone_text(at)
    if piece in {"2006", "06"}:
        return f"{at.year:04d}"[-len(piece) :]
    if piece[0] in ".,":
        return _fraction(piece, at.nanosecond)
    offset = at.offset
    if piece[0] == "Z" and offset == 0:
        return "Z"
    colon = ":" if ":" in piece else ""
    text = offset_text(offset, colon)
    if len(piece) == 3:
        return text[:3]
    return text + (f"{colon}{abs(offset) % 60:02d}" if len(piece) > 6 else "")


def _fraction(piece: str, nanosecond: int) -> str:
    digits = f"{nanosecond:09d}"[: len(piece) - 1].ljust(len(piece) - 1, "0")
    if piece[1] == "9":
        digits = digits.rstrip("0")
        return piece[0] + digits if digits else ""
    return piece[0] + digits


@dataclass(slots=True)
class _Fields:
    year: int = 0
    month: int = 1
    day: int = 1
    year_day: int = 0
    hour: int = 0
    minute: int = 0
    second: int = 0
    nanosecond: int = 0
    evening: bool | None = None
    zone: Zone | None = None


class _Unreadable(Exception):  # noqa: N818 - turned into a Fault at once
    def __init__(self, piece: str, rest: str, why: str = "") -> None:
        super().__init__(piece)
        self.piece, self.rest, self.why = piece, rest, why


def guess(text: str, zone: Zone | None = None) -> Instant:
    """Read an instant in one of the layouts expr-lang tries."""
    for layout in _GUESSES:
        try:
            return parse(layout, text, zone)
        except Fault:
            continue
    raise Fault(f"invalid date {text}")


def parse(layout: str, text: str, zone: Zone | None = None) -> Instant:
    """Read ``text`` by ``layout``; without a zone in it, clocks show ``zone`` (UTC)."""
    fields = _Fields()
    try:
        rest = text
        for before, piece in pieces(layout):
            rest = _skip(before, rest)
            if piece:
                rest = _read(piece, rest, fields)
        if rest:
            raise _Unreadable("", rest, f": extra text: {quote(rest)}")
        return _assemble(fields, zone or UTC_ZONE)
    except _Unreadable as error:
        if error.why:
            message = f"parsing time {quote(text)}{error.why}"
        else:
            message = (
                f"parsing time {quote(text)} as {quote(layout)}: "
                f"cannot parse {quote(error.rest)} as {quote(error.piece)}"
            )
        raise Fault(message) from None


def _skip(before: str, rest: str) -> str:
    for character in before:
        if character == " ":
            # A space of the layout takes any number of spaces, but at least one if text is left.
            if rest and not rest.startswith(" "):
                raise _Unreadable(before, rest)
            rest = rest.lstrip(" ")
        elif rest.startswith(character):
            rest = rest[1:]
        else:
            raise _Unreadable(before, rest)
    return rest


_NUMERIC: dict[str, tuple[str, str]] = {
    "2006": ("year", r"\d{4}"),
    "01": ("month", r"\d\d"),
    "1": ("month", r"\d\d?"),
    "02": ("day", r"\d\d"),
    "2": ("day", r"\d\d?"),
    "_2": ("day", r" ?\d\d?"),
    "002": ("year_day", r"\d{3}"),
    "__2": ("year_day", r" {0,2}\d{1,3}"),
    "15": ("hour", r"\d\d?"),
    "03": ("hour", r"\d\d"),
    "3": ("hour", r"\d\d?"),
    "04": ("minute", r"\d\d"),
    "4": ("minute", r"\d\d?"),
    "05": ("second", r"\d\d"),
    "5": ("second", r"\d\d?"),
}
_RANGES = {
    "month": (1, 12),
    "day": (1, 31),
    "hour": (0, 23),
    "minute": (0, 59),
    "second": (0, 59),
}


def _read(piece: str, rest: str, fields: _Fields) -> str:
    if piece in _NUMERIC:
        return _read_number(piece, rest, fields)
    if piece == "06":
        match = re.match(r"\d\d", rest, re.ASCII)
        if not match:
            raise _Unreadable(piece, rest)
        fields.year = int(match[0]) + (1900 if int(match[0]) >= 69 else 2000)
        return rest[2:]
    if piece in {"January", "Jan", "Monday", "Mon"}:
        return _read_name(piece, rest, fields)
    if piece in {"PM", "pm"}:
        word = rest[:2]
        if word not in ({"AM", "PM"} if piece == "PM" else {"am", "pm"}):
            raise _Unreadable(piece, rest)
        fields.evening = word.upper() == "PM"
        return rest[2:]
    if piece[0] in ".,":
        return _read_fraction(piece, rest, fields)
    return _read_zone(piece, rest, fields)


def _read_number(piece: str, rest: str, fields: _Fields) -> str:
    name, pattern = _NUMERIC[piece]
    match = re.match(pattern, rest, re.ASCII)
    if not match:
        raise _Unreadable(piece, rest)
    number = int(match[0])
    low, high = (0, 12) if piece in {"3", "03"} else _RANGES.get(name, (0, 9999))
    if not low <= number <= high:
        raise _Unreadable(piece, rest, f": {name} out of range")
    setattr(fields, name, number)
    rest = rest[match.end() :]
    if name == "second":
        # Go takes a fraction after the seconds even where the layout has none.
        match = re.match(r"[.,](\d+)", rest, re.ASCII)
        if match:
            fields.nanosecond = int(match[1][:9].ljust(9, "0"))
            rest = rest[match.end() :]
    return rest


def _read_name(piece: str, rest: str, fields: _Fields) -> str:
    names = MONTHS if piece in {"January", "Jan"} else DAYS
    for number, name in enumerate(names, start=1):
        word = name if piece in {"January", "Monday"} else name[:3]
        if rest[: len(word)].lower() == word.lower():
            if names is MONTHS:
                fields.month = number
            return rest[len(word) :]
    raise _Unreadable(piece, rest)


def _read_fraction(piece: str, rest: str, fields: _Fields) -> str:
    if piece[1] == "9":
        match = re.match(r"[.,](\d+)", rest, re.ASCII)
        if not match:
            return rest
    else:
        match = re.match(rf"[.,](\d{{{len(piece) - 1}}})", rest, re.ASCII)
        if not match:
            raise _Unreadable(piece, rest)
    fields.nanosecond = int(match[1][:9].ljust(9, "0"))
    return rest[match.end() :]


def _read_zone(piece: str, rest: str, fields: _Fields) -> str:
    if piece == "MST":
        match = re.match(r"UTC|[A-Z]{3,5}(?![a-z])|[+-]\d\d", rest, re.ASCII)
        if not match:
            raise _Unreadable(piece, rest)
        fields.zone = UTC_ZONE if match[0] == "UTC" else Zone(match[0])
        return rest[match.end() :]
    if piece[0] == "Z" and rest.startswith("Z"):
        fields.zone = UTC_ZONE
        return rest[1:]
    shape = re.sub(r"\d", r"\\d", piece[1:])
    match = re.match(rf"([+-]){shape}", rest, re.ASCII)
    if not match:
        raise _Unreadable(piece, rest)
    digits = match[0][1:].replace(":", "").ljust(6, "0")
    seconds = int(digits[:2]) * 3600 + int(digits[2:4]) * 60 + int(digits[4:6])
    seconds = -seconds if match[1] == "-" else seconds
    fields.zone = UTC_ZONE if seconds == 0 and piece[0] == "Z" else Zone("", seconds)
    return rest[match.end() :]


def _assemble(fields: _Fields, zone: Zone) -> Instant:
    hour = fields.hour
    if fields.evening is not None:
        hour = hour % 12 + (12 if fields.evening else 0)
    try:
        # Python has no year 0; the year 400 has the same calendar.
        wall = datetime(  # noqa: DTZ001 - what a clock shows; the zone comes after
            fields.year or 400, fields.month, fields.day, hour, fields.minute, fields.second
        )
        if fields.year_day:
            year = wall.year
            wall = wall.replace(month=1, day=1) + timedelta(days=fields.year_day - 1)
            if wall.year != year:
                raise _Unreadable("", "", ": day-of-year out of range")
    except ValueError:
        raise _Unreadable("", "", ": day out of range") from None
    return from_wall(wall, fields.nanosecond, fields.zone or zone, early=fields.year == 0)
