"""Text for terminals: widths, colours, columns, durations. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cache

_COLOUR = r"\x1b\[[0-9;]*m"

COLOURS = {
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
    "magenta": "35",
    "cyan": "36",
    "grey": "90",
    "bold": "1",
    "dim": "2",
}


def wants_colour(environment: Mapping[str, str], *, terminal: bool) -> bool:
    """Tell whether to colour: on terminals, unless somebody asked not to."""
    if environment.get("NO_COLOR"):
        return False
    return terminal and environment.get("TERM", "") != "dumb"


class Paint:
    """Colours, or none."""

    def __init__(self, on: bool) -> None:
        self.on = on

    def __call__(self, text: str, *colours: str) -> str:
        """Give ``text`` in these colours."""
        if not self.on or not colours or not text:
            return text
        codes = ";".join(COLOURS[colour] for colour in colours)
        return f"\x1b[{codes}m{text}\x1b[0m"


@cache
def _escape() -> re.Pattern[str]:
    # At first use: most runs write no escapes.
    return re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")


def strip_escapes(text: str) -> str:
    """Take colours out."""
    return _escape().sub("", text)


def printable(text: str) -> str:
    """Keep tabs and colours, make every other control character visible.

    A task may colour its lines; it may not move the cursor or set the window's title.
    """
    if text.isprintable():
        return text
    kept = []
    end = 0
    for colour in re.finditer(_COLOUR, text):
        kept += [_shown(text[end : colour.start()]), colour[0]]
        end = colour.end()
    rest = _shown(text[end:])
    return "".join([*kept, rest, "\x1b[0m" if kept else ""])


def _shown(text: str) -> str:
    return "".join(
        char if char.isprintable() or char == "\t" else repr(char)[1:-1] for char in text
    )


def width(text: str) -> int:
    """Count the cells that ``text`` takes on a terminal; escapes take none."""
    plain = strip_escapes(text)
    if plain.isascii():
        return len(plain)
    return sum(_cells(char) for char in plain)


def _cells(char: str) -> int:
    import unicodedata  # noqa: PLC0415 - large, and rarely needed

    if unicodedata.combining(char) or unicodedata.category(char) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def cut(text: str, room: int) -> str:
    """Shorten ``text`` to ``room`` cells, with an ellipsis; escapes stay whole."""
    if width(text) <= room:
        return text
    if room < 1:
        return ""
    kept, used, place = "", 0, 0
    while place < len(text):
        escape = _escape().match(text, place)
        if escape:
            kept += escape[0]
            place = escape.end()
            continue
        used += _cells(text[place])
        if used > room - 1:
            break
        kept += text[place]
        place += 1
    return kept + "…" + ("\x1b[0m" if "\x1b" in kept else "")


def pad(text: str, room: int) -> str:
    """Fill ``text`` up to ``room`` cells."""
    return text + " " * (room - width(text))


def columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Align rows in columns three spaces apart, as kubectl does."""
    count = max((len(row) for row in rows), default=0)
    widths = [max(width(row[i]) for row in rows if i < len(row)) for i in range(count)]
    return ["   ".join(pad(cell, widths[i]) for i, cell in enumerate(row)).rstrip() for row in rows]


def short_duration(seconds: float) -> str:
    """Write a duration in at most two units, as kubectl and argo do: ``3s``, ``2m``, ``1h5m``."""
    whole = max(0, round(seconds))
    for size, unit, below, small in (
        (86400, "d", 3600, "h"),
        (3600, "h", 60, "m"),
        (60, "m", 1, "s"),
    ):
        if whole >= size:
            rest = whole % size // below
            return f"{whole // size}{unit}{rest}{small}" if rest else f"{whole // size}{unit}"
    return f"{whole}s"


def live_duration(seconds: float) -> str:
    """Write a duration that is being watched: tenths below ten seconds."""
    if seconds < 10:
        return f"{max(0.0, seconds):.1f}s"
    return short_duration(seconds)


def moment(at: float | None) -> str:
    """Write an instant for people, in the machine's time zone."""
    if at is None:
        return ""
    return datetime.fromtimestamp(at, UTC).astimezone().strftime("%a %b %d %H:%M:%S %z")


def clock(at: float) -> str:
    """Write the time of day."""
    return datetime.fromtimestamp(at, UTC).astimezone().strftime("%H:%M:%S")


def rfc3339(at: float) -> str:
    """Write an instant for machines, to the millisecond."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"


def rfc3339_seconds(at: float) -> str:
    """Write an instant as Kubernetes does."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def bar(done: int, total: int, room: int) -> str:
    """Draw a progress bar."""
    filled = 0 if total == 0 else min(room, done * room // total)
    return "█" * filled + "░" * (room - filled)
