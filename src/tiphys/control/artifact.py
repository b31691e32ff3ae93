"""The artifact storage of a host, loaded when a task first needs it: most never do."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from tiphys.spec.repository import repository_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from tiphys.artifacts import Collected, ConfigMapText, Repositories
    from tiphys.config import Config
    from tiphys.control.host import HostResources
    from tiphys.spec import model

STAGING = ".staging"
"""Where the local repository keeps what is not finished yet."""


class Artifacts:
    """What runtimes ask of ``artifacts.Repositories``; called from their threads."""

    def __init__(self, data: Path, config: Config, resources: HostResources) -> None:
        self._data, self._config, self._resources = data, config, resources

    @cached_property
    def _repositories(self) -> Repositories:
        from tiphys.artifacts import Repositories  # noqa: PLC0415 - this is the point

        return Repositories(
            root=self._data / "artifacts",
            config=self._config.artifact_config(),
            secrets=self._secret,
            config_maps=self._config_map,
        )

    def _secret(self, namespace: str, name: str, key: str) -> bytes:
        return (self._resources.secret(namespace, name) or {})[key]

    def _config_map(self, namespace: str, name: str) -> ConfigMapText | None:
        from tiphys.artifacts import ConfigMapText  # noqa: PLC0415

        found = self._resources.library.config_maps.get((namespace, name))
        if found is None:
            return None
        return ConfigMapText(data=found.data, annotations=found.metadata.annotations)

    def archives_logs(self, namespace: str, text: str = "") -> bool:
        """Tell whether the repository wants the logs of every task; asked for each of them."""
        if not text:
            text = repository_text(self._resources.library.config_maps, namespace, None)
        if not text:
            return bool(self._config.artifact_repository.get("archiveLogs"))
        return self._repositories.archives_logs(namespace, text)

    def resolve(self, artifact: model.Artifact, **where: Any) -> model.Artifact:
        """Give an artifact its whole location."""
        return self._repositories.resolve(artifact, **where)

    def load(self, artifact: model.Artifact, destination: Path, *, namespace: str) -> None:
        """Bring an artifact to ``destination``."""
        self._repositories.load(artifact, destination, namespace=namespace)

    def save(self, path: Path, artifact: model.Artifact, **how: Any) -> model.Artifact:
        """Store what lies at ``path``."""
        return self._repositories.save(path, artifact, **how)

    def save_bytes(
        self, chunks: Iterator[bytes], artifact: model.Artifact, *, namespace: str
    ) -> model.Artifact:
        """Store bytes as they are."""
        return self._repositories.save_bytes(chunks, artifact, namespace=namespace)

    def read(self, artifact: model.Artifact, *, namespace: str) -> Iterator[bytes]:
        """Yield the bytes as stored."""
        return self._repositories.read(artifact, namespace=namespace)

    def list_keys(self, artifact: model.Artifact, prefix: str = "", *, namespace: str) -> list[str]:
        """Give what lies below an artifact."""
        return self._repositories.list_keys(artifact, prefix, namespace=namespace)

    def collect(self, artifacts: Iterable[model.Artifact], *, namespace: str) -> list[Collected]:
        """Delete artifacts; one that cannot be deleted does not keep the others."""
        from tiphys.artifacts import collect  # noqa: PLC0415

        return collect(self._repositories, artifacts, namespace=namespace)

    def sweep(self, before: float) -> int:
        """Drop what processes that were killed have left half stored; give how much."""
        try:
            left = any((self._data / "artifacts" / STAGING).iterdir())
        except OSError:
            return 0
        return self._repositories.sweep(before) if left else 0
