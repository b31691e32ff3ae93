"""Checks the small languages inside of a workflow: expressions, ``when``, ``depends``, times."""

from __future__ import annotations

import re

from tiphys.core.duration import parse_duration, parse_duration_or_seconds
from tiphys.errors import ExpressionError, InvalidInputError
from tiphys.spec import expression
from tiphys.spec.report import Report
from tiphys.spec.yaml import Path

_WHOLE = r"[+-]?\d+"
_TAG = r"\{\{.*?\}\}"
RESULTS = frozenset(
    {
        "Succeeded",
        "Failed",
        "Errored",
        "Skipped",
        "Omitted",
        "Daemoned",
        "AnySucceeded",
        "AllFailed",
    }
)
ITEM_RESULTS = frozenset({"AnySucceeded", "AllFailed"})


def check_expression(text: str, path: Path, report: Report) -> None:
    """Check the syntax of an expression; one that holds tags is not final yet."""
    if "{{" in text:
        return
    try:
        expression.compile_expression(text.strip())
    except ExpressionError as error:
        report.add(path, f"the expression cannot be read: {error}", code=error.code)


def check_when(text: str, path: Path, report: Report) -> None:
    """Check a condition as far as that can be done before its tags are replaced.

    With tags it depends on their values, so it is only wrong if no kind of value makes it right.
    """
    if not text:
        return
    words = ("word", "1", "true") if "{{" in text else ("",)
    for word in words:
        try:
            expression.evaluate_when(re.sub(_TAG, word, text, flags=re.DOTALL))
        except ExpressionError as error:
            failure = error
        else:
            return
    report.add(
        path, f"the condition cannot be read: {failure}", code=failure.code, warning="{{" in text
    )


def depends_references(text: str, path: Path, report: Report) -> tuple[tuple[str, str], ...]:
    """Give (task, result) for each reference of a ``depends``; nothing if it cannot be read."""
    if "{{" in text:
        return ()
    try:
        references = expression.parse_depends(text).references
    except ExpressionError as error:
        report.add(path, f"'depends' cannot be read: {error}", code=error.code)
        return ()
    for task, result in references:
        if result and result not in RESULTS:
            message = f"the result {result!r} of task {task!r} is not known"
            report.add(path, message, hint=report.close_to(result, RESULTS))
    return references


def check_duration(text: str, path: Path, report: Report, *, bare: bool = True) -> None:
    """Check a time; ``bare`` allows a number without a unit."""
    if not text or "{{" in text:
        return
    try:
        (parse_duration_or_seconds if bare else parse_duration)(text)
    except InvalidInputError as error:
        whole = not bare and re.fullmatch(_WHOLE, text, re.ASCII)
        report.add(path, str(error), hint=f"give a unit: {text}s" if whole else "")


def check_whole(text: str | None, path: Path, report: Report, *, least: int | None = None) -> None:
    """Check a whole number that may be text with tags."""
    if text is None or "{{" in text:
        return
    if not re.fullmatch(_WHOLE, text, re.ASCII) or len(text) > 19:
        report.add(path, f"{text[:60]!r} is not a whole number")
    elif least is not None and int(text) < least:
        report.add(path, f"must be at least {least}")
