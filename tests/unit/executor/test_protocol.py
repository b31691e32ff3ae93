"""Messages survive any cutting of the stream."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiphys.executor import protocol

MESSAGES: list[protocol.Request] = [
    protocol.Hello(1, 2),
    protocol.Start(
        (protocol.Attempt("a.1", "/f", (protocol.ContainerRun("main", ("x",), {"A": "b"}),)),)
    ),
    protocol.Stop(("a.1",), 1.5),
    protocol.Ack(("a.1", "a.2")),
]


@given(st.lists(st.integers(0, 200), max_size=20))
def test_frames_come_whole_however_the_bytes_arrive(cuts: list[int]) -> None:
    data = b"".join(map(protocol.frame, MESSAGES))
    frames = protocol.Frames()
    places = sorted({0, len(data), *(cut % len(data) for cut in cuts)})

    bodies = [body for start, end in pairwise(places) for body in frames.feed(data[start:end])]

    assert [protocol.request_decoder().decode(body) for body in bodies] == MESSAGES


def test_a_frame_too_long_is_refused_before_it_is_read() -> None:
    with pytest.raises(ValueError, match="frame of"):
        list(protocol.Frames().feed(b"\xff\xff\xff\xff"))
