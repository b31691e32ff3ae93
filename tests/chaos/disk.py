"""Small disks for tests: made, filled, cut off from power, and taken away again. Needs root."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

SHUTDOWN = 0x8004587D
"""EXT4_IOC_SHUTDOWN: the file system is gone at once, as when the power is."""
NO_LOG_FLUSH = 2


def _run(*words: str) -> str:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else f"{words[0]}: {done.stderr.strip() or done.returncode}"


def why_not(*programs: str) -> str:
    """Say why disks cannot be made here; nothing where they can."""
    if os.geteuid() != 0:
        return "only root can mount"
    for name in ("mount", "umount", *programs):
        if shutil.which(name) is None:
            return f"there is no {name} on this machine"
    return ""


@contextmanager
def small_disk(folder: Path, megabytes: int) -> Iterator[Path]:
    """Give a disk in memory, of so many megabytes; raise OSError where that cannot be."""
    folder.mkdir()
    problem = _run("mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tiphys-test", str(folder))
    if problem:
        raise OSError(problem)
    try:
        yield folder
    finally:
        _run("umount", "-l", str(folder))


def fill(folder: Path) -> Path:
    """Leave no room on the disk of ``folder``; give the file to remove."""
    ballast = folder / "ballast"
    with open(ballast, "wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(b"\0" * 4096)
    return ballast


class Ext4:
    """A disk in a file, whose power can be cut."""

    def __init__(self, folder: Path, megabytes: int = 64) -> None:
        self.image = folder / "image"
        self.mounted = folder / "mounted"
        self.mounted.mkdir()
        self._device = ""
        with open(self.image, "wb") as file:
            file.truncate(megabytes << 20)

    def make(self) -> str:
        """Make the file system; say what is in the way."""
        problem = _run("mkfs.ext4", "-q", "-F", str(self.image))
        if problem:
            return problem
        # One device all the time: a second one could meet what the first still has to write.
        words = ["losetup", "--find", "--show", str(self.image)]
        made = subprocess.run(words, capture_output=True, text=True, check=False)
        self._device = made.stdout.strip()
        return self.mount() if self._device else f"losetup: {made.stderr.strip()}"

    def mount(self) -> str:
        """Mount it; say what is in the way.

        A process with mounts of its own, as any sandbox on this machine, may still hold the file
        system that was shut down: then that is what is mounted again, and nothing can be opened.
        """
        problem = _run("mount", self._device, str(self.mounted))
        if problem:
            return problem
        try:
            os.close(os.open(self.mounted / "alive", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC))
        except OSError as error:
            self.unmount()
            return str(error)
        return ""

    def cut_power(self) -> None:
        """Lose everything that is not on the disk."""
        descriptor = os.open(self.mounted, os.O_RDONLY)
        try:
            fcntl.ioctl(descriptor, SHUTDOWN, NO_LOG_FLUSH.to_bytes(4, "little"))
        finally:
            os.close(descriptor)

    def unmount(self) -> str:
        """Take it away; say what is in the way."""
        return _run("umount", str(self.mounted))

    def close(self) -> None:
        """Take it away, whoever still uses it."""
        _run("umount", "-l", str(self.mounted))
        if self._device:
            _run("losetup", "--detach", self._device)
