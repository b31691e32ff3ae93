"""Before the start and after the end: input artifacts are brought, outputs are saved.

Slow and synchronous, for worker threads. With ``process`` isolation inputs and volumes are placed
on the host itself as links, only where nothing is yet, and taken away again afterwards.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

import msgspec

from tiphys.errors import ArtifactError, ArtifactNotFoundError, RuntimeFailure
from tiphys.executor.protocol import Mount
from tiphys.executor.spawn import place_of
from tiphys.executor.tree import remove_tree
from tiphys.ports import Task
from tiphys.runtimes.engine import Engine, EngineView, without_mounts
from tiphys.runtimes.environment import pod_of
from tiphys.runtimes.logs import read_all
from tiphys.runtimes.translate import MAIN, Load, Plan
from tiphys.runtimes.view import View
from tiphys.spec import model

RESULT_BYTES = 256 * 1024
MAX_PARAMETER = 64 * 1024 * 1024


class ArtifactStore(Protocol):
    """What is needed of ``artifacts.Repositories``."""

    def resolve(
        self,
        artifact: model.Artifact,
        *,
        namespace: str,
        repository: Any = ...,
        default_key: str = ...,
    ) -> model.Artifact:
        """Give an artifact its whole location."""

    def load(self, artifact: model.Artifact, destination: Path, *, namespace: str) -> None:
        """Bring an artifact to ``destination``."""

    def save(self, path: Path, artifact: model.Artifact, *, namespace: str) -> model.Artifact:
        """Store what lies at ``path``."""

    def save_bytes(
        self, chunks: Iterator[bytes], artifact: model.Artifact, *, namespace: str
    ) -> model.Artifact:
        """Store bytes as they are."""


def stage(plan: Plan, artifacts: ArtifactStore | None) -> None:
    """Bring the inputs; afterwards the attempt's mounts are all there."""
    missing = {str(load.destination) for load in plan.loads if not _load(plan, load, artifacts)}
    if missing:
        _drop_mounts(plan, missing)
    if plan.attempt.isolation == "process":
        place(plan)


def _load(plan: Plan, load: Load, artifacts: ArtifactStore | None) -> bool:
    if artifacts is None:
        raise RuntimeFailure("no artifact storage is configured")
    artifact, namespace = load.artifact, plan.task.namespace
    remove_tree(str(load.destination))
    load.destination.unlink(missing_ok=True)
    load.destination.parent.mkdir(parents=True, exist_ok=True)
    try:
        whole = artifacts.resolve(artifact, namespace=namespace)
        artifacts.load(whole, load.destination, namespace=namespace)
    except ArtifactNotFoundError:
        if artifact.optional:
            return False
        raise
    return True


def _drop_mounts(plan: Plan, missing: set[str]) -> None:
    runs = tuple(
        without_mounts(run, missing)
        if run.halt
        else msgspec.structs.replace(
            run, mounts=tuple(mount for mount in run.mounts if mount.source not in missing)
        )
        for run in plan.attempt.containers
    )
    plan.attempt = msgspec.structs.replace(plan.attempt, containers=runs)


def place(plan: Plan) -> None:
    """Link the attempt's mounts into the host's own tree."""
    mounts = list(dict.fromkeys(mount for run in plan.attempt.containers for mount in run.mounts))
    if not mounts:
        return
    placed: list[str] = []
    try:
        for mount in mounts:
            _place(mount, placed)
    finally:
        (plan.folder / "placed").write_bytes(msgspec.json.encode(placed))


def _place(mount: Mount, placed: list[str]) -> None:
    if os.path.lexists(mount.target):
        with suppress(OSError):
            if os.readlink(mount.target) == mount.source:
                return
        raise RuntimeFailure(
            f"{mount.target} exists on this machine: without a sandbox it cannot be replaced"
        )
    parent = os.path.dirname(mount.target)
    fresh = []
    while not os.path.isdir(parent):
        fresh.append(parent)
        parent = os.path.dirname(parent)
    for folder in reversed(fresh):
        os.mkdir(folder)
        placed.append(folder)
    os.symlink(mount.source, mount.target)
    placed.append(mount.target)


def unplace(folder: Path) -> None:
    """Take away what ``place`` put on the host."""
    try:
        placed = msgspec.json.decode((folder / "placed").read_bytes(), type=list[str])
    except (FileNotFoundError, msgspec.DecodeError):
        return
    for path in reversed(placed):
        with suppress(OSError):
            if os.path.islink(path):
                os.unlink(path)
            else:
                os.rmdir(path)
    (folder / "placed").unlink(missing_ok=True)


def tidy(folder: Path) -> None:
    """Remove everything of an attempt but its logs: inputs, volumes, secrets written as files."""
    for name in ("inputs", "volumes", "merged", "work", "run", "env"):
        remove_tree(str(folder / name))
    for name in ("script", "progress"):
        (folder / name).unlink(missing_ok=True)


def read_result(folder: Path) -> str:
    """Return the end of main's standard output, without its last newline."""
    try:
        with open(folder / "main.stdout", "rb") as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(max(0, size - RESULT_BYTES))
            data = file.read(RESULT_BYTES)
    except FileNotFoundError:
        return ""
    return data.removesuffix(b"\n").decode("utf-8", "replace")


def _view_of(plan: Plan, engine: Engine | None) -> View | EngineView:
    if engine is not None:
        return EngineView(engine, engine.container(plan.task.id, MAIN))
    main = plan.main
    # Asked of the disk: the server that started it may have had another configuration.
    upper = place_of(str(plan.folder), MAIN) / "upper"
    mounts = main.mounts if main is not None else ()
    return View(upper if upper.is_dir() else None, mounts)


class Collector:
    """Saves the outputs of one attempt that has ended."""

    def __init__(
        self, plan: Plan, artifacts: ArtifactStore | None, engine: Engine | None = None
    ) -> None:
        self._plan = plan
        self._artifacts = artifacts
        self._view = _view_of(plan, engine)
        self._spare = plan.folder / "merged"

    def collect(self) -> tuple[model.Outputs, list[str]]:
        """Return parameters with values, artifacts with locations, and what went wrong."""
        problems: list[str] = []
        template = self._plan.task.template
        parameters, artifacts = [], []
        for parameter in template.outputs.parameters:
            try:
                parameters.append(self._parameter(parameter))
            except OSError as error:
                # As Argo shows it: there, but without a value.
                parameters.append(parameter)
                problems.append(f"open {error.filename}: {(error.strerror or '').lower()}")
        for artifact in template.outputs.artifacts:
            try:
                saved = self._artifact(artifact)
            except (ArtifactError, OSError) as error:
                problems.append(f"failed to save artifact {artifact.name}: {error}")
                continue
            if saved is not None:
                artifacts.append(saved)
        if self._plan.task.archive_logs:
            artifacts += self._logs(problems)
        outputs = model.Outputs(parameters=tuple(parameters), artifacts=tuple(artifacts))
        return outputs, problems

    def _parameter(self, parameter: model.Parameter) -> model.Parameter:
        source = parameter.value_from
        if source is None or not source.path:
            return parameter
        place = self._view.open_place(source.path, self._spare / parameter.name)
        if place is None and source.default is not None:
            return msgspec.structs.replace(parameter, value=source.default)
        if place is None:
            raise FileNotFoundError(2, "No such file or directory", source.path)
        with open(place, "rb") as file:
            text = file.read(MAX_PARAMETER).decode("utf-8", "replace")
        return msgspec.structs.replace(parameter, value=text.removesuffix("\n"))

    def _artifact(self, artifact: model.Artifact) -> model.Artifact | None:
        if not artifact.path:
            return None
        place = self._view.open_place(artifact.path, self._spare / artifact.name)
        if place is None:
            if artifact.optional:
                return None
            raise ArtifactNotFoundError(f"{artifact.path}: no such file or directory")
        return self._store().save(place, self._resolve(artifact), namespace=self._task.namespace)

    @property
    def _task(self) -> Task:
        return self._plan.task

    def _store(self) -> ArtifactStore:
        if self._artifacts is None:
            raise ArtifactError("no artifact storage is configured")
        return self._artifacts

    def _resolve(self, artifact: model.Artifact) -> model.Artifact:
        key = f"{self._task.workflow}/{pod_of(self._task)}"
        return self._store().resolve(
            artifact,
            namespace=self._task.namespace,
            repository=self._task.template.archive_location,
            default_key=key,
        )

    def _logs(self, problems: list[str]) -> list[model.Artifact]:
        saved = []
        none = model.ArchiveStrategy(none=model.NoneStrategy())
        for run in self._plan.attempt.containers:
            if run.role != "main":
                continue
            artifact = model.Artifact(name=f"{run.name}-logs", path=f"{run.name}.log", archive=none)
            try:
                whole = self._resolve(artifact)
                chunks = read_all(self._plan.folder, run.name)
                self._store().save_bytes(chunks, whole, namespace=self._task.namespace)
            except (ArtifactError, OSError) as error:
                problems.append(f"failed to save logs of {run.name}: {error}")
                continue
            saved.append(msgspec.structs.replace(whole, path="", archive=None))
        return saved
