"""Amounts that containers ask for: whether each can be read, before a pod is made of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tiphys.core.quantity import parse_quantity
from tiphys.errors import InvalidInputError
from tiphys.spec.model import Container, Template
from tiphys.spec.report import Report
from tiphys.spec.validate.tags import has_tag
from tiphys.spec.yaml import Path


def check_resources(template: Template, path: Path, report: Report) -> None:
    """Check requests and limits of every container of a template."""
    for container, place in _containers(template, path):
        check_container(container, place, report)


def check_container(container: Container, path: Path, report: Report) -> None:
    """Check requests and limits of one container."""
    where = (*path, "resources")
    _check_amounts(container.resources.requests, (*where, "requests"), report)
    _check_amounts(container.resources.limits, (*where, "limits"), report)


def _check_amounts(amounts: Mapping[str, str], path: Path, report: Report) -> None:
    """Report what is no amount; what still has tags is known later."""
    for name, amount in amounts.items():
        if has_tag(amount):
            continue
        try:
            parse_quantity(amount)
        except InvalidInputError as error:
            report.add((*path, name), str(error))


def _containers(template: Template, path: Path) -> Iterator[tuple[Container, Path]]:
    if template.container is not None:
        yield template.container, (*path, "container")
    if template.script is not None:
        yield template.script, (*path, "script")
    if template.container_set is not None:
        for index, each in enumerate(template.container_set.containers):
            yield each, (*path, "containerSet", "containers", index)
    for kind, own in (
        ("initContainers", template.init_containers),
        ("sidecars", template.sidecars),
    ):
        for index, beside in enumerate(own):
            yield beside, (*path, kind, index)
