"""Errors for people: one line for each problem, an exit code, and never a traceback."""

from __future__ import annotations

import os
import sys
import traceback

from tiphys.errors import InvalidInputError, Problem, SpecError, TiphysError

FAILED = 1
"""A workflow failed, or something could not be done."""
USAGE = 2
"""What was asked for makes no sense: bad flags, bad files, bad settings."""
INTERRUPTED = 130


def report(error: Exception, *, debug: bool = False) -> int:
    """Tell about ``error`` on stderr and give the exit code; ``debug`` adds the traceback."""
    if debug:
        traceback.print_exception(error)
    for line in _lines(error):
        sys.stderr.write(f"{visible(line)}\n")
    return USAGE if isinstance(error, InvalidInputError) else FAILED


def _lines(error: Exception) -> list[str]:
    if isinstance(error, SpecError):
        return [*(problem_line(problem) for problem in error.problems), summary(error.problems)]
    if isinstance(error, TiphysError):
        lines = str(error).splitlines() or [type(error).__name__]
        return [f"tiphys: {lines[0]}", *lines[1:]] if len(lines) == 1 else lines
    if isinstance(error, OSError):
        place = f"{os.fsdecode(error.filename)}: " if error.filename else ""
        return [f"tiphys: {place}{error.strerror or error}"]
    return [
        f"tiphys: internal error: {type(error).__name__}: {error}",
        "This is a mistake in Tiphys; set TIPHYS_DEBUG=1 to see where.",
    ]


def problem_line(problem: Problem) -> str:
    """Write a problem on one line, marked where it is only a warning."""
    return f"warning: {problem}" if problem.warning else str(problem)


def summary(problems: tuple[Problem, ...]) -> str:
    """Write how many problems there are."""
    errors = sum(not problem.warning for problem in problems)
    warnings = len(problems) - errors
    parts = [_count(errors, "error")]
    if warnings:
        parts.append(_count(warnings, "warning"))
    return ", ".join(parts)


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def visible(text: str) -> str:
    """Make control characters visible: nobody's data may steer the terminal."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)
