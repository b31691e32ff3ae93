"""What is painted over what, checked on a small model of a terminal."""

from __future__ import annotations

import io
import re

from tiphys.cli.watch.screen import Screen

_TOKENS = re.compile(r"\x1b\[(\??)(\d*)([A-Za-z])|(\r)|(\n)|([^\x1b\r\n]+)")


def shown(text: str) -> list[str]:
    """Give what a terminal of 80 columns shows after ``text``."""
    lines: list[str] = [""]
    row = column = 0
    for match in _TOKENS.finditer(text):
        private, number, action, back, feed, plain = match.groups()
        if plain:
            line = lines[row].ljust(column)
            lines[row] = line[:column] + plain + line[column + len(plain) :]
            column += len(plain)
        elif back:
            column = 0
        elif feed:
            row, column = row + 1, 0
            if row == len(lines):
                lines.append("")
        elif action == "A":
            row -= int(number or 1)
        elif action == "K":
            lines[row] = lines[row][:column]
        elif action == "J" and not private:
            lines[row] = lines[row][:column]
            del lines[row + 1 :]
    return lines


def test_a_frame_takes_the_place_of_the_last_one() -> None:
    out = io.StringIO()
    screen = Screen(out)

    screen.paint(["a long line", "two", "three"])
    screen.paint(["short", "2"])

    assert shown(out.getvalue()) == ["short", "2", ""]


def test_lines_above_stay_while_the_frame_changes() -> None:
    out = io.StringIO()
    screen = Screen(out)

    screen.paint(["frame 1", "bar"])
    screen.paint(["frame 2", "bar"], ["a log line that is longer than the frame"])
    screen.paint(["frame 3"], ["another"])

    assert shown(out.getvalue()) == [
        "a log line that is longer than the frame",
        "another",
        "frame 3",
        "",
    ]


def test_no_line_of_a_frame_wraps() -> None:
    out = io.StringIO()

    Screen(out).paint(["x" * 500])

    assert [len(line) for line in shown(out.getvalue())] == [79, 0]


def test_the_cursor_is_given_back() -> None:
    out = io.StringIO()
    screen = Screen(out)
    screen.paint(["x"])

    screen.close()

    assert out.getvalue().count("\x1b[?25l") == out.getvalue().count("\x1b[?25h") == 1


def test_nothing_painted_nothing_written() -> None:
    out = io.StringIO()

    Screen(out).close()

    assert out.getvalue() == ""
