"""sprig's functions on strings, regular expressions, paths and URLs."""

from __future__ import annotations

import base64
import binascii
import hashlib
import posixpath
import re
import urllib.parse
import zlib
from collections.abc import Callable

from tiphys.spec.expression import builtin, regex
from tiphys.spec.expression.fault import MAX_TEXT, Fault, LimitFault
from tiphys.spec.expression.goformat import quote
from tiphys.spec.expression.gostring import (
    byte_length,
    byte_slice,
    decode,
    encode,
    parse_int,
    split_text,
    trim_set,
    trim_space,
)
from tiphys.spec.expression.lexer import is_space
from tiphys.spec.expression.sprig.argument import mapping, shown, text, whole
from tiphys.spec.expression.sprig.case import camel, snake
from tiphys.spec.expression.value import Value


def trunc(count: Value, source: Value) -> str:
    """Keep the first bytes, or with a negative count the last."""
    number, string = whole(count), text(source)
    length = byte_length(string)
    if number < 0 < length + number:
        return byte_slice(string, length + number, length)
    return byte_slice(string, 0, number) if 0 <= number < length else string


def substr(start: Value, end: Value, source: Value) -> str:
    """Cut by bytes; a negative end means the end."""
    first, last, string = whole(start), whole(end), text(source)
    length = byte_length(string)
    if first < 0:
        first = 0
    elif last < 0 or last > length:
        last = length
    if not 0 <= first <= last <= length:
        raise Fault(f"runtime error: slice bounds out of range [{first}:{last}]")
    return byte_slice(string, first, last)


def repeat(count: Value, source: Value) -> str:
    """Repeat a string."""
    times, string = whole(count), text(source)
    if times < 0:
        raise Fault("strings: negative Repeat count")
    if times * len(string) > MAX_TEXT:
        raise LimitFault(f"repeat would make more than {MAX_TEXT} characters")
    return string * times


def abbreviate(left: int, width: int, string: str) -> str:
    """Shorten with dots, so that the byte at ``left`` stays visible."""
    data = encode(string)
    if len(data) <= width:
        return string
    offset = min(left, len(data))
    if len(data) - offset < width - 3:
        offset = len(data) - (width - 3)
    if offset <= 4:
        return decode(data[: width - 3]) + "..."
    if width < 7:
        return ""
    if offset + width - 3 < len(data):
        return "..." + abbreviate(0, width - 3, decode(data[offset:]))
    return "..." + decode(data[len(data) - (width - 3) :])


def _abbrev(width: Value, source: Value) -> str:
    size, string = whole(width), text(source)
    return string if size < 4 else abbreviate(0, size, string)


def _abbrev_both(left: Value, right: Value, source: Value) -> str:
    low, size, string = whole(left), whole(right), text(source)
    if size < 4 or (low > 0 and size < 7):
        return string
    return abbreviate(low, size, string)


def initials(source: Value) -> str:
    """Take the first letter of each word."""
    found: list[str] = []
    gap = True
    for character in text(source):
        if is_space(character):
            gap = True
        elif gap:
            found.append(character)
            gap = False
    return "".join(found)


def title(source: Value) -> str:
    """Begin each word with a capital, as strings.Title."""
    string = text(source)
    pieces: list[str] = []
    inside = False
    for character in string:
        pieces.append(character if inside else (character.title() or character))
        inside = _in_word(character)
    return "".join(pieces)


def _in_word(character: str) -> bool:
    if character.isascii():
        return character.isalnum() or character == "_"
    return not is_space(character)


def swap_case(source: Value) -> str:
    """Swap cases; a small letter that begins a word becomes a capital anyway."""
    return "".join(character.swapcase() for character in text(source))


def wrap_with(width: Value, separator: Value, source: Value) -> str:
    """Break lines at spaces, and words that are longer than a line."""
    size, data = max(whole(width), 1), encode(text(source))
    glue = encode(text(separator) or "\n")
    lines: list[bytes] = []
    offset = 0
    while len(data) - offset > size:
        if data[offset : offset + 1] == b" ":
            offset += 1
            continue
        space = data.rfind(b" ", offset, size + offset + 1)
        if space >= offset:
            lines.append(data[offset:space])
            offset = space + 1
        else:
            lines.append(data[offset : offset + size])
            offset += size
    if len(lines) * len(glue) + len(data) > MAX_TEXT:
        raise LimitFault(f"wrap would make more than {MAX_TEXT} characters")
    return decode(glue.join([*lines, data[offset:]]))


def indent(spaces: Value, source: Value) -> str:
    """Put spaces before each line."""
    count, string = whole(spaces), text(source)
    if count < 0:
        raise Fault("strings: negative Repeat count")
    if (string.count("\n") + 1) * count > MAX_TEXT:
        raise LimitFault(f"indent would make more than {MAX_TEXT} characters")
    pad = " " * count
    return pad + string.replace("\n", "\n" + pad)


def _numbered(parts: list[str]) -> dict[str, Value]:
    return {f"_{number}": part for number, part in enumerate(parts)}


def string_list(value: Value) -> list[str]:
    """Make strings of a list's elements, or of one value."""
    if value is None:
        return []
    if isinstance(value, list):
        return [shown(item) for item in value if item is not None]
    return [shown(value)]


# --- encodings and sums ---


def b64dec(source: Value) -> str:
    """Decode; a mistake is the result, as in sprig."""
    try:
        return builtin.from_base64(text(source))
    except Fault as fault:
        return fault.message


def b32dec(source: Value) -> str:
    """Decode; a mistake is the result, as in sprig."""
    string = text(source).replace("\n", "").replace("\r", "")
    try:
        return decode(base64.b32decode(string))
    except (binascii.Error, ValueError):
        valid = re.match(r"[A-Z2-7]*", string)
        place = valid.end() if valid else 0
        return f"illegal base32 data at input byte {place}"


def _digest(name: str) -> Callable[[Value], str]:
    return lambda source: hashlib.new(name, encode(text(source))).hexdigest()


# --- regular expressions ---


def regex_match(pattern: Value, source: Value) -> bool:
    """Tell whether it matches; a bad pattern does not."""
    try:
        regex.compile_pattern(text(pattern))
    except LimitFault:
        raise
    except Fault:
        return False
    return regex.matches(text(pattern), text(source))


def regex_find(pattern: Value, source: Value) -> str:
    """Give the first match, or the empty string."""
    match = regex.find(text(pattern), text(source))
    return text(source)[match.start : match.end] if match else ""


def regex_find_all(pattern: Value, source: Value, limit: Value) -> list[str] | None:
    """Give all matches; nil where there is none."""
    string = text(source)
    found = regex.find_all(text(pattern), string, whole(limit))
    return [string[match.start : match.end] for match in found] or None


_EXPANSION = re.compile(r"\$(?:\$|([A-Za-z0-9_]+)|\{([A-Za-z0-9_]+)\})", re.ASCII)


def _replaced(pattern: str, source: str, write: Callable[[regex.Match], str]) -> str:
    pieces: list[str] = []
    position = size = 0
    for match in regex.find_all(pattern, source):
        pieces.extend((source[position : match.start], write(match)))
        size += len(pieces[-1]) + len(pieces[-2])
        if size > MAX_TEXT:
            raise LimitFault(f"replacing would make more than {MAX_TEXT} characters")
        position = match.end
    return "".join([*pieces, source[position:]])


def regex_replace_all(pattern: Value, source: Value, replacement: Value) -> str:
    """Replace matches; ``$1`` and ``${name}`` stand for groups."""
    string, shape = text(source), text(replacement)

    def write(match: regex.Match) -> str:
        return _EXPANSION.sub(lambda found: _group(match, found, string), shape)

    return _replaced(text(pattern), string, write)


def _group(match: regex.Match, found: re.Match[str], source: str) -> str:
    name = found[1] or found[2]
    if name is None:
        return "$"
    if name.isdecimal() and (name == "0" or name[0] != "0"):
        number = int(name) if len(name) < 9 else -1
    else:
        number = match.names.index(name) if name in match.names[1:] else -1
    if not 0 <= number < len(match.names) or match.places[2 * number] < 0:
        return ""
    return source[match.places[2 * number] : match.places[2 * number + 1]]


def regex_replace_all_literal(pattern: Value, source: Value, replacement: Value) -> str:
    """Replace matches by a text as it is."""
    return _replaced(text(pattern), text(source), lambda _: text(replacement))


def regex_split(pattern: Value, source: Value, limit: Value) -> list[str] | None:
    """Split at matches."""
    string, count = text(source), whole(limit)
    if count == 0:
        return None
    if text(pattern) and not string:
        return [""]
    pieces: list[str] = []
    position = end = 0
    for match in regex.find_all(text(pattern), string, count):
        if count > 0 and len(pieces) == count - 1:
            break
        end = match.start
        if match.end != 0:
            pieces.append(string[position:end])
        position = match.end
    if end != len(string):
        pieces.append(string[position:])
    return pieces


def regex_quote_meta(source: Value) -> str:
    """Escape what has a meaning in a pattern."""
    return re.sub(r"([\\.+*?()|\[\]{}^$])", r"\\\1", text(source))


# --- paths and URLs ---


def clean(source: Value) -> str:
    """Shorten a path as path.Clean."""
    path = text(source)
    if not path:
        return "."
    result = posixpath.normpath(path)
    return "/" + result.lstrip("/") if path.startswith("/") else result


def base(source: Value) -> str:
    """Give the last element of a path."""
    path = text(source)
    if not path:
        return "."
    return path.rstrip("/").rpartition("/")[2] or "/"


def directory(source: Value) -> str:
    """Give all but the last element of a path."""
    head, slash, _ = text(source).rpartition("/")
    return clean(head + slash)


def extension(source: Value) -> str:
    """Give the ending of a path, dot included."""
    name = text(source).rpartition("/")[2]
    dot = name.rfind(".")
    return name[dot:] if dot >= 0 else ""


def url_parse(source: Value) -> dict[str, Value]:
    """Take a URL apart."""
    url = text(source)
    try:
        parts = urllib.parse.urlsplit(url)
        hostname = parts.netloc.rpartition("@")[2]
    except ValueError as error:
        raise Fault(f"unable to parse url: parse {quote(url)}: {error}") from None
    opaque = parts.path if parts.scheme and not parts.path.startswith("/") else ""
    user, _, host = parts.netloc.rpartition("@")
    bare = re.sub(r":\d*$", "", hostname)
    return {
        "scheme": parts.scheme,
        "host": host,
        "hostname": bare[1:-1] if bare.startswith("[") and bare.endswith("]") else bare,
        "path": "" if opaque else urllib.parse.unquote(parts.path),
        "query": parts.query,
        "opaque": opaque,
        "fragment": urllib.parse.unquote(parts.fragment),
        "userinfo": user,
    }


def url_join(parts: Value) -> str:
    """Put a URL together."""
    given = dict(mapping(parts).items())
    for key, value in given.items():
        if not isinstance(value, str):
            kind = builtin.kind_name(value)
            raise Fault(f"unable to parse {key} key, must be of type string, but {kind} found")

    def part(name: str) -> str:
        return str(given.get(name, ""))

    url = f"{part('scheme')}:" if part("scheme") else ""
    if part("opaque"):
        url += part("opaque")
    else:
        user = f"{part('userinfo')}@" if part("userinfo") else ""
        if part("scheme") or part("host") or user:
            url += f"//{user}{part('host')}" if part("host") or user or part("path") else ""
        path = urllib.parse.quote(part("path"), safe="/:@!$&'()*+,;=~-._")
        if path and not path.startswith("/") and part("host"):
            path = "/" + path
        url += path
    url += f"?{part('query')}" if part("query") else ""
    fragment = urllib.parse.quote(part("fragment"), safe="/:@!$&'()*+,;=~-._?")
    return url + (f"#{fragment}" if fragment else "")


TEXT: dict[str, Callable[..., Value]] = {
    "hello": lambda: "Hello!",
    "abbrev": _abbrev,
    "abbrevboth": _abbrev_both,
    "trunc": trunc,
    "trim": lambda source: trim_space(text(source)),
    "upper": lambda source: text(source).upper(),
    "lower": lambda source: text(source).lower(),
    "title": title,
    "untitle": lambda source: _untitled(text(source)),
    "substr": substr,
    "repeat": repeat,
    "trimall": lambda characters, source: trim_set(text(source), text(characters)),
    "trimAll": lambda characters, source: trim_set(text(source), text(characters)),
    "trimSuffix": lambda part, source: text(source).removesuffix(text(part)),
    "trimPrefix": lambda part, source: text(source).removeprefix(text(part)),
    "nospace": lambda source: "".join(c for c in text(source) if not is_space(c)),
    "initials": initials,
    "swapcase": swap_case,
    "snakecase": lambda source: snake(text(source), "_"),
    "camelcase": lambda source: camel(text(source)),
    "kebabcase": lambda source: snake(text(source), "-"),
    "wrap": lambda width, source: wrap_with(width, "\n", source),
    "wrapWith": wrap_with,
    "contains": lambda part, source: text(part) in text(source),
    "hasPrefix": lambda part, source: text(source).startswith(text(part)),
    "hasSuffix": lambda part, source: text(source).endswith(text(part)),
    "quote": lambda *values: " ".join(quote(shown(v)) for v in values if v is not None),
    "squote": lambda *values: " ".join(f"'{shown(v)}'" for v in values if v is not None),
    "cat": lambda *values: " ".join(shown(v) for v in values if v is not None),
    "indent": indent,
    "nindent": lambda spaces, source: "\n" + indent(spaces, source),
    "replace": lambda old, new, source: builtin.replace(text(source), text(old), text(new)),
    "plural": lambda one, many, count: text(one) if whole(count) == 1 else text(many),
    "sha1sum": _digest("sha1"),
    "sha256sum": _digest("sha256"),
    "sha512sum": _digest("sha512"),
    "adler32sum": lambda source: str(zlib.adler32(encode(text(source)))),
    "toString": shown,
    "atoi": lambda source: parse_int(text(source)) or 0,
    "split": lambda separator, source: _numbered(split_text(text(source), text(separator))),
    "splitList": lambda separator, source: split_text(text(source), text(separator)),
    "splitn": lambda separator, count, source: _numbered(
        split_text(text(source), text(separator), whole(count))
    ),
    "toStrings": string_list,
    "join": lambda separator, values: text(separator).join(string_list(values)),
    "sortAlpha": lambda values: sorted(string_list(values)),
    "b64enc": lambda source: builtin.to_base64(text(source)),
    "b64dec": b64dec,
    "b32enc": lambda source: base64.b32encode(encode(text(source))).decode(),
    "b32dec": b32dec,
    "base": base,
    "dir": directory,
    "clean": clean,
    "ext": extension,
    "isAbs": lambda source: text(source).startswith("/"),
    "osBase": base,
    "osDir": directory,
    "osClean": clean,
    "osExt": extension,
    "osIsAbs": lambda source: text(source).startswith("/"),
    "regexMatch": regex_match,
    "mustRegexMatch": lambda pattern, source: regex.matches(text(pattern), text(source)),
    "regexFind": regex_find,
    "mustRegexFind": regex_find,
    "regexFindAll": regex_find_all,
    "mustRegexFindAll": regex_find_all,
    "regexReplaceAll": regex_replace_all,
    "mustRegexReplaceAll": regex_replace_all,
    "regexReplaceAllLiteral": regex_replace_all_literal,
    "mustRegexReplaceAllLiteral": regex_replace_all_literal,
    "regexSplit": regex_split,
    "mustRegexSplit": regex_split,
    "regexQuoteMeta": regex_quote_meta,
    "urlParse": url_parse,
    "urlJoin": url_join,
}


def _untitled(string: str) -> str:
    pieces: list[str] = []
    begins = True
    for character in string:
        gap = is_space(character)
        pieces.append(character.lower() if begins and not gap else character)
        begins = gap
    return "".join(pieces)
