"""sprig's functions that ask for the time or for chance, and those on dates.

All take the ``Host`` first; the interpreter hands it in.
"""

from __future__ import annotations

import base64
import uuid
from collections.abc import Callable

from tiphys.spec.expression import layout
from tiphys.spec.expression.fault import MAX_TEXT, Fault, LimitFault
from tiphys.spec.expression.gostring import parse_int
from tiphys.spec.expression.host import Host
from tiphys.spec.expression.moment import (
    SECOND,
    UTC_ZONE,
    Duration,
    Instant,
    from_datetime,
    from_unix_nano,
    load_zone,
    parse_duration,
)
from tiphys.spec.expression.sprig.argument import instant, text, whole
from tiphys.spec.expression.value import Int64, Value, is_int

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_DIGITS = "0123456789"
_PRINTABLE = "".join(map(chr, range(32, 127)))
_ZERO_TIME = Instant(-62_135_596_800)
_SPANS = (
    ("y", 365 * 24 * 3600),
    ("mo", 30 * 24 * 3600),
    ("d", 24 * 3600),
    ("h", 3600),
    ("m", 60),
    ("s", 1),
)


def _moment(host: Host, value: Value) -> Instant:
    if isinstance(value, Instant):
        return value
    if is_int(value):
        return from_unix_nano(int(value) * SECOND)
    return from_datetime(host.now)


def date_in_zone(host: Host, shape: Value, value: Value, zone: Value) -> str:
    """Write a time by a layout in a zone; an unknown zone is UTC."""
    try:
        place = load_zone(text(zone))
    except Fault:
        place = UTC_ZONE
    return layout.write(text(shape), _moment(host, value).seen_in(place))


def _ago(host: Host, value: Value) -> str:
    span = from_datetime(host.now).since(_moment(host, value))
    return str(span.rounded(SECOND, half_up=True))


def _modified(span: Value, at: Value) -> Instant:
    try:
        return instant(at).plus(parse_duration(text(span)))
    except Fault as fault:
        if fault.message.startswith("time: "):
            return instant(at)
        raise


def _duration(value: Value) -> str:
    seconds = 0
    if isinstance(value, str):
        seconds = parse_int(value) or 0
    elif isinstance(value, Int64):
        seconds = int(value)
    return str(Duration(seconds * SECOND))


def duration_round(host: Host, value: Value) -> str:
    """Write a span by its largest unit."""
    nanoseconds = 0
    if isinstance(value, str):
        try:
            nanoseconds = parse_duration(value).nanoseconds
        except Fault:
            nanoseconds = 0
    elif isinstance(value, Int64):
        nanoseconds = int(value)
    elif isinstance(value, Instant):
        nanoseconds = from_datetime(host.now).since(value).nanoseconds
    for unit, seconds in _SPANS:
        if abs(nanoseconds) > seconds * SECOND:
            return f"{abs(nanoseconds) // (seconds * SECOND)}{unit}"
    return "0s"


def _to_date(shape: Value, source: Value) -> Instant:
    try:
        return layout.parse(text(shape), text(source))
    except Fault:
        return _ZERO_TIME


def _chosen(alphabet: str) -> Callable[[Host, Value], str]:
    def make(host: Host, count: Value) -> str:
        size = whole(count)
        if size < 0:
            return ""
        if size > MAX_TEXT // 8:
            raise LimitFault(f"{size} random characters exceed {MAX_TEXT // 8}")
        raw = host.random(size * 8)
        return "".join(
            alphabet[int.from_bytes(raw[at * 8 : at * 8 + 8]) % len(alphabet)] for at in range(size)
        )

    return make


def _rand_int(host: Host, low: Value, high: Value) -> int:
    width = whole(high) - whole(low)
    if width <= 0:
        raise Fault("invalid argument to Intn")
    return int.from_bytes(host.random(16)) % width + whole(low)


def _rand_bytes(host: Host, count: Value) -> str:
    if not 0 <= whole(count) <= MAX_TEXT // 2:
        raise LimitFault(f"{whole(count)} random bytes are out of range")
    return base64.b64encode(host.random(whole(count))).decode()


def _shuffle(host: Host, source: Value) -> str:
    characters = list(text(source))
    for last in range(len(characters) - 1, 0, -1):
        other = int.from_bytes(host.random(8)) % (last + 1)
        characters[last], characters[other] = characters[other], characters[last]
    return "".join(characters)


def _fail(message: Value) -> Value:
    raise Fault(text(message))


WORLD: dict[str, Callable[..., Value]] = {
    "now": lambda host: from_datetime(host.now),
    "ago": _ago,
    "date": lambda host, shape, value: date_in_zone(host, shape, value, "Local"),
    "dateInZone": date_in_zone,
    "date_in_zone": date_in_zone,
    "htmlDate": lambda host, value: date_in_zone(host, "2006-01-02", value, "Local"),
    "htmlDateInZone": lambda host, value, zone: date_in_zone(host, "2006-01-02", value, zone),
    "durationRound": duration_round,
    "randAlphaNum": _chosen(_LETTERS + _DIGITS),
    "randAlpha": _chosen(_LETTERS),
    "randAscii": _chosen(_PRINTABLE),
    "randNumeric": _chosen(_DIGITS),
    "randInt": _rand_int,
    "randBytes": _rand_bytes,
    "shuffle": _shuffle,
    "uuidv4": lambda host: str(uuid.UUID(bytes=host.random(16), version=4)),
}
"""Called with the host before their own arguments."""

DATE: dict[str, Callable[..., Value]] = {
    "dateModify": _modified,
    "date_modify": _modified,
    "mustDateModify": lambda span, at: instant(at).plus(parse_duration(text(span))),
    "must_date_modify": lambda span, at: instant(at).plus(parse_duration(text(span))),
    "duration": _duration,
    "toDate": _to_date,
    "mustToDate": lambda shape, source: layout.parse(text(shape), text(source)),
    "unixEpoch": lambda at: str(instant(at).seconds),
    "fail": _fail,
}
