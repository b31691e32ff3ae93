"""What a kind of storage can do.

A driver moves bytes between a place and this machine and knows nothing of archives, modes or
repositories. It translates the errors of its library into ours.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from tiphys.errors import ArtifactError
from tiphys.spec import model


class Driver(Protocol):
    """One kind of storage. ``target`` and ``source`` are paths of ours."""

    def fetch(self, artifact: model.Artifact, target: Path, namespace: str) -> None:
        """Bring the file or folder to ``target``, which is not there yet."""

    def store(self, source: Path, artifact: model.Artifact, namespace: str) -> None:
        """Put the file or folder at its location."""

    def delete(self, artifact: model.Artifact, namespace: str) -> None:
        """Remove it; none is fine."""

    def read(self, artifact: model.Artifact, namespace: str) -> Iterator[bytes]:
        """Yield its bytes as stored."""

    def list_keys(self, artifact: model.Artifact, namespace: str) -> list[str]:
        """List the keys of the files below it."""


def refuse(kind: str, action: str) -> ArtifactError:
    """Give the error of what a kind of storage cannot do."""
    return ArtifactError(f"{kind} artifacts cannot be {action}")
