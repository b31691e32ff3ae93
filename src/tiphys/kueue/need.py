"""What a workflow as one unit says that it needs: its annotations, as the podSet of a Workload.

Pure. What cannot be read is no need of nothing: that would let the workflow in beside the quota.
"""

from __future__ import annotations

from typing import Any

import yaml

from tiphys.core.quantity import format_bytes, format_cpu
from tiphys.errors import InvalidInputError
from tiphys.kueue import label
from tiphys.kueue.layer import Json
from tiphys.scheduling.admission import MAX_RESOURCES, max_resources

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def whole(owner: Json) -> list[Json]:
    """Give the podSet of a workflow as one unit; raise InvalidInputError where it does not say."""
    notes = owner["metadata"].get("annotations") or {}
    most = max_resources(notes)
    if most is None:
        raise InvalidInputError(f"a workflow as unit needs the annotation {MAX_RESOURCES}")
    requests = {
        name: format_cpu(amount) if name == "cpu" else format_bytes(amount)
        for name, amount in most.items
    }
    container = {"name": "pod", "image": "pod", "resources": {"requests": requests}}
    spec: Json = {"restartPolicy": "Never", "containers": [container]}
    if selector := _read(notes, label.NODE_SELECTOR):
        spec["nodeSelector"] = _selector(selector)
    if tolerations := _read(notes, label.TOLERATION):
        spec["tolerations"] = _tolerations(tolerations)
    return [{"name": "main", "count": 1, "template": {"spec": spec}}]


def _read(notes: Json, name: str) -> Any:
    """Read JSON, or YAML."""
    try:
        return yaml.load(notes.get(name) or "", Loader=_LOADER)
    except yaml.YAMLError as error:
        raise InvalidInputError(f"annotation {name}: it cannot be read") from error


def _selector(found: Any) -> Json:
    if isinstance(found, dict) and all(isinstance(each, str) for each in found.values()):
        return found
    raise InvalidInputError(f"annotation {label.NODE_SELECTOR}: expected labels of nodes, as texts")


def _tolerations(found: Any) -> list[Json]:
    several = found if isinstance(found, list) else [found]
    if all(isinstance(each, dict) for each in several):
        return several
    raise InvalidInputError(f"annotation {label.TOLERATION}: expected a toleration, or a list")
