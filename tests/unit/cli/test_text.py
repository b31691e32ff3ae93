"""Widths, cuts, colours and durations."""

from __future__ import annotations

import pytest

from tiphys.cli.failure import visible
from tiphys.cli.text import (
    Paint,
    bar,
    columns,
    cut,
    live_duration,
    printable,
    short_duration,
    wants_colour,
    width,
)


@pytest.mark.parametrize(
    ("text", "cells"), [("abc", 3), ("船", 2), ("e\u0301", 1), ("\x1b[31mred\x1b[0m", 3)]
)
def test_width_counts_cells_not_characters(text: str, cells: int) -> None:
    assert width(text) == cells


@pytest.mark.parametrize("room", range(0, 12))
def test_a_cut_text_never_takes_more_than_its_room(room: int) -> None:
    assert width(cut("\x1b[1m船 of Argo\x1b[0m and more", room)) <= room


def test_a_cut_text_closes_its_colour() -> None:
    assert cut(Paint(True)("a long text", "red"), 5) == "\x1b[31ma lo…\x1b[0m"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0s"), (59.4, "59s"), (60, "1m"), (61, "1m1s"), (3600, "1h"), (90061, "1d1h")],
)
def test_durations_have_at_most_two_units(seconds: float, text: str) -> None:
    assert short_duration(seconds) == text


def test_a_watched_duration_shows_tenths_at_first() -> None:
    assert [live_duration(s) for s in (-1, 0.25, 12.4)] == ["0.0s", "0.2s", "12s"]


def test_columns_are_as_wide_as_their_widest_cell() -> None:
    assert columns([["A", "B"], ["long", "x"], ["y"]]) == ["A      B", "long   x", "y"]


def test_a_bar_is_full_only_when_all_is_done() -> None:
    assert [bar(0, 0, 4), bar(3, 4, 4), bar(399, 400, 4), bar(4, 4, 4)] == [
        "░░░░",
        "███░",
        "███░",
        "████",
    ]


def test_control_characters_of_data_cannot_steer_the_terminal() -> None:
    assert visible("a\x1b[2Jb\r\n") == "a\\x1b[2Jb\\r\\n"


def test_a_task_may_colour_its_lines_and_nothing_else() -> None:
    assert printable("\x1b[31mred\x1b[2J\tx") == "\x1b[31mred\\x1b[2J\tx\x1b[0m"
    assert printable("plain") == "plain"


def test_no_color_and_pipes_turn_colours_off() -> None:
    assert wants_colour({"TERM": "xterm"}, terminal=True)
    assert not wants_colour({"TERM": "xterm", "NO_COLOR": "1"}, terminal=True)
    assert not wants_colour({"TERM": "xterm"}, terminal=False)
    assert not wants_colour({"TERM": "dumb"}, terminal=True)
