"""Where the artifacts of a task go, as far as its workflow and template say."""

from __future__ import annotations

from tiphys.ports import Task
from tiphys.spec import model


def repository_of(task: Task) -> model.ArtifactLocation | str | None:
    """Give what is known of where the task's artifacts go; None is the configured repository."""
    location = task.template.archive_location
    if location is not None and location != _without_place(location):
        return location
    return task.artifact_repository or None


def _without_place(location: model.ArtifactLocation) -> model.ArtifactLocation:
    return model.ArtifactLocation(archive_logs=location.archive_logs)
