"""Paths of the host itself that tasks without a sandbox use: who has put what where.

With ``process`` isolation a volume or an input artifact is a link at its path on this machine, made
only where nothing is yet. Several tasks may want the same path at once: the same thing (a claim)
they share, and the last one takes it away; different things (each its own artifact at
``/tmp/in``) come one after the other.

Every attempt claims all of its paths at once, and its claim is a file on disk *before* the first
link is made and until the last one is gone. So whatever is killed at whatever instant, the next
process knows what was placed, for whom, and whether somebody still uses it. Only the process that
owns the data directory claims and releases; other data directories are strangers, whose links are
left alone.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from tiphys.errors import RuntimeFailure
from tiphys.executor.protocol import Mount


class Claim(msgspec.Struct, frozen=True):
    """What one attempt uses of the host's own tree."""

    links: dict[str, str]
    """Paths, and what they lead to."""
    folders: list[str]
    """Folders above them that were made for a claim, outermost first."""


class TakenError(RuntimeFailure):
    """Others use the path for something else just now."""

    def __init__(self, path: str, holders: Collection[str]) -> None:
        super().__init__(
            f"{path} is in use by another task: without a sandbox they cannot share it"
        )
        self.holders = frozenset(holders)


class Places:
    """The claims of one data directory. Safe to use from many threads."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._claims: dict[str, Claim] | None = None

    def claim(self, attempt: str, mounts: Sequence[Mount]) -> None:
        """Put links to all mounts of an attempt in their places, or none.

        Raises TakenError where it may work later, RuntimeFailure where it cannot work.
        """
        wanted = {mount.target: mount.source for mount in mounts}
        with self._lock:
            known = self._known()
            if attempt in known:
                # A former process came this far, perhaps not to the end.
                _make(known[attempt])
                return
            for target, source in wanted.items():
                self._check(target, source)
            claim = Claim(wanted, self._folders(wanted))
            self._write(attempt, claim)
            known[attempt] = claim
            try:
                _make(claim)
            except OSError as error:
                self._drop(attempt)
                raise RuntimeFailure(f"{error.filename}: {error.strerror}") from error

    def release(self, attempt: str) -> None:
        """Take away what nobody else uses."""
        with self._lock:
            self._drop(attempt)

    def keep(self, attempts: Iterable[str]) -> None:
        """Release all claims but those of these attempts."""
        with self._lock:
            for attempt in set(self._known()) - set(attempts):
                self._drop(attempt)

    def _check(self, target: str, source: str) -> None:
        """Raise unless ``target`` is free, or leads to ``source`` already."""
        holders = [
            name
            for name, claim in self._known().items()
            if claim.links.get(target, source) != source
        ]
        if holders:
            raise TakenError(target, holders)
        if os.path.lexists(target) and _destination(target) != source:
            raise RuntimeFailure(
                f"{target} exists on this machine: without a sandbox it cannot be replaced"
            )

    def _folders(self, targets: Collection[str]) -> list[str]:
        """List the folders above, if they are missing or made for another claim."""
        made = {folder for claim in self._known().values() for folder in claim.folders}
        found: dict[str, None] = {}
        for target in targets:
            above = [str(parent) for parent in Path(target).parents]
            needed = [each for each in above if each in made or not os.path.isdir(each)]
            found |= dict.fromkeys(each for each in needed if each not in targets)
        return sorted(found, key=len)

    def _drop(self, attempt: str) -> None:
        known = self._known()
        claim = known.pop(attempt, None)
        if claim is None:
            return
        links = {path for other in known.values() for path in other.links}
        folders = {path for other in known.values() for path in other.folders}
        for path in reversed(_in_order(claim)):
            with suppress(OSError):
                if path in claim.links:
                    if path not in links and _destination(path) == claim.links[path]:
                        os.unlink(path)
                elif path not in folders:
                    os.rmdir(path)
        self._file(attempt).unlink(missing_ok=True)

    def _known(self) -> dict[str, Claim]:
        """Give all claims; those of former processes are read at the first use."""
        if self._claims is None:
            self._claims = {}
            for path in sorted(self._folder.glob("*.json")):
                with suppress(msgspec.MsgspecError, OSError):
                    self._claims[path.stem] = msgspec.json.decode(path.read_bytes(), type=Claim)
        return self._claims

    def _write(self, attempt: str, claim: Claim) -> None:
        self._folder.mkdir(mode=0o700, exist_ok=True)
        temporary = self._file(attempt).with_suffix(".new")
        with open(temporary, "wb") as file:
            file.write(msgspec.json.encode(claim))
            file.flush()
            os.fsync(file.fileno())
        temporary.rename(self._file(attempt))

    def _file(self, attempt: str) -> Path:
        return self._folder / f"{attempt}.json"


def _make(claim: Claim) -> None:
    for path in _in_order(claim):
        source = claim.links.get(path)
        if source is None:
            with suppress(FileExistsError):
                os.mkdir(path)
        elif _destination(path) != source:
            os.symlink(source, path)


def _in_order(claim: Claim) -> list[str]:
    """List all paths, those above before those below: a volume may be mounted inside another."""
    return sorted({*claim.folders, *claim.links}, key=lambda path: (path.count("/"), path))


def _destination(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""
