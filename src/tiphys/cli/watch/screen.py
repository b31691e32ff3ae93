"""A few lines at the bottom of a terminal that are painted again and again."""

from __future__ import annotations

import os
import sys
import termios
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, TextIO

from tiphys.cli.text import cut, width

_HIDE_CURSOR, _SHOW_CURSOR = "\x1b[?25l", "\x1b[?25h"
_BEGIN, _END = "\x1b[?2026h", "\x1b[?2026l"
"""Terminals that know these show the whole frame at once; others ignore them."""
_CLEAR_LINE, _CLEAR_BELOW = "\x1b[K", "\x1b[J"


class Screen:
    """Paints over what it painted before; other lines can be printed above it."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._widths: list[int] = []
        self._open = False
        self._modes: tuple[int, list[Any]] | None = None

    def open(self) -> None:
        """Keep typed keys off the screen: a ``^C`` in the middle of a frame would break it."""
        with suppress(OSError, ValueError, termios.error):
            keys = sys.stdin.fileno()
            if not os.isatty(keys) or os.tcgetpgrp(keys) != os.getpgrp():
                # In the background, setting modes would stop us.
                return
            self._modes = (keys, termios.tcgetattr(keys))
            modes = termios.tcgetattr(keys)
            modes[3] &= ~termios.ECHO
            # Without this, Ctrl-C throws away what is half written.
            modes[3] |= termios.NOFLSH
            termios.tcsetattr(keys, termios.TCSANOW, modes)

    def size(self) -> tuple[int, int]:
        """Give columns and rows."""
        try:
            found = os.get_terminal_size(self._out.fileno())
        except (OSError, ValueError):
            return 80, 24
        return found.columns or 80, found.lines or 24

    def paint(self, lines: Sequence[str], above: Sequence[str] = ()) -> None:
        """Show ``lines`` in place of the last ones, and ``above`` for good before them."""
        columns, _ = self.size()
        text = [_BEGIN, "" if self._open else _HIDE_CURSOR, self._back(columns)]
        cuts = [cut(line, columns - 1) for line in lines]
        # Line by line: clearing all at once flickers, and tmux would keep the old frame.
        text += [f"{line}{_CLEAR_LINE}\n" for line in (*above, *cuts)]
        text += [_CLEAR_BELOW, _END]
        self._out.write("".join(text))
        self._out.flush()
        self._widths = [width(line) for line in cuts]
        self._open = True

    def _back(self, columns: int) -> str:
        """Move to the start of what was painted; in a narrower window its lines have wrapped."""
        rows = sum(max(1, -(-cells // columns)) for cells in self._widths)
        return f"\r\x1b[{rows}A" if rows else "\r"

    def close(self) -> None:
        """Leave what is painted and give the cursor back."""
        if self._open:
            self._out.write(_SHOW_CURSOR)
            self._out.flush()
        if self._modes is not None:
            with suppress(termios.error):
                termios.tcsetattr(self._modes[0], termios.TCSANOW, self._modes[1])
            self._modes = None
        self._widths = []
        self._open = False
