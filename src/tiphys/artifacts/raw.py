"""Raw artifacts: text given in the workflow itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tiphys.artifacts.driver import refuse
from tiphys.spec import model


class RawDriver:
    """Can only be read."""

    def fetch(self, artifact: model.Artifact, target: Path, _namespace: str) -> None:
        """Write the text to ``target``."""
        target.write_bytes(_data(artifact))

    def store(self, _source: Path, _artifact: model.Artifact, _namespace: str) -> None:
        """Refuse."""
        raise refuse("raw", "saved")

    def delete(self, _artifact: model.Artifact, _namespace: str) -> None:
        """Refuse."""
        raise refuse("raw", "deleted")

    def read(self, artifact: model.Artifact, _namespace: str) -> Iterator[bytes]:
        """Yield the text."""
        yield _data(artifact)

    def list_keys(self, _artifact: model.Artifact, _namespace: str) -> list[str]:
        """Refuse."""
        raise refuse("raw", "listed")


def _data(artifact: model.Artifact) -> bytes:
    assert artifact.raw is not None
    return artifact.raw.data.encode("utf-8", "surrogateescape")
