"""Garbage collection: which artifacts are due, and their deletion."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tiphys.artifacts.location import key_of
from tiphys.artifacts.repository import Repositories
from tiphys.errors import ArtifactError
from tiphys.spec import model

NEVER = "Never"


@dataclass(frozen=True, slots=True, kw_only=True)
class Collected:
    """How the deletion of one artifact went."""

    name: str
    key: str
    message: str = ""
    """What went wrong; empty where it is gone."""

    @property
    def deleted(self) -> bool:
        """Tell whether it is gone."""
        return not self.message


def is_due(artifact: model.Artifact, workflow: model.ArtifactGC | None, moment: str) -> bool:
    """Tell whether an artifact is to be deleted at ``moment``.

    ``moment`` is ``OnWorkflowCompletion`` or ``OnWorkflowDeletion``. The artifact's own strategy
    comes before that of its workflow.
    """
    if artifact.deleted or not key_of(artifact):
        return False
    own = artifact.artifact_gc.strategy if artifact.artifact_gc is not None else ""
    strategy = own or (workflow.strategy if workflow is not None else "") or NEVER
    return strategy == moment


def collect(
    repositories: Repositories, artifacts: Iterable[model.Artifact], *, namespace: str
) -> list[Collected]:
    """Delete artifacts; one that cannot be deleted does not keep the others."""
    report = []
    for artifact in artifacts:
        message = ""
        try:
            repositories.delete(artifact, namespace=namespace)
        except ArtifactError as error:
            message = str(error)
        report.append(Collected(name=artifact.name, key=key_of(artifact), message=message))
    return report
