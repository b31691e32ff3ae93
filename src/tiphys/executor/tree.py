"""Removing folders, whatever lies in them."""

from __future__ import annotations

import os


def remove_tree(path: str) -> None:
    """Delete a folder and all in it without ever following a link; what is gone is no error."""
    clear_tree(path)
    try:
        os.rmdir(path)
    except FileNotFoundError:
        return


def clear_tree(path: str) -> None:
    """Delete all in a folder."""
    try:
        entries = list(os.scandir(path))
    except (FileNotFoundError, NotADirectoryError):
        return
    except PermissionError:
        # A task may take the rights away from its own folders.
        os.chmod(path, 0o700)
        entries = list(os.scandir(path))
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            remove_tree(entry.path)
        else:
            os.unlink(entry.path)
