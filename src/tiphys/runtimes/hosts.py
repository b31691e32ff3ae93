"""``hostAliases``: names that the containers of one pod know besides those of the machine.

Kubernetes gives each pod an ``/etc/hosts`` of its own with the aliases below the usual lines. Here
it is the machine's file with the same lines below it, mounted over the machine's in the task's own
view. A task without such a view (``process``) sees the machine's file: that one is nobody's to
change.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from tiphys.runtimes.translate import HOSTS_PATH
from tiphys.runtimes.volume import write_file
from tiphys.spec import model

_HEADING = "# Entries added by hostAliases."


def write_hosts(aliases: Iterable[model.HostAlias], folder: Path) -> Path:
    """Write the names that a pod knows into its folder; return the file."""
    path = folder / "hosts"
    if not path.exists():  # The containers of a pod share it.
        write_file(path, hosts_text(aliases).encode(), 0o644)
    return path


def hosts_text(aliases: Iterable[model.HostAlias], machine: Path = Path(HOSTS_PATH)) -> str:
    """Give the machine's names with the aliases below them."""
    own = ""
    with suppress(OSError):
        own = machine.read_text(encoding="utf-8", errors="replace").rstrip("\n")
    lines = ["\t".join(_word(text) for text in (each.ip, *each.hostnames)) for each in aliases]
    return "\n".join([*([own] if own else []), "", _HEADING, *lines, ""])


def _word(text: str) -> str:
    """Keep to one word: a space or a line break would begin another name."""
    return "".join(text.split())
