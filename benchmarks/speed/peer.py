"""Who runs the work: what the harness knows of each peer.

A peer is data: what it is called, how it keeps state, which cases it runs and up to which size,
and two functions: one that finds or installs it, one that turns a case into a command. It must not
start anything itself; ``measure`` does, so that everything is counted.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from benchmarks.speed.case import Case
from benchmarks.speed.environment import UnavailableError
from benchmarks.speed.measure import Command

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = Path(__file__).parent / "programs"
ANY = 1_000_000
"""The limit of a peer that runs any size."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """One way to run the work."""

    name: str
    state: str
    """What survives a power cut: ``none``, ``log``, ``files`` or ``durable``."""
    sizes: Mapping[str, int]
    """The cases that it runs; one with more tasks than this is run in its small form."""
    find: Callable[[], str]
    """Make it ready and give its version; raises UnavailableError."""
    command: Callable[[Case, Path], Command]
    """Write what is needed into an empty folder and give the command."""
    forms: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Width and depth of cases whose small form is still too large for it."""
    served: bool = False
    """Whether it needs a server, whose start is then not counted (but for ``hello``)."""
    apart: bool = False
    """Whether it runs after all others: what it needs would disturb them."""
    note: str = ""
    close: Callable[[], None] = field(default=lambda: None)
    """Called once at the end."""

    @property
    def is_engine(self) -> bool:
        """Whether it is a workflow engine with durable state that is not Tiphys."""
        return self.state == "durable" and not self.name.startswith(("Tiphys", "Python"))

    def form_of(self, case: Case) -> Case | None:
        """Give the case in the size that this peer runs; None if it does not run it."""
        most = self.sizes.get(case.name)
        if most is None:
            return None
        own = replace(case, small=self.forms.get(case.name, case.small))
        return own.reduced(most)


def program(name: str) -> str:
    """Find a program on the PATH."""
    found = shutil.which(name)
    if found is None:
        raise UnavailableError(f"{name} is not installed")
    return found


def first_line(*words: str) -> str:
    """Give the first line that a command prints."""
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return (done.stdout or done.stderr).strip().partition("\n")[0]


def script(python: Path, name: str, *words: object) -> tuple[str, ...]:
    """Give the command that runs one of our programs with a peer's interpreter."""
    return (str(python), str(PROGRAMS / name), *map(str, words))


def bytecode() -> dict[str, str]:
    """Give an environment in which Python keeps bytecode, as it does for everybody else."""
    return {"PYTHONDONTWRITEBYTECODE": "", "PYTHONUNBUFFERED": "", "DO_NOT_TRACK": "1"}
