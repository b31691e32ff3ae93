"""Rules for names: of objects, templates, steps, parameters, artifacts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Protocol

from tiphys.core.name import (
    MAX_CRON_NAME,
    MAX_LABEL,
    is_dns1123_subdomain,
)
from tiphys.spec.model import ObjectMeta
from tiphys.spec.report import Report
from tiphys.spec.yaml import Path

_FIELD = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-")
_VALUE = r"[-a-zA-Z0-9_]+"
_METRIC = r"[a-zA-Z_][a-zA-Z0-9_]*"
_MAX_FIELD = 128


class Named(Protocol):
    """Anything with a name."""

    @property
    def name(self) -> str: ...


def check_object_name(
    meta: ObjectMeta, report: Report, *, cron: bool = False, optional: bool = False
) -> None:
    """Check ``metadata.name`` (or ``generateName``) of a document.

    Where it is ``optional``, whoever runs the document makes one up.
    """
    path: Path = ("metadata", "name")
    name = meta.name
    if not name:
        _check_generated(meta, report, optional=optional)
        return
    limit = MAX_CRON_NAME if cron else MAX_LABEL
    if len(name) > limit:
        report.add(path, f"the name has {len(name)} characters, at most {limit} are allowed")
    elif not is_dns1123_subdomain(name):
        message = f"the name {name!r} is not allowed"
        report.add(path, message, hint="use small letters, digits, '-' and '.'")


def _check_generated(meta: ObjectMeta, report: Report, *, optional: bool) -> None:
    prefix = meta.generate_name
    if not prefix and optional:
        message = "there is neither a name nor a generateName: a cluster refuses this workflow"
        report.add(("metadata",), message, warning=True)
    elif not prefix:
        report.add(("metadata",), "metadata needs a name or a generateName")
    elif not is_dns1123_subdomain(f"{prefix[:40]}x"):
        hint = "use small letters, digits, '-' and '.'"
        report.add(("metadata", "generateName"), f"{prefix[:60]!r} is not allowed", hint=hint)


def check_field_name(name: str, path: Path, report: Report) -> bool:
    """Check the name of a template, step, task or container."""
    if not name:
        report.add(path, "a name is required")
        return False
    if len(name) > _MAX_FIELD:
        report.add(path, f"the name has {len(name)} characters, at most {_MAX_FIELD} are allowed")
        return False
    if name.startswith("-") or not _FIELD.issuperset(name):
        hint = "use letters, digits and '-', and begin with a letter or a digit"
        report.add(path, f"the name {name!r} is not allowed", hint=hint)
        return False
    return True


def check_value_name(name: str, path: Path, report: Report) -> bool:
    """Check the name of a parameter or an artifact."""
    if not name:
        report.add(path, "a name is required")
        return False
    if "{{" not in name and not re.fullmatch(_VALUE, name, re.ASCII):
        hint = "use letters, digits, '_' and '-'"
        report.add(path, f"the name {name[:100]!r} is not allowed", hint=hint)
        return False
    return True


def check_value_names(items: Sequence[Named], path: Path, report: Report) -> None:
    """Check a list of parameters or artifacts: good names, no name twice."""
    for index, item in enumerate(items):
        check_value_name(item.name, (*path, index, "name"), report)
    check_unique((item.name for item in items), path, report)


def check_unique(names: Iterable[str], path: Path, report: Report) -> None:
    """Check that no name of a list is given twice."""
    seen: dict[str, int] = {}
    for index, name in enumerate(names):
        if name and name in seen:
            message = f"the name {name!r} is not unique"
            report.add((*path, index, "name"), message, hint=f"item {seen[name]} has it too")
        seen.setdefault(name, index)


def is_metric_name(name: str) -> bool:
    """Tell whether Prometheus takes the name of a metric or a label."""
    return re.fullmatch(_METRIC, name, re.ASCII) is not None
