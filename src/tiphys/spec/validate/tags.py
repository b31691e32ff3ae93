"""Which ``{{tags}}`` can be resolved where.

A `Scope` knows the names that exist at some place of a workflow; every tag of Argo's own
namespaces must be one of them. Other tags are left alone: they may be meant for another program.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from tiphys.spec.report import Report
from tiphys.spec.validate.language import check_expression
from tiphys.spec.yaml import Path

_TAG = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)
_ROOTS = ("item.", "steps.", "inputs.", "outputs.", "pod.", "workflow.", "tasks.")
# Filled in at run time only, so nothing can be said about them here.
_ALWAYS = (
    "outputs.",
    "workflow.creationTimestamp",
    "workflow.scheduledTime",
    "workflow.duration",
    "tasks.name",
    "steps.name",
)


class Scope(msgspec.Struct):
    """The names that exist somewhere, on top of those of the places around it."""

    parent: Scope | None = None
    names: set[str] = msgspec.field(default_factory=set)
    open: set[str] = msgspec.field(default_factory=set)
    """Beginnings (with their last dot) under which every name is accepted: what stands there is
    only known at run time."""
    also: Callable[[str], bool] | None = None
    """A last question, for names too many to list."""

    def below(self) -> Scope:
        """Give a scope inside of this one."""
        return Scope(self)

    def add(self, *names: str) -> None:
        """Make names known."""
        self.names.update(names)

    def knows(self, name: str) -> bool:
        """Tell whether the name can be resolved."""
        beginnings = {name[: at + 1] for at, letter in enumerate(name) if letter == "."}
        scope: Scope | None = self
        while scope is not None:
            if name in scope.names or not beginnings.isdisjoint(scope.open):
                return True
            if scope.also is not None and scope.also(name):
                return True
            scope = scope.parent
        return name.startswith(_ALWAYS)

    def all_names(self) -> Iterator[str]:
        """Give every known name, for hints."""
        scope: Scope | None = self
        while scope is not None:
            yield from scope.names
            scope = scope.parent


def has_tag(text: str) -> bool:
    """Tell whether the text can still change when tags are replaced."""
    return "{{" in text


def is_reference(text: str) -> bool:
    """Tell whether the text holds a plain tag such as ``{{inputs.parameters.x}}``."""
    return re.search(r"\{\{[-a-zA-Z0-9]+(\.[-a-zA-Z0-9_]+)*\}\}", text) is not None


def without_tags(text: str, word: str = "placeholder") -> str:
    """Give the text with every tag replaced by a word."""
    return _TAG.sub(word, text)


def check_tags(value: Any, path: Path, scope: Scope, report: Report) -> None:
    """Check every tag in every text of a value of the model."""
    if not holds_tag(value):
        return
    for place, text in texts(msgspec.to_builtins(value), path):
        for tag in _TAG.findall(text):
            if tag.lstrip().startswith("="):
                check_expression(tag.lstrip()[1:], place, report)
            else:
                _check_tag(tag.strip(), place, scope, report)


def holds_tag(value: Any) -> bool:
    """Look quickly whether a value of the model may hold a tag: most have none, and some have
    thousands of texts."""
    try:
        return b"{{" in msgspec.json.encode(value)
    except UnicodeEncodeError:
        return True


def _check_tag(tag: str, path: Path, scope: Scope, report: Report) -> None:
    if not tag.startswith(_ROOTS) or scope.knows(tag):
        return
    root = tag.partition(".")[0]
    known = [name for name in scope.all_names() if name.startswith(root)]
    message = f"failed to resolve {{{{{tag[:200]}}}}}"
    report.add(path, message, hint=report.close_to(tag, known))


def texts(value: Any, path: Path) -> Iterator[tuple[Path, str]]:
    """Give every text with a tag in plain data, with its path."""
    if isinstance(value, str):
        if "{{" in value:
            yield path, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from texts(item, (*path, key))
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from texts(item, (*path, index))
