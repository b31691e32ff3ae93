"""What an attempt leaves in its folder besides its logs, looked at after every end.

Apart from `runtimes.staging`, which only tasks with files of their own need.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from tiphys.executor.place import LEFT

SCRIPT = "script"
UNTIDY = frozenset({"inputs", "volumes", "merged", LEFT, "run", "env", SCRIPT})
"""What the folder of an attempt may have besides its logs."""
RESULT_BYTES = 256 * 1024


def untidy(folders: Iterable[str]) -> list[str]:
    """Give those of some attempts' folders in which there is more than ``tidy`` leaves."""
    # Of most attempts there is no folder at all, nor one around those of their workflow.
    there: dict[str, bool] = {}
    found = []
    for folder in folders:
        around = folder.rpartition("/")[0]
        if around not in there:
            there[around] = os.access(around, os.F_OK)
        if there[around] and not _is_tidy(folder):
            found.append(folder)
    return found


def _is_tidy(folder: str) -> bool:
    if not os.access(folder, os.F_OK):
        return True
    try:
        return UNTIDY.isdisjoint(os.listdir(folder))
    except FileNotFoundError:
        return True


def tidy(folder: str) -> None:
    """Remove everything of an attempt but its logs: inputs, volumes, secrets written as files."""
    from tiphys.executor.tree import remove_tree  # noqa: PLC0415 - most attempts leave nothing

    for name in UNTIDY - {SCRIPT}:
        remove_tree(f"{folder}/{name}")
    Path(folder, SCRIPT).unlink(missing_ok=True)


def read_result(folder: Path) -> str:
    """Return the end of main's standard output, without its last newline."""
    try:
        with open(folder / "main.stdout", "rb") as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(max(0, size - RESULT_BYTES))
            data = file.read(RESULT_BYTES)
    except FileNotFoundError:
        return ""
    return data.removesuffix(b"\n").decode("utf-8", "replace")
