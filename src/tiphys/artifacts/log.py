"""Archived logs: the output of a container kept as an artifact (``archiveLogs``)."""

from __future__ import annotations

from collections.abc import Iterable

from tiphys.artifacts.config import ArtifactRepository
from tiphys.artifacts.location import key_of, relocate
from tiphys.artifacts.repository import Repositories
from tiphys.spec import model


def save_log(
    repositories: Repositories,
    chunks: Iterable[bytes],
    *,
    container: str = "main",
    namespace: str,
    default_key: str,
    repository: ArtifactRepository | model.ArtifactLocation | None = None,
) -> model.Artifact:
    """Keep a log as the artifact ``<container>-logs`` with the key ``…/<container>.log``."""
    named = model.Artifact(name=f"{container}-logs")
    located = repositories.resolve(
        named, namespace=namespace, repository=repository, default_key=default_key
    )
    folder = key_of(located).rpartition("/")[0]
    artifact = relocate(named, located, f"{folder}/{container}.log")
    return repositories.save_bytes(iter(chunks), artifact, namespace=namespace)


def archives_logs(
    repository: ArtifactRepository,
    workflow: bool | None = None,
    template: model.ArtifactLocation | None = None,
) -> bool:
    """Tell whether a node's logs are kept: always if the repository says so, else as the template
    or, failing that, its workflow says."""
    if repository.archive_logs:
        return True
    own = template.archive_logs if template is not None else None
    return bool(workflow if own is None else own)
