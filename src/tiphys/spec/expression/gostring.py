"""Go's functions on strings where Python's differ.

Go counts bytes of UTF-8 where Python counts characters; half characters that a cut leaves are
kept as surrogates (``surrogateescape``) and become U+FFFD when they are written as JSON.
"""

from __future__ import annotations

import math
import re

_INTEGER = re.compile(r"[+-]?[0-9]+")
_FLOAT = re.compile(r"[+-]?(?:(?:[0-9](?:_?[0-9])*)?\.?(?:[0-9](?:_?[0-9])*)?(?:[eE][+-]?[0-9]+)?)")
_HEX_FLOAT = re.compile(r"[+-]?0[xX][0-9a-fA-F]*\.?[0-9a-fA-F]*[pP][+-]?[0-9]+")
_WHITE = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(
    map(chr, range(0x2000, 0x200B))
)


def encode(text: str) -> bytes:
    """Give the bytes Go would hold."""
    return text.encode("utf-8", "surrogateescape")


def decode(data: bytes) -> str:
    """Give the string of Go's bytes."""
    return data.decode("utf-8", "surrogateescape")


def byte_slice(text: str, start: int, stop: int) -> str:
    """Cut by bytes."""
    if text.isascii():
        return text[start:stop]
    return decode(encode(text)[start:stop])


def byte_length(text: str) -> int:
    """Count bytes."""
    return len(text) if text.isascii() else len(encode(text))


def byte_index(text: str, part: str) -> int:
    """Find the first place of ``part``, in bytes."""
    return encode(text).find(encode(part))


def last_byte_index(text: str, part: str) -> int:
    """Find the last place of ``part``, in bytes."""
    return encode(text).rfind(encode(part))


def trim_space(text: str) -> str:
    """Cut what Unicode calls white space from both ends."""
    return text.strip(_WHITE)


def trim_set(text: str, characters: str) -> str:
    """Cut any of ``characters`` from both ends."""
    return text.strip(characters) if characters else text


def split_text(text: str, separator: str, limit: int = -1) -> list[str]:
    """Split as strings.SplitN."""
    if limit == 0:
        return []
    if not separator:
        pieces = list(text)
        return pieces if limit < 0 or limit >= len(pieces) else _first(pieces, limit)
    return text.split(separator, limit - 1 if limit > 0 else -1)


def _first(pieces: list[str], limit: int) -> list[str]:
    return [*pieces[: limit - 1], "".join(pieces[limit - 1 :])]


def split_after(text: str, separator: str, limit: int = -1) -> list[str]:
    """Split as strings.SplitAfterN: separators stay at the end of their piece."""
    pieces = split_text(text, separator, limit)
    return [piece + separator for piece in pieces[:-1]] + pieces[-1:]


def parse_int(text: str) -> int | None:
    """Read as strconv.Atoi, or None."""
    if not _INTEGER.fullmatch(text) or len(text) > 40:
        return None
    number = int(text)
    return number if -(2**63) <= number < 2**63 else None


def parse_float(text: str) -> float | None:
    """Read as strconv.ParseFloat, or None."""
    word = text.lower().lstrip("+-") if text[1:2] not in {"+", "-"} else ""
    if word in {"inf", "infinity", "nan"}:
        return (
            float(text.lower())
            if word != "nan"
            else (math.nan if text == text.lstrip("+-") else None)
        )
    try:
        if _HEX_FLOAT.fullmatch(text):
            number = float.fromhex(text)
        elif _FLOAT.fullmatch(text) and "_" not in text and any(map(str.isdigit, text)):
            number = float(text)
        else:
            return None
    except (ValueError, OverflowError):
        return None
    return None if math.isinf(number) else number
