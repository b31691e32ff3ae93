"""Files to documents: reads everything that was given, lists everything that is wrong.

`parse_files` is the way in for the command line and the server. It never stops at the first
problem or the first file. Rules that need more than one field's type are `spec.validate`'s.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec

from tiphys.errors import Problem, SpecError
from tiphys.spec import walk, yaml
from tiphys.spec.model import (
    API_VERSION,
    ClusterWorkflowTemplate,
    ConfigMap,
    CronWorkflow,
    Model,
    PersistentVolumeClaim,
    Secret,
    Workflow,
    WorkflowTemplate,
)
from tiphys.spec.report import Report
from tiphys.spec.upgrade import upgrade
from tiphys.spec.yaml import Document, Path

if TYPE_CHECKING:
    from tiphys.spec.library import Library

M = TypeVar("M", bound=Model)
V_co = TypeVar("V_co", covariant=True)


class Parsed(msgspec.Struct, Generic[V_co], frozen=True):
    """A value beside the document that it was read from."""

    value: V_co
    document: Document


class Bundle(msgspec.Struct, frozen=True):
    """All that a set of files holds, by kind and in the order given."""

    workflows: tuple[Parsed[Workflow], ...] = ()
    workflow_templates: tuple[Parsed[WorkflowTemplate], ...] = ()
    cluster_workflow_templates: tuple[Parsed[ClusterWorkflowTemplate], ...] = ()
    cron_workflows: tuple[Parsed[CronWorkflow], ...] = ()
    config_maps: tuple[Parsed[ConfigMap], ...] = ()
    secrets: tuple[Parsed[Secret], ...] = ()
    volume_claims: tuple[Parsed[PersistentVolumeClaim], ...] = ()
    job_templates: tuple[Parsed[Any], ...] = ()
    """Volcano's; its flows and Jobs are among the workflows."""
    others: tuple[Parsed[dict[str, Any]], ...] = ()
    """Documents of kinds that are not ours, as plain data."""
    problems: tuple[Problem, ...] = ()

    @property
    def errors(self) -> tuple[Problem, ...]:
        """The problems that are no mere warnings."""
        return tuple(problem for problem in self.problems if not problem.warning)

    def raise_errors(self) -> None:
        """Raise SpecError if anything is wrong."""
        if self.errors:
            raise SpecError(self.errors)


class _Kind(msgspec.Struct, frozen=True):
    cls: type[Model]
    attribute: str
    api_version: str


_KINDS: Mapping[str, _Kind] = {
    "Workflow": _Kind(Workflow, "workflows", API_VERSION),
    "WorkflowTemplate": _Kind(WorkflowTemplate, "workflow_templates", API_VERSION),
    "ClusterWorkflowTemplate": _Kind(
        ClusterWorkflowTemplate, "cluster_workflow_templates", API_VERSION
    ),
    "CronWorkflow": _Kind(CronWorkflow, "cron_workflows", API_VERSION),
    "ConfigMap": _Kind(ConfigMap, "config_maps", "v1"),
    "Secret": _Kind(Secret, "secrets", "v1"),
    "PersistentVolumeClaim": _Kind(PersistentVolumeClaim, "volume_claims", "v1"),
}
_ARGO_KINDS = frozenset(
    {"WorkflowEventBinding", "WorkflowTaskSet", "WorkflowTaskResult", "WorkflowArtifactGCTask"}
)
"""Kinds of Argo's that do not matter here."""
_OLDER: Mapping[str, str] = {
    "schedule": "write schedules, a list",
    "mutex": "write mutexes, a list",
    "semaphore": "write semaphores, a list",
    "podPriority": "write podPriorityClassName",
}
_VOLCANO = {"JobFlow": "job_flows", "JobTemplate": "job_templates", "Job": "jobs"}
"""Volcano's kinds, read by modules that are loaded only when a file has one."""
_LISTS = frozenset({"List", *(f"{kind}List" for kind in (*_KINDS, *_VOLCANO))})


def parse_files(
    files: Iterable[tuple[str, bytes | str]],
    *,
    strict: bool = False,
    library: Library | None = None,
    salvage: bool = False,
) -> Bundle:
    """Read all documents of all files; ``strict`` makes unknown fields errors.

    Flows find the JobTemplates of the files, and those that ``library`` holds. ``salvage`` keeps
    what can be read of documents with values of wrong types, for whoever looks for more mistakes;
    never run these: the bundle has errors.
    """
    gathered = _Gathered(strict, library, salvage)
    for name, text in files:
        try:
            documents = yaml.load(text, file=name)
        except SpecError as error:
            gathered.problems.extend(error.problems)
            continue
        for document in documents:
            gathered.take(document)
    return gathered.bundle()


def parse_text(text: bytes | str, *, file: str = "", strict: bool = False) -> Bundle:
    """Read one file; see `parse_files`."""
    return parse_files([(file, text)], strict=strict)


def parse_value(value: Any, cls: type[M], *, strict: bool = False) -> M:
    """Read plain JSON data, as it comes through an API; raise SpecError with all problems."""
    if _is_deep(value):
        message = f"values are nested more than {yaml.MAX_DEPTH} levels deep"
        raise SpecError([Problem(code="yaml_limit", message=message)])
    report = Report()
    result = walk.read(value, cls, report)
    errors = [problem for problem in _judged(report.problems, strict) if not problem.warning]
    if errors or result is None:
        raise SpecError(errors)
    return upgrade(result)


def _is_deep(value: Any) -> bool:
    """Tell whether data that did not come through `spec.yaml` nests too deep, without recursion."""
    level = [value]
    for _ in range(yaml.MAX_DEPTH + 1):
        inner: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                inner.extend(item.values())
            elif isinstance(item, list):
                inner.extend(item)
        level = inner
    return bool(level)


class _Gathered(msgspec.Struct):
    strict: bool
    library: Library | None = None
    salvage: bool = False
    found: dict[str, list[Parsed[Any]]] = msgspec.field(default_factory=dict)
    problems: list[Problem] = msgspec.field(default_factory=list)

    def bundle(self) -> Bundle:
        self._compile_volcano()
        parts = {name: tuple(items) for name, items in self.found.items()}
        return Bundle(problems=tuple(self.problems), **parts)

    def _compile_volcano(self) -> None:
        """Check Volcano's documents, and turn flows and Jobs into workflows."""
        flows, jobs = self.found.pop("job_flows", []), self.found.pop("jobs", [])
        templates = self.found.get("job_templates", [])
        if flows or jobs or templates:
            from tiphys.spec.volcano.read import compile_all  # noqa: PLC0415

            workflows, problems = compile_all(flows, jobs, templates, self.library)
            self.problems.extend(_judged(problems, self.strict))
            self.found.setdefault("workflows", []).extend(workflows)

    def take(self, document: Document) -> None:
        report = Report(document)
        value = document.value
        kind = value.get("kind") if isinstance(value, dict) else None
        if not isinstance(value, dict):
            report.add((), "a document must be a mapping with apiVersion and kind")
        elif not isinstance(kind, str):
            hint = "kind: Workflow" if "spec" in value else ""
            report.add(("kind",), "the document does not say its kind", hint=hint)
        elif kind in _LISTS and isinstance(value.get("items"), list):
            self._unfold(document)
        else:
            self._take_kind(document, kind, report)
        self.problems.extend(_judged(report.problems, self.strict))

    def _unfold(self, document: Document) -> None:
        for index, item in enumerate(document.value["items"]):
            if item is not None:
                self.take(document.below(("items", index)))

    def _take_kind(self, document: Document, name: str, report: Report) -> None:
        kind = _KINDS.get(name) or _volcano_kind(name)
        if kind is None or _is_foreign(document.value, kind):
            self.found.setdefault("others", []).append(Parsed(document.value, document))
            _warn_of_unknown_kind(document, name, report)
            return
        self._check_version(document, kind, report)
        _check_keys(document, report)
        value = walk.read(document.value, kind.cls, report)
        if value is None and self.salvage and name in _KINDS:
            value = walk.salvage(document.value, kind.cls)
        if value is not None:
            _warn_of_older_forms(document, report)
            self.found.setdefault(kind.attribute, []).append(Parsed(upgrade(value), document))

    def _check_version(self, document: Document, kind: _Kind, report: Report) -> None:
        version = document.value.get("apiVersion")
        if version is None:
            report.warn((), "apiVersion is missing", hint=f"apiVersion: {kind.api_version}")
        elif version != kind.api_version and isinstance(version, str):
            message = f"the apiVersion {version[:60]!r} is not known for this kind"
            report.add(("apiVersion",), message, hint=f"use {kind.api_version}")


def is_volcanos(document: Document) -> bool:
    """Whether a workflow was made from this document by `spec.volcano`."""
    return isinstance(document.value, dict) and document.value.get("kind") in _VOLCANO


def _volcano_kind(name: str) -> _Kind | None:
    if name not in _VOLCANO:
        return None
    from tiphys.spec.volcano.read import KINDS  # noqa: PLC0415

    cls, version = KINDS[name]
    return _Kind(cls, _VOLCANO[name], version)


def _warn_of_unknown_kind(document: Document, name: str, report: Report) -> None:
    """Remark on a kind that is misspelt; other projects' kinds are none of our business."""
    version = document.value.get("apiVersion")
    is_flow = str(version).startswith("flow.volcano.sh/")
    if name not in _ARGO_KINDS and (version is None or version == API_VERSION or is_flow):
        hint = report.close_to(name, _VOLCANO if is_flow else _KINDS)
        report.warn(("kind",), f"the kind {name[:60]!r} is not known here", hint=hint)


def _warn_of_older_forms(document: Document, report: Report) -> None:
    """Remark on fields that `spec.upgrade` has turned into today's."""
    for path in _older_places(document.value):
        for key in sorted(_OLDER.keys() & _at(document.value, path).keys()):
            report.warn((*path, key), f"{key!r} is an older form", hint=_OLDER[key])


def _older_places(value: Any) -> Iterator[Path]:
    for spec in (("spec",), ("spec", "workflowSpec")):
        yield spec
        yield (*spec, "synchronization")
        templates = _at(value, spec).get("templates")
        for index in range(len(templates) if isinstance(templates, list) else 0):
            yield (*spec, "templates", index, "synchronization")


def _at(value: Any, path: Path) -> dict[str, Any]:
    """Give the mapping at a path, an empty one where there is none."""
    for part in path:
        if isinstance(part, int):
            value = value[part]
        else:
            value = value.get(part) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def _is_foreign(value: Mapping[str, Any], kind: _Kind) -> bool:
    """Tell whether a kind of our name belongs to another project (its API group differs)."""
    version = value.get("apiVersion")
    if not isinstance(version, str):
        return False
    return _group(version) != _group(kind.api_version)


def _group(version: str) -> str:
    return version.rpartition("/")[0]


def _check_keys(document: Document, report: Report) -> None:
    for key in document.boolean_keys:
        report.problems.append(
            Problem(
                code="invalid_spec",
                message=f"the key {key.text!r} is a boolean to YAML without quotes",
                path=".".join(str(part) for part in key.path),
                line=key.line,
                column=key.column,
                file=document.file,
                hint=f'quote it: "{key.text}"',
            )
        )


def _judged(problems: Iterable[Problem], strict: bool) -> list[Problem]:
    """Make unknown fields errors where the caller is strict."""
    return [
        msgspec.structs.replace(problem, warning=False)
        if strict and problem.code == "unknown_field"
        else problem
        for problem in problems
    ]
