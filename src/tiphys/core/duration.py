"""Go's durations (``1h30m``, ``1.5h``, ``250ms``), as seconds.

Argo writes all its times this way; in some places it also takes a bare number as seconds.
"""

from __future__ import annotations

import re
from decimal import Decimal

from tiphys.errors import InvalidInputError

_NANOSECONDS = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,  # the micro sign
    "μs": 10**3,  # the Greek letter
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
# Texts, not compiled: most commands read no duration, and `re` keeps what it has compiled.
_PART = r"(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)"
_WHOLE = rf"[+-]?(?:0|(?:{_PART})+)"
_BARE = r"[+-]?\d+"
# Go keeps nanoseconds in 64 bits; whatever is longer is refused there too.
_MAX_NANOSECONDS = 2**63 - 1
_MAX_LENGTH = 100


def parse_duration(text: str) -> float:
    """Give the seconds of a Go duration."""
    if len(text) > _MAX_LENGTH or not re.fullmatch(_WHOLE, text, re.ASCII):
        raise InvalidInputError(f"{text[:40]!r} is not a duration such as 10s, 1h30m or 500ms")
    parts = re.findall(_PART, text, re.ASCII)
    total = sum(int(Decimal(number) * _NANOSECONDS[unit]) for number, unit in parts)
    if total > _MAX_NANOSECONDS:
        raise InvalidInputError(f"the duration {text[:40]!r} is too long")
    return (-total if text.startswith("-") else total) / 1e9


def parse_duration_or_seconds(text: str) -> float:
    """Give the seconds of a Go duration, or of a bare whole number of seconds."""
    if len(text) < 19 and re.fullmatch(_BARE, text, re.ASCII):
        return float(int(text))
    return parse_duration(text)


def parse_age(text: str) -> float:
    """Give the seconds of a Go duration that may begin with days: ``30d``, ``1d12h``."""
    days, letter, rest = text.partition("d")
    if not letter:
        return parse_duration(text)
    if not days.isdecimal() or len(days) > 6:
        raise InvalidInputError(f"{text[:40]!r} is not an age such as 7d, 1d12h or 90m")
    return int(days) * 86400.0 + (parse_duration(rest) if rest else 0.0)


def format_duration(seconds: float) -> str:
    """Write seconds the way Go does: ``1h30m0s``, ``1.5s``, ``250ms``, ``0s``."""
    nanoseconds = round(abs(seconds) * 1e9)
    sign = "-" if seconds < 0 and nanoseconds else ""
    if nanoseconds == 0:
        return "0s"
    if nanoseconds < 10**9:
        unit = next(unit for unit in ("ms", "µs", "ns") if nanoseconds >= _NANOSECONDS[unit])
        return sign + _decimal(nanoseconds, _NANOSECONDS[unit]) + unit
    minutes, rest = divmod(nanoseconds, _NANOSECONDS["m"])
    text = _decimal(rest, 10**9) + "s"
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{sign}{hours}h{minutes}m{text}"
    return f"{sign}{minutes}m{text}" if minutes else sign + text


def _decimal(amount: int, unit: int) -> str:
    whole, rest = divmod(amount, unit)
    if not rest:
        return str(whole)
    return f"{whole}.{rest:0{len(str(unit)) - 1}d}".rstrip("0")
