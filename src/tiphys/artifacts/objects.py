"""Artifacts in object stores: S3 and what speaks like it, Google Cloud Storage, Azure.

A key without an object of its own stands for all objects below it, as a folder. See `stores`.
"""

from __future__ import annotations

import contextlib
import os
import posixpath
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tiphys.artifacts import beneath, location, pack, stores, unpack
from tiphys.artifacts.config import ArtifactConfig
from tiphys.artifacts.limits import Meter
from tiphys.errors import ArtifactError, ArtifactNotFoundError, ArtifactUnsafeError
from tiphys.spec import model

_CHUNK = 4 << 20


class ObjectDriver:
    """Objects of one kind of store; ``open_store`` knows the kind."""

    def __init__(
        self,
        open_store: Callable[[model.Artifact, str], Any],
        config: ArtifactConfig,
        prepare: Callable[[model.Artifact, str], None] = lambda _artifact, _namespace: None,
    ) -> None:
        self._open_store = open_store
        self._limits = config.limits
        self._prepare = prepare
        """Done before something is stored."""

    def fetch(self, artifact: model.Artifact, target: Path, namespace: str) -> None:
        """Download the object, or all objects below the key as a folder."""
        with _translated():
            store, key = self._open(artifact, namespace)
            try:
                chunks = _object_chunks(store, key)
                first = next(chunks, b"")
            except _missing() as error:
                self._fetch_folder(store, key, target, error)
                return
            meter = Meter(self._limits)
            with target.open("xb") as file:
                for chunk in _chain(first, chunks):
                    meter.grow(len(chunk))
                    file.write(chunk)

    def store(self, source: Path, artifact: model.Artifact, namespace: str) -> None:
        """Upload a file, or each file of a folder under the key."""
        library = stores.obstore()
        with _translated():
            self._prepare(artifact, namespace)
            store, key = self._open(artifact, namespace)
            if source.is_file():
                library.put(store, key, source)
                return
            opened = os.open(source, beneath.DIRECTORY)
            try:
                for entry in pack.walk(opened, ""):
                    if stat.S_ISREG(entry.status.st_mode):
                        library.put(store, posixpath.join(key, entry.name), source / entry.name)
            finally:
                os.close(opened)

    def delete(self, artifact: model.Artifact, namespace: str) -> None:
        """Remove the object; all objects below the key if that is how it was saved."""
        library = stores.obstore()
        with _translated():
            store, key = self._open(artifact, namespace)
            folder = artifact.archive is not None and artifact.archive.none is not None
            keys = [] if location.key_of(artifact).endswith("/") else [key]
            if folder or not keys:
                keys += _keys_below(store, key)
            with contextlib.suppress(*_missing()):
                library.delete(store, keys)

    def read(self, artifact: model.Artifact, namespace: str) -> Iterator[bytes]:
        """Yield the bytes of the object; objects below the key come as a compressed tar archive."""
        with _translated():
            store, key = self._open(artifact, namespace)
            try:
                yield from _object_chunks(store, key)
            except _missing() as error:
                yield from self._read_folder(store, key, error)

    def list_keys(self, artifact: model.Artifact, namespace: str) -> list[str]:
        """List the keys below the artifact's."""
        with _translated():
            store, key = self._open(artifact, namespace)
            return _keys_below(store, key)

    def _open(self, artifact: model.Artifact, namespace: str) -> tuple[Any, str]:
        key = location.key_of(artifact).strip("/")
        if any(part in ("", ".", "..") for part in key.split("/")):
            raise ArtifactUnsafeError(f"{key!r} is not a usable key")
        return self._open_store(artifact, namespace), key

    def _read_folder(self, store: Any, key: str, missing: Exception) -> Iterator[bytes]:
        with tempfile.TemporaryDirectory() as folder:
            target = Path(folder, "tree")
            self._fetch_folder(store, key, target, missing)
            opened = os.open(target, beneath.DIRECTORY)
            try:
                yield from pack.gzip_chunks(pack.tar_chunks(opened, posixpath.basename(key)))
            finally:
                os.close(opened)

    def _fetch_folder(self, store: Any, key: str, target: Path, missing: Exception) -> None:
        keys = _keys_below(store, key)
        if not keys:
            raise ArtifactNotFoundError(f"there is no object {key!r}") from missing
        with unpack.landing(target, self._limits, whole=True) as writer:
            for each in keys:
                name = each.removeprefix(f"{key}/")
                writer.file(name, _object_chunks(store, each), mode=0o644)


def _keys_below(store: Any, key: str) -> list[str]:
    batches = stores.obstore().list(store, f"{key}/", chunk_size=1000)
    keys = [str(item["path"]) for batch in batches for item in batch]
    return sorted(each for each in keys if not each.endswith("/") and each != key)


def _object_chunks(store: Any, key: str) -> Iterator[bytes]:
    for chunk in stores.obstore().get(store, key).stream(min_chunk_size=_CHUNK):
        yield bytes(chunk)


def _chain(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield from rest


def _missing() -> tuple[type[Exception], ...]:
    """Give the errors that mean: no such object. Which one comes depends on the call."""
    return (stores.exceptions().NotFoundError, FileNotFoundError)


@contextlib.contextmanager
def _translated() -> Iterator[None]:
    """Turn the library's errors into ours."""
    errors = stores.exceptions()
    try:
        yield
    except _missing() as error:
        raise ArtifactNotFoundError(_first_line(error)) from error
    except errors.BaseError as error:
        raise ArtifactError(_first_line(error)) from error


def _first_line(error: Exception) -> str:
    """Give the first line of an error; what follows is the server's XML and debugging text."""
    return str(error).strip().split("\n", 1)[0].partition(": <?xml")[0]
