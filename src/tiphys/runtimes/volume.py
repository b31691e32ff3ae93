"""The volumes of a task as folders of this machine.

``emptyDir`` and the like are folders of the attempt; claims are folders of the data directory that
outlive it; config maps, secrets and downward fields are files written for the attempt. A host path
needs leave from the configuration.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from tiphys.errors import RuntimeFailure
from tiphys.ports import Task
from tiphys.runtimes.command import expand
from tiphys.runtimes.config import LocalConfig
from tiphys.runtimes.environment import Environment, resource_field
from tiphys.spec import model

_NAME = r"[A-Za-z0-9][-A-Za-z0-9_.]*"
DEFAULT_MODE = 0o644


class Volumes:
    """Makes the folders of one task's volumes, each at its first use."""

    def __init__(
        self, task: Task, folder: str, claims: Path, config: LocalConfig, environment: Environment
    ) -> None:
        self._task = task
        self._attempt = folder
        self._claims = claims
        self._config = config
        self._environment = environment
        given = (*task.volumes, *task.template.volumes)
        self._volumes = {volume.name: volume for volume in given}
        self._paths: dict[str, Path] = {}

    def source(self, mount: model.VolumeMount, variables: Mapping[str, str]) -> Path:
        """Return what to show at ``mount``: the volume, or the part of it at its subPath."""
        path = self._path(mount.name)
        inner = mount.sub_path or expand(mount.sub_path_expr, variables)
        if not inner:
            return path
        return _below(path, inner)

    def _path(self, name: str) -> Path:
        if name not in self._paths:
            volume = self._volumes.get(name)
            if volume is None:
                raise RuntimeFailure(f'volume "{name}" is not defined')
            self._paths[name] = self._make(volume)
        return self._paths[name]

    def _make(self, volume: model.Volume) -> Path:
        if volume.host_path is not None:
            return self._host_path(volume.host_path)
        if volume.persistent_volume_claim is not None:
            return self._claim(volume.persistent_volume_claim.claim_name)
        path = Path(self._attempt, "volumes", _checked(volume.name))
        path.mkdir(parents=True, exist_ok=True)
        path.chmod(0o777)
        write = self._writer(volume)
        if write is None:
            raise RuntimeFailure(f'volume "{volume.name}": its kind is not supported here')
        write(path)
        return path

    def _writer(self, volume: model.Volume) -> Callable[[Path], None] | None:
        if volume.config_map is not None:
            source = volume.config_map
            return lambda path: self._write_config_map(path, source, source.default_mode)
        if volume.secret is not None:
            secret = volume.secret
            projection = model.SecretProjection(
                name=secret.secret_name, items=secret.items, optional=secret.optional
            )
            return lambda path: self._write_secret(path, projection, secret.default_mode)
        if volume.downward_api is not None:
            downward = volume.downward_api
            return lambda path: self._write_downward(path, downward.items, downward.default_mode)
        if volume.projected is not None:
            projected = volume.projected
            return lambda path: self._write_projected(path, projected)
        if volume.empty_dir is not None or volume.ephemeral is not None:
            return lambda path: None
        known = is_bare(volume)
        return (lambda path: None) if known else None

    def _host_path(self, source: model.HostPathVolumeSource) -> Path:
        if not self._config.allow_host_path:
            raise RuntimeFailure(
                f"policy_denied: hostPath {source.path} (allowHostPath is off in the configuration)"
            )
        path = Path(source.path)
        if source.type == "DirectoryOrCreate":
            path.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            raise RuntimeFailure(f"hostPath {source.path} does not exist")
        return path

    def _claim(self, name: str) -> Path:
        path = self._claims / _checked(self._task.namespace) / _checked(name)
        if not path.is_dir():
            path.mkdir(parents=True, exist_ok=True)
            path.chmod(0o777)
        return path

    def _write_config_map(
        self,
        path: Path,
        source: model.ConfigMapVolumeSource | model.ConfigMapProjection,
        mode: int | None,
    ) -> None:
        data = self._environment.config_map(source.name, optional=bool(source.optional))
        files = {key: value.encode("utf-8", "surrogateescape") for key, value in data.items()}
        _write_items(path, files, source.items, mode)

    def _write_secret(self, path: Path, source: model.SecretProjection, mode: int | None) -> None:
        data = self._environment.secret(source.name, optional=bool(source.optional))
        _write_items(path, data, source.items, mode)

    def _write_downward(
        self, path: Path, items: Iterable[model.DownwardAPIVolumeFile], mode: int | None
    ) -> None:
        for item in items:
            text = ""
            if item.field_ref is not None:
                text = self._environment.field(item.field_ref.field_path)
            elif item.resource_field_ref is not None:
                given = _resources_of(self._task, item.resource_field_ref.container_name)
                text = resource_field(item.resource_field_ref, given)
            _write(path, item.path, text.encode(), item.mode or mode)

    def _write_projected(self, path: Path, source: model.ProjectedVolumeSource) -> None:
        for part in source.sources:
            if part.config_map is not None:
                self._write_config_map(path, part.config_map, source.default_mode)
            elif part.secret is not None:
                self._write_secret(path, part.secret, source.default_mode)
            elif part.downward_api is not None:
                self._write_downward(path, part.downward_api.items, source.default_mode)
            else:
                raise RuntimeFailure("a projected source of this kind is not supported here")


def is_bare(volume: model.Volume) -> bool:
    """Tell whether a volume has only its name: Kubernetes takes that for an emptyDir."""
    return volume == model.Volume(name=volume.name)


def _resources_of(task: Task, name: str) -> model.ResourceRequirements:
    template = task.template
    candidates: list[model.Container] = [*template.sidecars, *template.init_containers]
    if template.container_set is not None:
        candidates += template.container_set.containers
    for container in candidates:
        if container.name == name:
            return container.resources
    main = template.container or template.script
    return main.resources if main is not None else model.ResourceRequirements()


def _checked(name: str) -> str:
    if not re.fullmatch(_NAME, name):
        raise RuntimeFailure(f"{name!r} cannot name a volume")
    return name


def _below(root: Path, inner: str) -> Path:
    """Return ``inner`` inside ``root``, made where missing, never led out by ``..`` or a link."""
    normal = posixpath.normpath(inner)
    if normal.startswith(("/", "..")):
        raise RuntimeFailure(f"subPath {inner!r} leads out of its volume")
    path = root / normal
    if not os.path.lexists(path):
        path.mkdir(parents=True)
        path.chmod(0o777)
    if not path.resolve().is_relative_to(root.resolve()):
        raise RuntimeFailure(f"subPath {inner!r} leads out of its volume")
    return path.resolve()


def _write_items(
    path: Path, files: Mapping[str, bytes], items: Iterable[model.KeyToPath], mode: int | None
) -> None:
    chosen = list(items)
    if not chosen:
        for name, content in files.items():
            _write(path, name, content, mode)
        return
    for item in chosen:
        if item.key not in files:
            raise RuntimeFailure(f"references non-existent key: {item.key}")
        _write(path, item.path, files[item.key], item.mode or mode)


def _write(root: Path, name: str, content: bytes, mode: int | None) -> None:
    normal = posixpath.normpath(name)
    if normal.startswith(("/", "..")) or normal == ".":
        raise RuntimeFailure(f"{name!r} leads out of its volume")
    path = root / normal
    path.parent.mkdir(parents=True, exist_ok=True)
    write_file(path, content, mode or DEFAULT_MODE)


def write_file(path: Path, content: bytes, mode: int) -> None:
    """Write a file that a running task may be reading: an old one is replaced, never changed."""
    exists = path.exists()
    target = path.with_name(f"{path.name}.new") if exists else path
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
    try:
        descriptor = os.open(target, flags, mode)
    except FileNotFoundError:  # The first file of an attempt.
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(target, flags, mode)
    with open(descriptor, "wb") as file:
        os.fchmod(descriptor, mode)
        file.write(content)
    if exists:
        target.replace(path)
