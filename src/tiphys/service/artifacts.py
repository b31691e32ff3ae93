"""Artifacts of finished nodes, for whoever asks the server for them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from tiphys.control.host import Host, HostResources
from tiphys.control.secrets import SecretFolder
from tiphys.engine.node import Node
from tiphys.spec import model

if TYPE_CHECKING:
    from tiphys.artifacts import ConfigMapText, Repositories
    from tiphys.config import Config


class ArtifactShelf:
    """Reads and removes artifacts; called from threads. Drivers are loaded when first needed."""

    def __init__(self, host: Host, config: Config) -> None:
        self._host, self._config = host, config
        self._resources = HostResources(SecretFolder(host.data / "secrets"))

    @cached_property
    def _repositories(self) -> Repositories:
        from tiphys.artifacts import Repositories  # noqa: PLC0415

        return Repositories(
            root=self._host.data / "artifacts",
            config=self._config.artifact_config(),
            secrets=self._secret,
            config_maps=self._config_map,
        )

    def _secret(self, namespace: str, name: str, key: str) -> bytes:
        self._resources.library = self._host.library
        return (self._resources.secret(namespace, name) or {})[key]

    def _config_map(self, namespace: str, name: str) -> ConfigMapText | None:
        from tiphys.artifacts import ConfigMapText  # noqa: PLC0415

        found = self._host.library.config_maps.get((namespace, name))
        if found is None:
            return None
        return ConfigMapText(data=found.data, annotations=found.metadata.annotations)

    def read(self, artifact: model.Artifact, namespace: str) -> Iterator[bytes]:
        """Yield the bytes as stored; what is wrong is raised at once."""
        return self._repositories.read(artifact, namespace=namespace)

    def remove_outputs(self, nodes: Iterable[Node], namespace: str) -> None:
        """Remove what nodes have put into storage."""
        for node in nodes:
            for artifact in node.outputs.artifacts if node.outputs else ():
                if artifact.local is not None or artifact.s3 is not None:
                    self._repositories.delete(artifact, namespace=namespace)
