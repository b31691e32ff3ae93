"""Finding and reading the artifact repository that a workflow refers to.

Which config map and which entry of it is meant, ``spec.repository`` says. The same few texts come
with every task, so what was read of them is remembered.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

import msgspec
import yaml

from tiphys.artifacts.config import ArtifactRepository
from tiphys.errors import ArtifactError
from tiphys.spec import model
from tiphys.spec.repository import DEFAULT_ANNOTATION, config_map_name, entry_key

__all__ = [
    "DEFAULT_ANNOTATION",
    "ConfigMapReader",
    "ConfigMapText",
    "find_repository",
    "no_config_maps",
    "read_repository",
]


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
    name = config_map_name(ref)
    found = config_maps(namespace, name)
    key = entry_key(ref, found.annotations if found is not None else {})
    if found is not None and key in found.data:
        return read_repository(found.data[key], f"config map {namespace}/{name}: {key}")
    if ref is None:
        return None
    raise ArtifactError(
        f"failed to find any artifact repository for artifact repository ref {name}#{key}"
    )


@lru_cache(maxsize=64)
def read_repository(text: str, where: str = "artifact repository") -> ArtifactRepository:
    """Read the description of a repository."""
    try:
        return msgspec.convert(yaml.safe_load(text) or {}, ArtifactRepository)
    except (yaml.YAMLError, msgspec.ValidationError, RecursionError) as error:
        raise ArtifactError(f"{where}: {error}") from error
