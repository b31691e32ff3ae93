"""Which claims of a text begin as empty folders on this machine.

A file that was written for a cluster names volumes that are full there. Here each is a folder of
the data directory, made at its first use: that is said before tasks find nothing in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path as Folder

from tiphys.config import SchedulerSettings
from tiphys.control.choice import choose
from tiphys.core.name import is_dns1123_subdomain
from tiphys.errors import Problem
from tiphys.ports import LOCAL, SCHEDULER_LABEL
from tiphys.spec import model
from tiphys.spec.library import Library
from tiphys.spec.report import Report
from tiphys.spec.yaml import Document, Path


def new_claims(
    workflow: model.Workflow,
    read: Callable[[], Document],
    library: Library,
    volumes: Folder,
    settings: SchedulerSettings,
) -> list[Problem]:
    """Warn of each claim that no file makes and no run has used; ``volumes`` holds the others.

    The text is read only if there is one.
    """
    settled, _ = choose(workflow, settings)
    if settled.metadata.labels.get(SCHEDULER_LABEL, LOCAL) != LOCAL:
        return []
    namespace = workflow.metadata.namespace or library.namespace
    new: dict[str, Path] = {}
    for path, name in _named(workflow.spec):
        known = library.volume_claim(name, namespace=namespace) is not None
        if not known and is_dns1123_subdomain(name) and not (volumes / namespace / name).exists():
            new.setdefault(name, path)
    if not new:
        return []
    report = Report(read())
    for name, path in new.items():
        message = f"there is no claim {name!r} yet: it begins as an empty folder"
        where = str(volumes / namespace / name)
        report.add(path, message, code="new_claim", hint=where, warning=True)
    return report.problems


def _named(spec: model.WorkflowSpec) -> Iterator[tuple[Path, str]]:
    """Give the claims that volumes name; what is not known yet begins later."""
    places: list[tuple[Path, tuple[model.Volume, ...]]] = [(("spec", "volumes"), spec.volumes)]
    for number, template in enumerate(spec.templates):
        places.append((("spec", "templates", number, "volumes"), template.volumes))
    for path, volumes in places:
        for number, volume in enumerate(volumes):
            source = volume.persistent_volume_claim
            if source is not None and source.claim_name and "{{" not in source.claim_name:
                yield (*path, number, "persistentVolumeClaim", "claimName"), source.claim_name
