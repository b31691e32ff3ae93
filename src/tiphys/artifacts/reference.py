"""Finding the artifact repository that a workflow refers to.

As in Argo: ``artifactRepositoryRef`` names a config map of the workflow's namespace (if it names
none, ``artifact-repositories``) and a key of it; a missing key means the one that the config map's
annotation names. Without a ref, the config map ``artifact-repositories`` of the namespace counts
where there is one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import msgspec
import yaml

from tiphys.artifacts.config import ArtifactRepository
from tiphys.errors import ArtifactError
from tiphys.spec import model

DEFAULT_CONFIG_MAP = "artifact-repositories"
DEFAULT_ANNOTATION = "workflows.argoproj.io/default-artifact-repository"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigMapText:
    """What we need of a config map."""

    data: Mapping[str, str]
    annotations: Mapping[str, str] = field(default_factory=dict)


ConfigMapReader = Callable[[str, str], ConfigMapText | None]
"""Gives the config map (namespace, name), None where there is none."""


def no_config_maps(_namespace: str, _name: str) -> ConfigMapText | None:
    """Know no config map at all."""
    return None


def find_repository(
    namespace: str, ref: model.ArtifactRepositoryRef | None, config_maps: ConfigMapReader
) -> ArtifactRepository | None:
    """Find the repository that ``ref`` or the namespace names; None means the default one."""
    name = (ref.config_map if ref is not None else "") or DEFAULT_CONFIG_MAP
    found = config_maps(namespace, name)
    key = ref.key if ref is not None else ""
    if found is not None:
        key = key or found.annotations.get(DEFAULT_ANNOTATION, "")
        if key in found.data:
            return _parse(found.data[key], f"{namespace}/{name}: {key}")
    if ref is None:
        return None
    raise ArtifactError(
        f"failed to find any artifact repository for artifact repository ref {name}#{key}"
    )


def _parse(text: str, where: str) -> ArtifactRepository:
    try:
        return msgspec.convert(yaml.safe_load(text) or {}, ArtifactRepository)
    except (yaml.YAMLError, msgspec.ValidationError, RecursionError) as error:
        raise ArtifactError(f"config map {where}: {error}") from error
