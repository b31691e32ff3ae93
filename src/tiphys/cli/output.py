"""Objects and tables on stdout."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import msgspec

from tiphys.cli.text import columns


def print_object(value: Any, form: str) -> None:
    """Print plain data as ``json`` or ``yaml``; JSON may come encoded."""
    if form == "yaml":
        sys.stdout.write(_yaml(value))
        return
    encoded = value if isinstance(value, bytes) else msgspec.json.encode(value)
    sys.stdout.buffer.write(msgspec.json.format(encoded, indent=2) + b"\n")
    sys.stdout.flush()


def _yaml(value: Any) -> str:
    import yaml  # noqa: PLC0415

    plain = msgspec.json.decode(value) if isinstance(value, bytes) else msgspec.to_builtins(value)
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    text: str = yaml.dump(plain, Dumper=dumper, sort_keys=False, allow_unicode=True, width=100)
    return text


def print_objects(values: Sequence[Any], form: str) -> None:
    """Print one object as it is, several as a List."""
    if len(values) == 1:
        print_object(values[0], form)
        return
    items = [msgspec.Raw(value) if isinstance(value, bytes) else value for value in values]
    listed = {"apiVersion": "v1", "kind": "List", "metadata": {}, "items": items}
    print_object(msgspec.json.encode(listed), form)


def print_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows below a head, in columns as wide as they must be."""
    sys.stdout.write("".join(f"{line}\n" for line in columns([head, *rows])))
