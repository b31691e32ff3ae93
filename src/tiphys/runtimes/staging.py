"""Before the start and after the end: input artifacts are brought, outputs are saved.

Slow and synchronous, for worker threads. Where artifacts go is the workflow's to say: its own
repository or the template's ``archiveLocation``, and the key format of that.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from tiphys.engine.shield import unshield
from tiphys.errors import ArtifactError, ArtifactNotFoundError, RuntimeFailure
from tiphys.executor.place import place_of
from tiphys.executor.tree import remove_tree
from tiphys.ports import Task
from tiphys.runtimes.environment import pod_of
from tiphys.runtimes.home import repository_of
from tiphys.runtimes.translate import MAIN, Load, Plan
from tiphys.runtimes.view import View
from tiphys.spec import model

if TYPE_CHECKING:
    from tiphys.runtimes.engine import Engine

MAX_PARAMETER = 64 * 1024 * 1024


class ArtifactStore(Protocol):
    """What is needed of ``artifacts.Repositories``."""

    def archives_logs(self, namespace: str, text: str = "") -> bool:
        """Tell whether the repository wants the logs of every task."""

    def resolve(
        self,
        artifact: model.Artifact,
        *,
        namespace: str,
        repository: Any = ...,
        default_key: str = ...,
        values: Mapping[str, object] | None = ...,
    ) -> model.Artifact:
        """Give an artifact its whole location."""

    def load(self, artifact: model.Artifact, destination: Path, *, namespace: str) -> None:
        """Bring an artifact to ``destination``."""

    def save(
        self,
        path: Path,
        artifact: model.Artifact,
        *,
        namespace: str,
        root: Path | None = ...,
        may_link: bool = ...,
    ) -> model.Artifact:
        """Store what lies at ``path``, as seen by who has ``root`` for ``/``."""

    def save_bytes(
        self, chunks: Iterator[bytes], artifact: model.Artifact, *, namespace: str
    ) -> model.Artifact:
        """Store bytes as they are."""


def stage(plan: Plan, artifacts: ArtifactStore | None) -> None:
    """Bring the inputs; afterwards the attempt's mounts are all there."""
    missing = {str(load.destination) for load in plan.loads if not _load(plan, load, artifacts)}
    if missing:
        _drop_mounts(plan, missing)


def _load(plan: Plan, load: Load, artifacts: ArtifactStore | None) -> bool:
    if artifacts is None:
        raise RuntimeFailure("no artifact storage is configured")
    artifact, namespace = load.artifact, plan.task.namespace
    remove_tree(str(load.destination))
    load.destination.unlink(missing_ok=True)
    load.destination.parent.mkdir(parents=True, exist_ok=True)
    try:
        whole = artifacts.resolve(
            artifact, namespace=namespace, repository=repository_of(plan.task)
        )
        artifacts.load(whole, load.destination, namespace=namespace)
    except ArtifactNotFoundError:
        if artifact.optional:
            return False
        raise
    return True


def _drop_mounts(plan: Plan, missing: set[str]) -> None:
    from tiphys.runtimes.engine import without_mounts  # noqa: PLC0415 - little is ever missing

    runs = tuple(
        without_mounts(run, missing)
        if run.halt
        else msgspec.structs.replace(
            run, mounts=tuple(mount for mount in run.mounts if mount.source not in missing)
        )
        for run in plan.attempt.containers
    )
    plan.attempt = msgspec.structs.replace(plan.attempt, containers=runs)
    plan.placed = plan.placed and any(run.mounts for run in runs)


class Files(Protocol):
    """The files of a container that has ended, wherever it ran."""

    def open_place(self, path: str, spare: Path) -> Path | None:
        """Return a path of the host with the content of ``path``, None where there is nothing."""

    def within(self, place: Path) -> tuple[Path | None, Path, bool]:
        """Split what ``open_place`` gave: root and path in it, and whether it is a copy."""


def _view_of(plan: Plan, engine: Engine | None) -> Files:
    if engine is not None:
        from tiphys.runtimes.engine import EngineView  # noqa: PLC0415 - loaded with the engine

        return EngineView(engine, engine.container(plan.task.id, MAIN))
    main = plan.main
    # Asked of the disk: the server that started it may have had another configuration.
    upper = place_of(str(plan.folder), MAIN) / "upper"
    mounts = main.mounts if main is not None else ()
    return View(upper if upper.is_dir() else None, mounts)


class Collector:
    """Saves the outputs of one attempt that has ended."""

    def __init__(
        self,
        plan: Plan,
        artifacts: ArtifactStore | None,
        engine: Engine | None = None,
        view: Files | None = None,
    ) -> None:
        self._plan = plan
        self._artifacts = artifacts
        self._view = view or _view_of(plan, engine)
        self._spare = plan.folder / "merged"

    def collect(self, *, files: bool = True) -> tuple[model.Outputs, list[str]]:
        """Return parameters with values, artifacts with locations, and what went wrong.

        Without ``files`` only logs are saved: the task did not get as far as its outputs.
        """
        problems: list[str] = []
        outputs = self._outputs(problems) if files else model.Outputs()
        if self._plan.archives:
            artifacts = (*outputs.artifacts, *self._logs(problems))
            outputs = msgspec.structs.replace(outputs, artifacts=artifacts)
        return outputs, problems

    def _outputs(self, problems: list[str]) -> model.Outputs:
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
        return model.Outputs(parameters=tuple(parameters), artifacts=tuple(artifacts))

    def _parameter(self, parameter: model.Parameter) -> model.Parameter:
        source = parameter.value_from
        if source is None or not source.path:
            return parameter
        place = self._view.open_place(source.path, self._spare / parameter.name)
        if place is None and source.default is not None:
            return msgspec.structs.replace(parameter, value=source.default)
        if place is None:
            raise FileNotFoundError(2, "No such file or directory", source.path)
        with open(self._opened(place, source.path), "rb") as file:
            text = file.read(MAX_PARAMETER).decode("utf-8", "replace")
        return msgspec.structs.replace(parameter, value=text.removesuffix("\n"))

    def _opened(self, place: Path, path: str) -> int:
        """Open a file that the task wrote; in a volume others may have put a link there since."""
        root, _, _ = self._view.within(place)
        descriptor = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        really = os.readlink(f"/proc/self/fd/{descriptor}")
        strayed = root is not None and not Path(really).is_relative_to(root.resolve())
        if strayed or not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise OSError(errno.EINVAL, "Not a regular file", path)
        return descriptor

    def _artifact(self, artifact: model.Artifact) -> model.Artifact | None:
        if not artifact.path:
            return None
        place = self._view.open_place(artifact.path, self._spare / artifact.name)
        if place is None:
            if artifact.optional:
                return None
            raise ArtifactNotFoundError(f"{artifact.path}: no such file or directory")
        whole = self._resolve(artifact)
        root, path, private = self._view.within(place)
        return self._store().save(
            path, whole, namespace=self._task.namespace, root=root, may_link=private
        )

    @property
    def _task(self) -> Task:
        return self._plan.task

    def _store(self) -> ArtifactStore:
        if self._artifacts is None:
            raise ArtifactError("no artifact storage is configured")
        return self._artifacts

    def _resolve(self, artifact: model.Artifact) -> model.Artifact:
        task, pod = self._task, pod_of(self._task)
        values = {name: unshield(value) for name, value in task.values.items()}
        return self._store().resolve(
            artifact,
            namespace=task.namespace,
            repository=repository_of(task),
            default_key=f"{task.workflow}/{pod}",
            values={"workflow.name": task.workflow, **values, "pod.name": pod},
        )

    def _logs(self, problems: list[str]) -> list[model.Artifact]:
        from tiphys.runtimes.logs import read_all  # noqa: PLC0415 - few keep their logs

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
