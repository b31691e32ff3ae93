"""Nodes with many parents are written shortly, and read as they were."""

from __future__ import annotations

import msgspec
import pytest

from tiphys.engine.node import Node, NodeType, Ours, Phase
from tiphys.wire.node import MANY, decode_node, encode_node

WIDE = tuple(f"flow-x-{number * 42_949_672}" for number in range(100))


def node(parents: tuple[str, ...], name: str = "flow-x-7") -> Node:
    return Node(
        id=name, name="flow-x.a", type=NodeType.POD, phase=Phase.PENDING, ours=Ours(parents=parents)
    )


@pytest.mark.parametrize(
    "parents",
    [
        (),
        ("flow-x",),
        WIDE[: MANY - 1],
        WIDE[:MANY],
        WIDE,
        (*WIDE, "flow-x-4294967295"),
        (*WIDE, "flow-x-4294967296"),
        (*WIDE, "flow-x"),
        (*WIDE, "flow-x-12-2"),
        (*WIDE, "flow-x-007"),
        (*WIDE, "flow-x-"),
        (*WIDE, "flow-x-²"),
        (*WIDE, "other-1"),
    ],
)
def test_parents_are_read_as_they_were(parents: tuple[str, ...]) -> None:
    before = node(parents)

    assert decode_node(encode_node(before)) == before
    assert before.ours.parents == parents


def test_the_parents_of_a_wide_layer_take_little_room() -> None:
    assert len(encode_node(node(WIDE))) < len(msgspec.json.encode(node(WIDE))) / 2


def test_what_was_written_in_full_is_still_read() -> None:
    assert decode_node(msgspec.json.encode(node(WIDE))) == node(WIDE)


@pytest.mark.parametrize("packed", ["AAA", "!!!!", "AAAA"])
def test_parents_that_cannot_be_read_are_told_like_any_damage(packed: str) -> None:
    broken = node(())
    broken.ours.packed = packed

    with pytest.raises(msgspec.DecodeError, match="parents"):
        decode_node(msgspec.json.encode(broken))
