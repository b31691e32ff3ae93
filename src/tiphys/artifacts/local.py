"""The local artifact repository: files and folders under one root on this machine.

Keys are those of Argo's object stores. ``root/<namespace>/<key>`` holds the bytes of a key, or a
folder with the keys below it. An artifact that Argo would keep as a compressed tar archive is *not*
packed here: ``<key>%tgz`` is the file or folder itself, with the name it had in an extended
attribute (where the file system has none, the key's own name serves). Who asks for the archive (a
download, an input with ``archive: none``) gets it packed on the fly. ``%`` of a key is written
``%25``, so the two forms never meet.

A write goes to ``root/.staging`` first, is flushed to the disk and then renamed, so a key holds the
old content or the new, whatever happens. Nothing here follows a link.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import posixpath
import re
import shutil
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tiphys.artifacts import beneath, pack
from tiphys.artifacts.copying import copy_bytes, write_all
from tiphys.artifacts.tree import finish_file, split_name
from tiphys.errors import ArtifactError, ArtifactNotFoundError, ArtifactUnsafeError

_PACKED = "%tgz"
_STAGING = ".staging"
_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_NAME_ATTRIBUTE = "user.tiphys.name"
_EXCHANGE = 2
_IN_THE_WAY = (errno.ENOTEMPTY, errno.EEXIST, errno.EISDIR, errno.ENOTDIR)
_FEW = 16
"""Up to so many files of a folder are flushed one by one."""
_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, slots=True)
class Stored:
    """What a key holds."""

    path: Path
    """The file or folder itself."""
    name: str
    """What it was called where it came from."""
    packed: bool
    """Whether it stands for a compressed tar archive of it."""


class LocalStore:
    """Content by namespace and key. Safe to use from many threads and processes at once."""

    def __init__(self, root: Path, *, durable: bool = True) -> None:
        self._root = str(root)
        self._durable = durable
        self._staging = os.path.join(self._root, _STAGING)

    def find(self, namespace: str, key: str) -> Stored:
        """Tell what ``key`` holds."""
        plain = self._path(namespace, key)
        name = posixpath.basename(key.rstrip("/"))
        for path, packed in ((plain + _PACKED, True), (plain, False)):
            if os.path.lexists(path):
                called = _read_name(path) or name.removesuffix(".tgz") if packed else name
                return Stored(Path(path), called, packed)
        raise ArtifactNotFoundError(f"there is no artifact with the key {key!r}")

    def put_packed(
        self, namespace: str, key: str, source: int, name: str, *, link_from: Path | None = None
    ) -> None:
        """Keep an open file or folder as what a compressed tar archive of it would hold.

        ``link_from`` is its path if the file may be shared by a hard link: it is never written
        again.
        """
        plain = self._path(namespace, key)
        with self._stage() as staged:
            if stat.S_ISDIR(os.fstat(source).st_mode):
                self._copy_tree(source, staged, name)
            else:
                self._copy_file(source, staged, name=name, link_from=link_from)
            self._publish(staged, plain + _PACKED)
        if os.path.isfile(plain):
            self._remove(plain)

    def put(self, namespace: str, key: str, source: int) -> None:
        """Keep an open file or folder as it is.

        As in a bucket, a folder has no links, and its files join those already below the key.
        """
        plain = self._path(namespace, key)
        with self._stage() as staged:
            if stat.S_ISDIR(os.fstat(source).st_mode):
                self._copy_tree(source, staged)
                self._merge(staged, plain)
            else:
                self._copy_file(source, staged, mode=0o644)
                self._publish(staged, plain)
        self._remove(plain + _PACKED)

    def put_file(self, namespace: str, key: str, path: Path) -> None:
        """Keep a file of ours as it is."""
        source = os.open(path, beneath.READ)
        try:
            self.put(namespace, key, source)
        finally:
            os.close(source)

    def put_chunks(self, namespace: str, key: str, chunks: Iterator[bytes]) -> None:
        """Keep a stream of bytes."""
        plain = self._path(namespace, key)
        with self._stage() as staged:
            target = os.open(staged, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
            try:
                for chunk in chunks:
                    write_all(target, chunk)
                self._flush(target)
            finally:
                os.close(target)
            self._publish(staged, plain)
        self._remove(plain + _PACKED)

    @contextlib.contextmanager
    def temporary(self) -> Iterator[Path]:
        """Lend a folder on the same file system, gone afterwards."""
        with self._stage() as staged:
            os.mkdir(staged, 0o700)
            yield Path(staged)

    def sweep(self, before: float) -> int:
        """Drop what writers that died have left unfinished, if it is older than ``before``."""
        swept = 0
        with contextlib.suppress(FileNotFoundError):
            for entry in os.scandir(self._staging):
                if entry.stat(follow_symlinks=False).st_mtime < before:
                    _delete(entry.path)
                    swept += 1
        return swept

    def delete(self, namespace: str, key: str) -> None:
        """Drop a key, or the folder of keys it is; none is fine. Empty folders above go as well."""
        plain = self._path(namespace, key)
        packed = plain + _PACKED
        self._remove(packed if os.path.lexists(packed) else plain)
        base = self._base(namespace)
        folder = os.path.dirname(plain)
        while folder != base:
            try:
                os.rmdir(folder)
            except FileNotFoundError:
                pass
            except OSError:
                return
            folder = os.path.dirname(folder)

    def list_keys(self, namespace: str, prefix: str) -> list[str]:
        """List the keys of all files below ``prefix``, in order."""
        base = self._base(namespace)
        top = self._path(namespace, prefix) if prefix.strip("/") else base
        keys: list[str] = []
        for folder, folders, files in os.walk(top):
            packed = [name for name in folders if name.endswith(_PACKED)]
            folders[:] = [name for name in folders if not name.endswith(_PACKED)]
            below = os.path.relpath(folder, base)
            names = (name.removesuffix(_PACKED).replace("%25", "%") for name in [*files, *packed])
            start = "" if below == "." else below.replace("%25", "%") + "/"
            keys.extend(start + name for name in names)
        return sorted(keys)

    def _base(self, namespace: str) -> str:
        if not _NAMESPACE.fullmatch(namespace):
            raise ArtifactUnsafeError(f"{namespace!r} is not a namespace")
        return os.path.join(self._root, namespace)

    def _path(self, namespace: str, key: str) -> str:
        parts = split_name(key.replace("%", "%25").lstrip("/"))
        if not parts:
            raise ArtifactError("an artifact needs a key")
        return os.path.join(self._base(namespace), *parts)

    @contextlib.contextmanager
    def _stage(self) -> Iterator[str]:
        """Lend a name for a file or folder; what still has it afterwards is deleted."""
        if not os.path.isdir(self._staging):
            os.makedirs(self._staging, mode=0o700, exist_ok=True)
        staged = os.path.join(self._staging, os.urandom(8).hex())
        try:
            yield staged
        finally:
            _delete(staged)

    def _copy_file(
        self,
        source: int,
        target: str,
        *,
        name: str = "",
        link_from: Path | None = None,
        mode: int | None = None,
        flush: bool = True,
    ) -> None:
        status = os.fstat(source)
        if link_from is not None and self._link(status, link_from, target):
            os.fchmod(source, status.st_mode & 0o755)
            _write_name(target, name)
            self._flush(source)
            return
        opened = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            copy_bytes(source, opened, status.st_size)
            mode = status.st_mode if mode is None else mode
            finish_file(opened, mode=mode, mtime=status.st_mtime)
            _write_name(opened, name)
            if flush:
                self._flush(opened)
        finally:
            os.close(opened)

    def _link(self, status: os.stat_result, path: Path, target: str) -> bool:
        """Share the file itself if the file system can; only if it still is the one opened, is ours
        and has no other name under which it might be written."""
        if status.st_uid != os.geteuid() or status.st_nlink != 1:
            return False
        try:
            os.link(path, target, follow_symlinks=False)
        except OSError:
            return False
        linked = os.stat(target, follow_symlinks=False)
        if (linked.st_dev, linked.st_ino) != (status.st_dev, status.st_ino):
            os.unlink(target)
            return False
        return True

    def _copy_tree(self, source: int, target: str, name: str = "") -> None:
        """Copy a folder, with its links and modes if it has a name, else as a bucket would.

        The target is ours alone, so plain paths are safe here.
        """
        files = 0
        mode = None if name else 0o644
        for entry in pack.walk(source, ""):
            path = os.path.join(target, entry.name) if entry.name else target
            if entry.target:
                if name:
                    os.symlink(entry.target, path)
            elif stat.S_ISDIR(entry.status.st_mode):
                os.mkdir(path, 0o755)
            else:
                files += 1
                self._copy_file(entry.descriptor, path, mode=mode, flush=files <= _FEW)
        _write_name(target, name)
        if files > _FEW:
            self._flush_all(target)

    def _merge(self, staged: str, target: str) -> None:
        """Move a tree to its key; where a folder is there already, file by file."""
        if not os.path.lexists(target):
            self._publish(staged, target)
            return
        for folder, _, files in os.walk(staged):
            below = os.path.normpath(os.path.join(target, os.path.relpath(folder, staged)))
            for name in files:
                self._publish(os.path.join(folder, name), os.path.join(below, name))

    def _publish(self, staged: str, target: str) -> None:
        """Move what is staged to its key; what was there before goes."""
        parent = os.path.dirname(target)
        while True:
            try:
                _rename(staged, target)
                break
            except FileNotFoundError:
                # Missing at first, or a deletion has just tidied it away.
                _make_folders(parent)
            except (NotADirectoryError, FileExistsError, IsADirectoryError) as error:
                raise ArtifactError("a key cannot be a file and a folder at once") from error
        if self._durable:
            # Gone with the key itself if somebody has deleted that already.
            with contextlib.suppress(FileNotFoundError):
                _flush_folder(parent)

    def _flush(self, target: int) -> None:
        # Flushing a new file also flushes the names of new folders above it on ext4, xfs and btrfs.
        if self._durable:
            os.fsync(target)

    def _flush_all(self, path: str) -> None:
        """Flush the whole file system: one call instead of one per file."""
        if not self._durable:
            return
        folder = os.open(path, beneath.DIRECTORY)
        try:
            _check(_libc.syncfs(folder), path)
        finally:
            os.close(folder)

    def _remove(self, path: str) -> None:
        """Take a file or tree out of sight in one move, then delete it."""
        with self._stage() as trash, contextlib.suppress(FileNotFoundError, NotADirectoryError):
            os.rename(path, trash)


def _delete(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        return
    except OSError:
        shutil.rmtree(path, ignore_errors=True)


def _write_name(target: str | int, name: str) -> None:
    """Note what a file or folder was called; not every file system can."""
    if name:
        with contextlib.suppress(OSError):
            os.setxattr(target, _NAME_ATTRIBUTE, os.fsencode(name))


def _read_name(path: str) -> str:
    try:
        return os.fsdecode(os.getxattr(path, _NAME_ATTRIBUTE, follow_symlinks=False))
    except OSError:
        return ""


def _flush_folder(path: str) -> None:
    folder = os.open(path, beneath.DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _make_folders(path: str) -> None:
    """Make a folder and those above it. A deletion may tidy one of them away again meanwhile; the
    caller comes back until it finds them all."""
    try:
        os.makedirs(path, mode=0o755, exist_ok=True)
    except FileNotFoundError:
        return
    except (NotADirectoryError, FileExistsError) as error:
        if isinstance(error, NotADirectoryError) or os.path.isfile(path):
            raise ArtifactError("a key cannot be a file and a folder at once") from error


def _rename(source: str, target: str) -> None:
    """Rename; swap the two where an older archive is in the way, which leaves it at ``source``."""
    try:
        os.rename(source, target)
        return
    except OSError as error:
        if error.errno not in _IN_THE_WAY or not target.endswith(_PACKED):
            raise
    result = _libc.renameat2(-100, os.fsencode(source), -100, os.fsencode(target), _EXCHANGE)
    _check(result, target)


def _check(result: int, path: str) -> None:
    if result != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), path)
