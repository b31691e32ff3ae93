"""Folders that a container may write to in a view where it could not.

Where a copy-on-write overlay cannot be had, the host's folders are shown read-only; in an ordinary
user's overlay what belongs to others is theirs. What a task is known to need is opened: its working
directory, the folders of its outputs, and those in which a mount has to be put. An opening is a
folder of the view's upper layer, mounted over the host's, in which the host's entries are mounted
again, one by one, with the rights that they have in the view. So the same names are there, new ones
can be added, and what was written lies where an overlay would have put it.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterable
from contextlib import suppress

import msgspec

from tiphys.executor import linux

PRIVATE = ("/tmp", "/var/tmp", "/dev/shm", "/argo")
"""Folders that are the view's own, besides ``/`` itself."""
MANY = 5000
"""Entries of a folder that is not opened any more: each is a mount."""


class Opening(msgspec.Struct):
    """One folder to be opened."""

    path: str
    source: int
    """A copy of the mount of its part of the upper layer."""
    stubs: list[str]
    """What was made only to mount on."""


def folders_to_open(wanted: Iterable[str]) -> list[str]:
    """Return which folders of the host must be opened so that ``wanted`` can be written to.

    Of a folder that is not there the nearest that is. Parents come first.
    """
    found = set()
    for path in wanted:
        folder = posixpath.normpath(path)
        while not os.path.isdir(folder):
            folder = posixpath.dirname(folder)
        folder = os.path.realpath(folder)
        if folder != "/" and not _is_private(folder):
            found.add(folder)
    return sorted(found)


def _is_private(folder: str) -> bool:
    return any(folder == top or folder.startswith(f"{top}/") for top in PRIVATE)


def prepare(folder: str, upper: str) -> Opening:
    """Make the part of ``upper`` that is to be mounted at ``folder``, while outside of the view."""
    inner = upper + folder
    os.makedirs(inner, 0o755, exist_ok=True)
    status = os.stat(folder)
    # Who may write there on the host may here; everybody else's rights are as good as gone.
    os.chmod(inner, status.st_mode & 0o7777)
    with suppress(OSError):
        os.chown(inner, status.st_uid, status.st_gid)
    stubs: list[str] = []
    entries = list(os.scandir(folder))
    if len(entries) > MANY:
        raise OSError(7, f"{len(entries)} entries are too many to make it writable", folder)
    for entry in entries:
        target = f"{inner}/{entry.name}"
        if os.path.lexists(target):
            continue
        if entry.is_symlink():
            os.symlink(os.readlink(entry.path), target)
        elif entry.is_dir():
            os.mkdir(target)
        else:
            os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
        stubs.append(target)
    return Opening(folder, linux.clone_mount(inner), stubs)


def attach(opening: Opening) -> None:
    """Open the folder, from inside of the view, whose mounts are ours to change."""
    entries = [entry for entry in os.scandir(opening.path) if not entry.is_symlink()]
    shown: list[tuple[int, str]] = []
    try:
        for entry in entries:
            # Not there any more, or shut off from us: then it is missing in the opening.
            with suppress(OSError):
                shown.append((linux.clone_mount(entry.path), entry.path))
        linux.attach_mount(opening.source, opening.path)
        for descriptor, path in shown:
            with suppress(FileNotFoundError):
                linux.attach_mount(descriptor, path)
    finally:
        for descriptor, _ in shown:
            os.close(descriptor)


def remove_stubs(stubs: Iterable[str]) -> None:
    """Take away what was made to mount on, so that only what a task wrote is left."""
    for path in stubs:
        with suppress(OSError):
            if os.path.isdir(path) and not os.path.islink(path):
                os.rmdir(path)
            else:
                os.unlink(path)
