"""A node as it stands in the store: its JSON, but for a long list of parents.

A task that waits for a whole layer has as many parents as the layer is wide, and they would be
written in full with each change of each task that waits for the same. Their ids differ in a number
of 32 bits: only these numbers are written.
"""

from __future__ import annotations

import binascii
import struct
from collections.abc import Callable
from functools import cache, lru_cache

import msgspec

from tiphys.engine.node import Node

MANY = 16
"""So many parents are worth the trouble."""
_encode = msgspec.json.Encoder().encode
replace = msgspec.structs.replace


def encode_node(node: Node) -> bytes:
    """Write a node."""
    parents = node.ours.parents
    packed = _pack(_stem(node.id), parents) if len(parents) >= MANY else ""
    if not packed:
        return _encode(node)
    return _encode(replace(node, ours=replace(node.ours, parents=(), packed=packed)))


def decode_node(body: bytes) -> Node:
    """Read a node; raise ``msgspec.DecodeError`` for a body that is none."""
    node = _decoder()(body)
    if node.ours.packed:
        node.ours.parents = _unpack(_stem(node.id), node.ours.packed)
        node.ours.packed = ""
    return node


@cache
def _decoder() -> Callable[[bytes], Node]:
    # At first use: to look through the types of a node takes as long as to write a hundred.
    return msgspec.json.Decoder(Node).decode


def _stem(node_id: str) -> str:
    """Give what the ids of a workflow's nodes begin with."""
    return node_id.rpartition("-")[0]


@lru_cache(maxsize=64)  # Of a layer all have the same.
def _pack(stem: str, parents: tuple[str, ...]) -> str:
    numbers = []
    for parent in parents:
        head, _, number = parent.rpartition("-")
        is_plain = head == stem and number.isascii() and number.isdigit()
        if not is_plain or str(int(number)) != number or int(number) >> 32:
            return ""
        numbers.append(int(number))
    data = struct.pack(f"<{len(numbers)}I", *numbers)
    return binascii.b2a_base64(data, newline=False).decode()


@lru_cache(maxsize=64)
def _unpack(stem: str, packed: str) -> tuple[str, ...]:
    try:
        data = binascii.a2b_base64(packed, strict_mode=True)
        numbers = struct.unpack(f"<{len(data) // 4}I", data)
    except (ValueError, struct.error) as error:
        raise msgspec.DecodeError(f"the parents of a node cannot be read: {error}") from None
    return tuple(f"{stem}-{number}" for number in numbers)
