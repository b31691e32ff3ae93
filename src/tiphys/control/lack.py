"""What a text asks for that this machine lacks, told before anything begins.

A file that was written for a cluster names ConfigMaps and Secrets that lie there, volumes that are
full there, objects to make there, plugins, and containers with more rights than they get here. All
of it is a warning: the step that needs it may never come. Whoever comes to it fails with the same
word, or finds an empty folder: each claim is one of the data directory, made at its first use.

Works on plain data: one look at the encoded text shows whether there is anything to look for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path as Folder
from typing import Any

import msgspec

from tiphys.config import SchedulerSettings
from tiphys.control.choice import choose
from tiphys.core.name import is_dns1123_subdomain
from tiphys.errors import InvalidInputError, Problem
from tiphys.ports import LOCAL, SCHEDULER_LABEL, Resources
from tiphys.spec import model
from tiphys.spec.library import Library
from tiphys.spec.report import Report
from tiphys.spec.yaml import Document, Path

Lack = tuple[Path, str, str, str]
"""Where it is asked for, what is lacking, a code, and a hint."""
_WORDS = (b"onfigMap", b"ecret", b'"privileged":true', b'"plugin":', b'"resource":{', b"laimName")
_REF = b'emplateRef":'
_CONFIG_MAPS = frozenset({"configMapKeyRef", "configMapRef", "configMap"})
_SECRETS = frozenset({"secretKeyRef", "secretRef", "secret"})
_FAILS = "the step that needs it will fail"


class Stock(msgspec.Struct, frozen=True):
    """What there is on this machine."""

    library: Library
    resources: Resources
    volumes: Folder
    allow_privileged: bool


def lacks(
    workflow: model.Workflow,
    read: Callable[[], Document],
    stock: Stock,
    settings: SchedulerSettings,
) -> list[Problem]:
    """Warn of each thing once, at the first place that asks for it.

    The text is read only if there is one.
    """
    settled, _ = choose(workflow, settings)
    if settled.metadata.labels.get(SCHEDULER_LABEL, LOCAL) != LOCAL:
        return []
    namespace = workflow.metadata.namespace or stock.library.namespace
    found: dict[str, Lack] = {}
    for lack in _Search(stock, namespace).search(workflow.spec, ("spec",)):
        found.setdefault(lack[1], lack)
    if not found:
        return []
    report = Report(read())
    for path, message, code, hint in found.values():
        report.add(_placed(path, report), message, code=code, hint=hint, warning=True)
    return report.problems


def _placed(path: Path, report: Report) -> Path:
    """Give the place that people know: the templates of a flow stand in texts of their own."""
    if "volcanoJob" not in path or report.document is None:
        return path
    if report.document.value.get("kind") == "Job":
        return ("spec", *path[path.index("volcanoJob") + 1 :])
    return ("spec", "flows")


class _Search:
    """One look through a workflow and the templates that it refers to."""

    def __init__(self, stock: Stock, namespace: str) -> None:
        self._stock, self._namespace = stock, namespace
        self._seen: set[tuple[Any, ...]] = set()

    def search(self, part: model.Model, path: Path) -> Iterator[Lack]:
        """Give what is lacking in a part of a text; ``path`` is where it stands."""
        raw = msgspec.json.encode(part)
        if not any(word in raw for word in (*_WORDS, _REF)):
            return
        plain = msgspec.json.decode(raw)
        mounted = {mount.get("name") for mount in _mounts(plain)}
        for place, item in _walk(plain, path):
            key = place[-1]
            if path == ("spec",) and place[:2] == ("spec", "arguments"):
                continue  # They are read before anything begins.
            if key == "volumes" and isinstance(item, list):
                yield from self._volumes(item, place, mounted)
            elif isinstance(item, dict):
                yield from self._thing(str(key), item, place)

    def _thing(self, key: str, item: Mapping[str, Any], path: Path) -> Iterator[Lack]:
        if key in ("templateRef", "workflowTemplateRef"):
            yield from self._referred(key, item, path)
        elif key == "resource" and "action" in item:
            message = f"resource templates need a Kubernetes cluster: {_FAILS}"
            yield path, message, "needs_cluster", "--scheduler k8s-native has one"
        elif key == "plugin":
            names = ", ".join(sorted(item)) or "an unnamed plugin"
            message = f"no executor plugin is configured for {names}: {_FAILS}"
            yield path, message, "no_plugin", ""
        elif key == "securityContext" and item.get("privileged"):
            if not self._stock.allow_privileged:
                message = "a privileged container is not allowed here: it will fail"
                yield (*path, "privileged"), message, "policy_denied", "allowPrivileged is off"
        elif key in _CONFIG_MAPS or key in _SECRETS or (key.endswith("Secret") and "key" in item):
            yield from self._object(key in _CONFIG_MAPS, item, path)

    def _referred(self, key: str, ref: Mapping[str, Any], path: Path) -> Iterator[Lack]:
        """Look into a stored template; what it lacks is told where it is named."""
        name, inside = str(ref.get("name", "")), str(ref.get("template", ""))
        cluster = bool(ref.get("clusterScope"))
        if (name, inside, cluster) in self._seen:
            return
        self._seen.add((name, inside, cluster))
        library = self._stock.library
        found: model.WorkflowSpec | model.Template | None
        if key == "workflowTemplateRef":
            found = library.spec(name, cluster_scope=cluster, namespace=self._namespace)
        else:
            wanted = model.TemplateRef(name=name, template=inside, cluster_scope=cluster)
            found = library.template(wanted, namespace=self._namespace)
        if found is not None:
            for _, message, code, hint in self.search(found, ()):
                yield path, message, code, hint

    def _volumes(self, volumes: list[Any], path: Path, mounted: set[Any]) -> Iterator[Lack]:
        for number, volume in enumerate(each for each in volumes if isinstance(each, dict)):
            place: Path = (*path, number)
            claim = volume.get("persistentVolumeClaim")
            if isinstance(claim, dict):
                yield from self._claim(str(claim.get("claimName", "")), place)
            if volume.get("name") not in mounted:
                continue
            for part, item in _walk(volume, place):
                if part[-1] in ("configMap", "secret") and isinstance(item, dict):
                    yield from self._object(part[-1] == "configMap", item, part)

    def _claim(self, name: str, path: Path) -> Iterator[Lack]:
        if not is_dns1123_subdomain(name):  # It may hold tags: what is not known yet begins later.
            return
        folder = self._stock.volumes / self._namespace / name
        known = self._stock.library.volume_claim(name, namespace=self._namespace) is not None
        if not known and not folder.exists():
            message = f"there is no claim {name!r} yet: it begins as an empty folder"
            where = (*path, "persistentVolumeClaim", "claimName")
            yield where, message, "new_claim", str(folder)

    def _object(self, is_map: bool, item: Mapping[str, Any], path: Path) -> Iterator[Lack]:
        """Look for a ConfigMap or Secret, and for the one key that is wanted of it."""
        name, key = str(item.get("name") or item.get("secretName") or ""), item.get("key")
        if not name or item.get("optional") or "{{" in f"{name}{key}":
            return
        kind, code = ("ConfigMap", "no_config_map") if is_map else ("Secret", "no_secret")
        data = self._data(is_map, name)
        if data is None:
            hint = f"put a {kind} of that name into the file, or give one beside it"
            yield path, f"there is no {kind} {name!r}: {_FAILS}", code, hint
        elif key is not None and key not in data:
            yield path, f"the {kind} {name!r} has no key {key!r}: {_FAILS}", code, ""

    def _data(self, is_map: bool, name: str) -> Mapping[str, Any] | None:
        resources, namespace = self._stock.resources, self._namespace
        if is_map:
            return resources.config_map(namespace, name)
        own = self._stock.library.secrets.get((namespace, name))
        if own is not None:
            return {**own.data, **own.string_data}
        try:
            return resources.secret(namespace, name)
        except InvalidInputError:
            return None


def _walk(value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    """Give everything in plain data with its place, from the outside in."""
    items: Any = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    for key, item in items:
        place = (*path, key)
        yield place, item
        if not _is_closed(key, item):
            yield from _walk(item, place)


def _is_closed(key: Any, item: Any) -> bool:
    """Whether what is inside is looked at elsewhere, or names nothing that has to be there."""
    if key == "valueFrom":
        return isinstance(item, dict) and "default" in item
    # Memories of outputs are named after ConfigMaps, and need none here.
    return key in ("volumes", "plugin", "cache")


def _mounts(plain: Any) -> Iterator[Mapping[str, Any]]:
    for place, item in _walk(plain, ("",)):
        if place[-1] == "volumeMounts" and isinstance(item, list):
            yield from item
