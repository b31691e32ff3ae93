"""``data`` templates: the keys of artifacts, put through expressions one after another.

Synchronous, for worker threads. The result is JSON as Go writes it.
"""

from __future__ import annotations

from typing import Any, Protocol

from tiphys.errors import RuntimeFailure, TiphysError
from tiphys.ports import Task
from tiphys.runtimes.end import End
from tiphys.runtimes.home import repository_of
from tiphys.spec import expression, model


class KeyLister(Protocol):
    """What is needed of ``artifacts.Repositories``."""

    def resolve(
        self, artifact: model.Artifact, *, namespace: str, repository: Any = ...
    ) -> model.Artifact:
        """Give an artifact its whole location."""

    def list_keys(self, artifact: model.Artifact, prefix: str = "", *, namespace: str) -> list[str]:
        """List the keys of the files below an artifact's key."""


def process(task: Task, artifacts: KeyLister | None) -> End:
    """List, transform, and tell how it went."""
    try:
        result = expression.dump(_transformed(task, artifacts))
    except (TiphysError, expression.Fault) as error:
        message = f"unable to process data template: {error}"
        return End("Failed", message, model.Outputs(exit_code="1"))
    return End("Succeeded", outputs=model.Outputs(result=result, exit_code="0"))


def _transformed(task: Task, artifacts: KeyLister | None) -> object:
    template = task.template.data
    assert template is not None
    paths = template.source.artifact_paths if template.source is not None else None
    if paths is None:
        raise RuntimeFailure("data.source.artifactPaths is missing")
    if artifacts is None:
        raise RuntimeFailure("no artifact storage is configured")
    home = repository_of(task)
    whole = artifacts.resolve(paths, namespace=task.namespace, repository=home)
    value: object = artifacts.list_keys(whole, namespace=task.namespace)
    for number, step in enumerate(template.transformation):
        try:
            value = expression.compile_expression(step.expression).evaluate({"data": value})
        except TiphysError as error:
            raise RuntimeFailure(f"transformation[{number}]: {error}") from error
    return value
