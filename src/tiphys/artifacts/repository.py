"""Artifacts as the runtime sees them: resolve, load, save, delete, read, list.

Joins the drivers (who move bytes) with archives, modes and repositories (which are the same for all
of them). Synchronous and without state, to be called from worker threads. Of the errors of a driver
or of the operating system only `ArtifactError` and its kin come out.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import itertools
import os
import posixpath
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from tiphys.artifacts import beneath, location, pack, placing, unpack
from tiphys.artifacts.config import ArtifactConfig, ArtifactRepository
from tiphys.artifacts.copying import read_chunks
from tiphys.artifacts.driver import Driver
from tiphys.artifacts.limits import Meter
from tiphys.artifacts.local import LocalStore, Stored
from tiphys.artifacts.reference import (
    ConfigMapReader,
    find_repository,
    no_config_maps,
    read_repository,
)
from tiphys.artifacts.secret import SecretReader
from tiphys.errors import ArtifactError, ArtifactNotFoundError, ExpressionError
from tiphys.spec import model
from tiphys.spec.template import compile_template

Home = ArtifactRepository | model.ArtifactLocation | str | None
"""Where artifacts without a place of their own go; a text is that of a config map."""


class Repositories:
    """All artifact storage of this installation."""

    def __init__(
        self,
        *,
        root: Path,
        config: ArtifactConfig,
        secrets: SecretReader,
        config_maps: ConfigMapReader = no_config_maps,
    ) -> None:
        self._config = config
        self._config_maps = config_maps
        self._local = LocalStore(root, durable=config.durable)
        self._secrets = secrets

    def repository(
        self, namespace: str, ref: model.ArtifactRepositoryRef | None = None
    ) -> ArtifactRepository:
        """Find the repository of a workflow: that of its ref, of its namespace, or the default."""
        found = find_repository(namespace, ref, self._config_maps)
        return found or self._config.artifact_repository

    def archives_logs(self, namespace: str, text: str = "") -> bool:
        """Tell whether a repository wants the logs of every task, whatever the workflow says."""
        found = read_repository(text) if text else self.repository(namespace)
        return bool(found.archive_logs)

    def resolve(
        self,
        artifact: model.Artifact,
        *,
        namespace: str,
        repository: Home = None,
        default_key: str = "",
        values: Mapping[str, object] | None = None,
    ) -> model.Artifact:
        """Give an artifact its whole location.

        ``repository`` is that of the workflow (or the text that describes it), or the
        ``archiveLocation`` of the template; where it names no place, the namespace's counts. An
        artifact without a key goes to the folder that the repository's key format gives with
        ``values`` (``workflow.name``, ``pod.name``, …) for its tags, or to ``default_key`` if a tag
        stays open.
        """
        if location.is_whole(artifact):
            return artifact
        home = self._home(namespace, repository)
        key = location.key_of(artifact)
        if not key:
            folder = _folder(location.key_of(home), values or {}) or default_key
            if not default_key:
                raise ArtifactNotFoundError(f"required artifact '{artifact.name}' not supplied")
            key = posixpath.join(folder, file_name(artifact))
        return location.relocate(artifact, home, key)

    def load(
        self,
        artifact: model.Artifact,
        destination: Path,
        *,
        namespace: str,
        root: Path | None = None,
    ) -> None:
        """Bring an artifact to ``destination``, unpacked, with its mode.

        A file that is there already is replaced, a folder is not. ``root``: the destination is that
        of a process which sees ``root`` as its ``/`` (a volume that tasks can write to); links on
        the way are followed inside of it only.
        """
        with _translated(artifact, "failed to load: "):
            if root is None:
                self._load(artifact, destination, namespace)
                return
            with beneath.destination_in(root, destination) as inside:
                self._load(artifact, inside, namespace)

    def save(
        self,
        path: Path,
        artifact: model.Artifact,
        *,
        namespace: str,
        root: Path | None = None,
        may_link: bool = False,
    ) -> model.Artifact:
        """Pack the file or folder at ``path`` and put it at the artifact's whole location.

        ``root``: the path is that of a process which sees ``root`` as its ``/``; links are followed
        inside of it only. ``may_link``: the file is never written again, so the local repository
        may share it by a hard link instead of copying.
        """
        with _translated(artifact):
            source = beneath.open_source(path, root)
            try:
                pack.measure(source, Meter(self._config.limits))
                name = posixpath.basename(artifact.path.rstrip("/")) or path.name
                shared = path if may_link and root is None else None
                self._save(source, name, artifact, namespace, shared)
            finally:
                os.close(source)
        return artifact

    def save_bytes(
        self, chunks: Iterator[bytes], artifact: model.Artifact, *, namespace: str
    ) -> model.Artifact:
        """Put bytes at the artifact's whole location as they are."""
        with _translated(artifact):
            if artifact.local is not None:
                self._local.put_chunks(namespace, artifact.local.key, chunks)
                return artifact
            with self._local.temporary() as folder:
                placing.write_file(folder / "content", chunks)
                self._driver(artifact).store(folder / "content", artifact, namespace)
        return artifact

    def delete(self, artifact: model.Artifact, *, namespace: str) -> None:
        """Remove an artifact; one that is not there is fine."""
        with _translated(artifact):
            if artifact.local is not None:
                self._local.delete(namespace, artifact.local.key)
            else:
                self._driver(artifact).delete(artifact, namespace)

    def read(self, artifact: model.Artifact, *, namespace: str) -> Iterator[bytes]:
        """Yield the bytes as stored: an archive stays one, a folder is packed. First errors raise
        at once, not at the first chunk."""
        with _translated(artifact):
            if artifact.local is not None:
                chunks = self._read_local(artifact, namespace)
            else:
                chunks = self._driver(artifact).read(artifact, namespace)
            first = next(chunks, b"")
        return _translated_chunks(artifact, itertools.chain((first,), chunks))

    def list_keys(self, artifact: model.Artifact, prefix: str = "", *, namespace: str) -> list[str]:
        """List the keys of the files below an artifact's key (and ``prefix`` below that)."""
        with _translated(artifact):
            if prefix:
                artifact = location.append_to_key(artifact, prefix)
            if artifact.local is not None:
                keys = self._local.list_keys(namespace, artifact.local.key)
            else:
                keys = self._driver(artifact).list_keys(artifact, namespace)
            if not keys:
                raise ArtifactNotFoundError(f"no key found of name {location.key_of(artifact)}")
            return keys

    def sweep(self, before: float) -> int:
        """Drop what writers that died have left unfinished before that time; give how much."""
        return self._local.sweep(before)

    @functools.cached_property
    def _drivers(self) -> Mapping[str, Driver]:
        # Late: most runs need none of them, and their libraries take a while to import.
        drivers = importlib.import_module("tiphys.artifacts.drivers")
        made: Mapping[str, Driver] = drivers.make_drivers(self._config, self._secrets)
        return made

    def _home(self, namespace: str, repository: Home) -> model.ArtifactLocation:
        if isinstance(repository, model.ArtifactLocation) and location.kind_of(repository):
            return repository
        if repository and isinstance(repository, str):
            return read_repository(repository).location()
        if isinstance(repository, ArtifactRepository):
            return repository.location()
        return self.repository(namespace).location()

    def _driver(self, artifact: model.Artifact) -> Driver:
        kind = location.kind_of(artifact)
        if not kind:
            raise ArtifactNotFoundError(f"required artifact '{artifact.name}' not supplied")
        driver = self._drivers.get(kind)
        if driver is None:
            raise ArtifactError(f"{kind} artifacts are not supported here")
        return driver

    def _load(self, artifact: model.Artifact, destination: Path, namespace: str) -> None:
        if artifact.local is not None:
            self._load_local(artifact, destination, namespace)
        else:
            self._load_remote(artifact, destination, namespace)
        if artifact.mode is not None:
            placing.change_mode(destination, artifact.mode, recurse=artifact.recurse_mode)

    def _load_local(self, artifact: model.Artifact, destination: Path, namespace: str) -> None:
        assert artifact.local is not None
        stored = self._local.find(namespace, artifact.local.key)
        archive = artifact.archive or model.ArchiveStrategy()
        if stored.packed and archive.none is None and archive.zip is None:
            self._copy_out(stored, destination)
            return
        with unpack.beside(destination) as fetched:
            if stored.packed:
                placing.write_file(fetched, self._read_local(artifact, namespace))
            else:
                self._copy_out(stored, fetched)
            self._place(fetched, artifact, destination)

    def _load_remote(self, artifact: model.Artifact, destination: Path, namespace: str) -> None:
        with unpack.beside(destination) as fetched:
            self._driver(artifact).fetch(artifact, fetched, namespace)
            if fetched.is_file():
                fetched.chmod(0o644)
            self._place(fetched, artifact, destination)

    def _place(self, fetched: Path, artifact: model.Artifact, destination: Path) -> None:
        """Unpack what was fetched if its strategy, or a look at it, says so."""
        archive = artifact.archive or model.ArchiveStrategy()
        if archive.none is None and fetched.is_file():
            if archive.zip is not None:
                unpack.unzip(fetched, destination, self._config.limits)
                return
            if archive.tar is not None or unpack.is_tarball(fetched):
                unpack.untar(fetched, destination, self._config.limits)
                return
        unpack.land(fetched, destination)

    def _copy_out(self, stored: Stored, destination: Path) -> None:
        source = os.open(stored.path, beneath.READ)
        try:
            status = os.fstat(source)
            if stat.S_ISREG(status.st_mode):
                placing.place_file(source, status, destination)
                return
            with unpack.landing(destination, self._config.limits, whole=True) as writer:
                for entry in itertools.islice(pack.walk(source, ""), 1, None):
                    if entry.target:
                        writer.symlink(entry.name, entry.target)
                    elif stat.S_ISDIR(entry.status.st_mode):
                        writer.directory(entry.name)
                    else:
                        writer.copy(entry.name, entry.descriptor, entry.status)
        finally:
            os.close(source)

    def _read_local(self, artifact: model.Artifact, namespace: str) -> Iterator[bytes]:
        assert artifact.local is not None
        stored = self._local.find(namespace, artifact.local.key)
        source = os.open(stored.path, beneath.READ)
        if stored.packed or stat.S_ISDIR(os.fstat(source).st_mode):
            return placing.packed_chunks(source, stored.name, _level(artifact))
        return read_chunks(source)

    def _save(
        self, source: int, name: str, artifact: model.Artifact, namespace: str, shared: Path | None
    ) -> None:
        archive = artifact.archive or model.ArchiveStrategy()
        if artifact.local is not None and archive.zip is None:
            key = artifact.local.key
            if archive.none is not None:
                self._local.put(namespace, key, source)
            else:
                self._local.put_packed(namespace, key, source, name, link_from=shared)
            return
        with self._local.temporary() as folder:
            content = folder / "content"
            placing.stage(source, name, archive, content, _level(artifact))
            if artifact.local is not None:
                self._local.put_file(namespace, artifact.local.key, content)
            else:
                self._driver(artifact).store(content, artifact, namespace)


def file_name(artifact: model.Artifact) -> str:
    """Give the last part of the key of an artifact that names none, as Argo forms it."""
    archive = artifact.archive or model.ArchiveStrategy()
    if archive.none is not None:
        return posixpath.basename(artifact.path.rstrip("/")) or artifact.name
    return artifact.name + (".zip" if archive.zip is not None else ".tgz")


def _folder(key_format: str, values: Mapping[str, object]) -> str:
    """Fill a key format; give nothing if a tag of it stays open."""
    if "{{" not in key_format:
        return key_format
    try:
        return compile_template(key_format).render(values, allow_unresolved=False)
    except ExpressionError:
        return ""


def _level(artifact: model.Artifact) -> int:
    archive = artifact.archive
    if archive is None or archive.tar is None or archive.tar.compression_level is None:
        return pack.DEFAULT_LEVEL
    return max(-1, min(9, archive.tar.compression_level))


@contextlib.contextmanager
def _translated(artifact: model.Artifact, what: str = "failed: ") -> Iterator[None]:
    """Let only our own errors out, and name the artifact in them."""
    try:
        yield
    except ArtifactError as error:
        raise type(error)(f"artifact {artifact.name} {what}{error}") from error
    except OSError as error:
        raise ArtifactError(f"artifact {artifact.name} {what}{error}") from error


def _translated_chunks(artifact: model.Artifact, chunks: Iterator[bytes]) -> Iterator[bytes]:
    with _translated(artifact):
        yield from chunks
