"""Faults inside an expression, and the limits that bound one.

A ``Fault`` is what the interpreter raises while it works; the public functions of this package
turn it into an ``ExpressionError`` with the place in the text. Nothing here knows the language.
"""

from __future__ import annotations

from typing import Final

from tiphys.errors import ExpressionError, ExpressionLimitError

MAX_EXPRESSION: Final = 64 * 1024
"""Characters of an expression tag."""
MAX_CONDITION: Final = 8 * 1024
"""Characters of a ``when`` or ``depends`` text."""
MAX_NODES: Final = 10_000
MAX_DEPTH: Final = 100
MAX_STEPS: Final = 100_000
"""Turns of loops, counted over one whole evaluation; code without a loop runs each node once."""
MAX_VALUES: Final = 1_000_000
"""Parts of one value, unfolded."""
MAX_TEXT: Final = 1024 * 1024
"""Bytes of any string an expression produces."""


class Fault(Exception):  # noqa: N818 - private to the package, never seen outside
    """Something went wrong at ``position`` (a character offset; -1 where not known yet)."""

    def __init__(self, message: str, position: int = -1) -> None:
        super().__init__(message)
        self.message = message
        self.position = position

    def at(self, position: int) -> Fault:
        """Give the same fault with a place, unless it already has one."""
        if self.position < 0:
            self.position = position
        return self

    def error(self, text: str) -> ExpressionError:
        """Turn this into the public error about ``text``."""
        return ExpressionError(located(self.message, text, self.position))


class LimitFault(Fault):
    """A bound was reached."""

    def error(self, text: str) -> ExpressionError:
        """Turn this into the public error; the text is left out because it may be huge."""
        return ExpressionLimitError(self.message)


def located(message: str, text: str, position: int) -> str:
    """Add ``(line:column)`` and the line with a mark under the place, as expr-lang prints it."""
    if position < 0:
        return message
    before = text[:position]
    start = before.rfind("\n") + 1
    column = len(before) - start
    line = text[start:].split("\n", 1)[0].replace("\t", " ")
    if not line:
        return message
    number = before.count("\n") + 1
    return f"{message} ({number}:{column + 1})\n | {line}\n | {'.' * column}^"


def check_text(value: str) -> str:
    """Refuse a produced string that is too long."""
    if len(value) > MAX_TEXT:
        raise LimitFault(f"a string of {len(value)} characters exceeds the limit of {MAX_TEXT}")
    return value
