"""Gathers the problems of one document, each with its path and place.

Nothing is thrown here: a file's problems are all told at once. `spec.walk` and `spec.validate`
write into a report; their callers decide what stops.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import msgspec

from tiphys.errors import Problem
from tiphys.spec.yaml import Document, Path

MAX_PROBLEMS = 1000
"""Nobody reads more, and a hostile file could ask for millions."""
_MAX_HINTS = 50
_PLAIN = r"[A-Za-z_][\w-]*"


def path_text(path: Path) -> str:
    """Write a path as ``spec.templates[0].container.image``."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        elif re.fullmatch(_PLAIN, part):
            text += f".{part}" if text else part
        else:
            text += f"[{part!r}]"
    return text


class Report(msgspec.Struct):
    """The problems of one document so far."""

    document: Document | None = None
    problems: list[Problem] = msgspec.field(default_factory=list)
    prefix: Path = ()
    """Put before every path; what stands below it is what the paths speak of."""
    hints: int = 0

    def add(
        self,
        path: Path,
        message: str,
        *,
        code: str = "invalid_spec",
        hint: str = "",
        warning: bool = False,
        at_key: bool = False,
    ) -> None:
        """Add one problem with the thing at ``path`` (or with its key)."""
        # Errors have as much room again: whatever was warned of before, the first one is told.
        if len(self.problems) >= (MAX_PROBLEMS if warning else 2 * MAX_PROBLEMS):
            return
        path = self.prefix + path
        line = column = 0
        if self.document:
            place = self.document.key_place if at_key else self.document.place
            line, column = place(path)
        self.problems.append(
            Problem(
                code=code,
                message=message,
                path=path_text(path),
                line=line,
                column=column,
                file=self.document.file if self.document else "",
                hint=hint,
                warning=warning,
            )
        )

    def written(self, path: Path) -> Any:
        """Give the data at ``path`` as the document has it, None where that is not known."""
        return self.document.get(self.prefix + path) if self.document else None

    def warn(self, path: Path, message: str, *, hint: str = "") -> None:
        """Add a remark that stops nothing."""
        self.add(path, message, hint=hint, warning=True)

    def close_to(self, word: str, known: Iterable[str]) -> str:
        """Give ``did you mean 'x'?`` where something known is close, else ""."""
        self.hints += 1
        if self.hints > _MAX_HINTS or len(word) > 100:
            return ""
        from difflib import get_close_matches  # noqa: PLC0415 - sound files need none

        names = {name.lower(): name for name in sorted(known)[:1000]}
        close = get_close_matches(word.lower(), names, n=1, cutoff=0.6)
        return f"did you mean {names[close[0]]!r}?" if close else ""
