"""What a container saw at a path, found after it has ended.

A sandbox's root is the host's with an upper layer over it: new files lie in ``upper``, deleted ones
are whiteouts (a character device 0:0), replaced folders are opaque. Links are followed as the
container would have followed them, so none leads out of its view. Nothing runs in it any more.
"""

from __future__ import annotations

import os
import posixpath
import stat
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from tiphys.executor.protocol import Mount

MAX_LINKS = 40
OPAQUE = ("trusted.overlay.opaque", "user.overlay.opaque")


class View:
    """The files as one container saw them; ``upper`` is None where it saw the host's own."""

    def __init__(self, upper: Path | None, mounts: Sequence[Mount]) -> None:
        self._upper = None if upper is None else str(upper)
        # A later or deeper mount covers an earlier one.
        self._mounts = sorted(mounts, key=lambda mount: -len(mount.target.rstrip("/")))

    def locate(self, path: str) -> str | None:
        """Return the place of ``path`` with every link followed; None where nothing is there."""
        pending = [part for part in posixpath.normpath(path).split("/") if part]
        pending.reverse()
        here, links = "/", 0
        while pending:
            part = pending.pop()
            if part == "..":
                here = posixpath.dirname(here)
                continue
            there = posixpath.join(here, part)
            real = self._real(there)
            if real is None:
                return None
            if not os.path.islink(real):
                here = there
                continue
            links += 1
            if links > MAX_LINKS:
                return None
            target = os.readlink(real)
            if target.startswith("/"):
                here = "/"
            pending += [piece for piece in reversed(target.split("/")) if piece not in ("", ".")]
        return here

    def open_place(self, path: str, spare: Path) -> Path | None:
        """Return a path of the host with the content of ``path``.

        A folder of which the host has one part and the container wrote another is put together
        under ``spare``, which must not exist.
        """
        place = self.locate(path)
        if place is None:
            return None
        real = self._real(place)
        if real is None:
            return None
        if self._is_merged(place):
            self._copy(place, spare)
            return spare
        return Path(real)

    def within(self, place: Path) -> tuple[Path | None, Path, bool]:
        """Split what ``open_place`` gave: root and path in it, and whether it is the attempt's own.

        Others may write to a volume even now, so its files must be opened without trust in links.
        What lies in the upper layer nobody writes any more.
        """
        text = str(place)
        for mount in self._mounts:
            source = mount.source.rstrip("/")
            if text == source and not os.path.isdir(source):
                return None, place, False
            if text == source or text.startswith(f"{source}/"):
                return Path(source), Path("/", text[len(source) :].lstrip("/")), False
        own = self._upper is not None and text.startswith(f"{self._upper}/")
        return None, place, own

    def _real(self, place: str) -> str | None:
        """Return where ``place`` (its parents are no links) lies on the host."""
        mounted = self._mounted(place)
        if mounted is not None:
            return mounted if os.path.lexists(mounted) else None
        if self._upper is None:
            return place if os.path.lexists(place) else None
        above = self._upper + place
        with suppress(FileNotFoundError, NotADirectoryError):
            status = os.lstat(above)
            return None if _is_whiteout(status) else above
        if self._is_covered(place):
            return None
        return place if os.path.lexists(place) else None

    def _mounted(self, place: str) -> str | None:
        for mount in self._mounts:
            target = mount.target.rstrip("/")
            if place == target or place.startswith(f"{target}/"):
                return mount.source + place[len(target) :]
        return None

    def _is_covered(self, place: str) -> bool:
        """Tell whether a folder above hides what the host has at ``place``."""
        assert self._upper is not None
        parent = posixpath.dirname(place)
        while True:
            try:
                status = os.lstat(self._upper + parent)
            except (FileNotFoundError, NotADirectoryError):
                pass
            else:
                if not stat.S_ISDIR(status.st_mode) or _is_opaque(self._upper + parent):
                    return True
            if parent == "/":
                return False
            parent = posixpath.dirname(parent)

    def _is_merged(self, place: str) -> bool:
        if self._upper is None or self._mounted(place) is not None:
            return False
        above = self._upper + place
        if not os.path.isdir(above) or _is_opaque(above) or self._is_covered(place):
            return False
        return os.path.isdir(place) and not os.path.islink(place)

    def _copy(self, place: str, target: Path) -> None:
        import shutil  # noqa: PLC0415 - large, and only folders need it

        target.mkdir(parents=True)
        assert self._upper is not None
        names = set(os.listdir(place))
        with suppress(FileNotFoundError):
            names |= set(os.listdir(self._upper + place))
        for name in names:
            inner = posixpath.join(place, name)
            real = self._real(inner)
            if real is None:
                continue
            if self._is_merged(inner):
                self._copy(inner, target / name)
            elif os.path.isdir(real) and not os.path.islink(real):
                shutil.copytree(real, target / name, symlinks=True)
            elif os.path.islink(real) or os.path.isfile(real):
                shutil.copy2(real, target / name, follow_symlinks=False)


def _is_whiteout(status: os.stat_result) -> bool:
    return stat.S_ISCHR(status.st_mode) and status.st_rdev == 0


def _is_opaque(path: str) -> bool:
    for name in OPAQUE:
        with suppress(OSError):
            if os.getxattr(path, name, follow_symlinks=False) == b"y":
                return True
    return False
