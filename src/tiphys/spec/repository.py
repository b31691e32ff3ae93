"""Which entry of which config map describes the artifact repository of a workflow.

Pure, and only about finding the text: what it means is for ``artifacts.config``. As in Argo,
``artifactRepositoryRef`` names a config map of the workflow's namespace (``artifact-repositories``
if it names none) and a key of it; a missing key means the one that the config map's annotation
names. Without a ref, that config map of the namespace counts where there is one.
"""

from __future__ import annotations

from collections.abc import Mapping

from tiphys.spec import model

DEFAULT_CONFIG_MAP = "artifact-repositories"
DEFAULT_ANNOTATION = "workflows.argoproj.io/default-artifact-repository"


def config_map_name(ref: model.ArtifactRepositoryRef | None) -> str:
    """Name the config map that describes the repository."""
    return (ref.config_map if ref is not None else "") or DEFAULT_CONFIG_MAP


def entry_key(ref: model.ArtifactRepositoryRef | None, annotations: Mapping[str, str]) -> str:
    """Name the entry of it, "" where nobody says which."""
    return (ref.key if ref is not None else "") or annotations.get(DEFAULT_ANNOTATION, "")


def repository_text(
    config_maps: Mapping[tuple[str, str], model.ConfigMap],
    namespace: str,
    ref: model.ArtifactRepositoryRef | None,
) -> str:
    """Give the description of a workflow's repository, "" where it is the configured one."""
    found = config_maps.get((namespace, config_map_name(ref)))
    if found is None:
        return ""
    return found.data.get(entry_key(ref, found.metadata.annotations), "")
