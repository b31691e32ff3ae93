"""The artifact storage of a host, loaded when a task first needs it: most never do."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tiphys.artifacts import ConfigMapText, Repositories
    from tiphys.config import Config
    from tiphys.control.host import HostResources
    from tiphys.spec import model


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

    def resolve(self, artifact: model.Artifact, **where: Any) -> model.Artifact:
        """Give an artifact its whole location."""
        return self._repositories.resolve(artifact, **where)

    def load(self, artifact: model.Artifact, destination: Path, *, namespace: str) -> None:
        """Bring an artifact to ``destination``."""
        self._repositories.load(artifact, destination, namespace=namespace)

    def save(self, path: Path, artifact: model.Artifact, *, namespace: str) -> model.Artifact:
        """Store what lies at ``path``."""
        return self._repositories.save(path, artifact, namespace=namespace)

    def save_bytes(
        self, chunks: Iterator[bytes], artifact: model.Artifact, *, namespace: str
    ) -> model.Artifact:
        """Store bytes as they are."""
        return self._repositories.save_bytes(chunks, artifact, namespace=namespace)

    def list_keys(self, artifact: model.Artifact, prefix: str = "", *, namespace: str) -> list[str]:
        """Give what lies below an artifact."""
        return self._repositories.list_keys(artifact, prefix, namespace=namespace)
