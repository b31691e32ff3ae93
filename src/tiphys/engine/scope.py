"""What tags and expressions of a template can see.

inputs, the outputs of earlier siblings, globals.

Values are shielded on the way in (``shield``), so a scope may be rendered from again and again. A
steps template adds the outputs of each group as it ends; a DAG looks the ancestors of a task up
when they are asked for, since a task of a wide graph may have thousands of them and use one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import msgspec

from tiphys.engine.node import Node, NodeType, Phase
from tiphys.engine.shield import shield
from tiphys.spec import model

if TYPE_CHECKING:
    from tiphys.engine.run import Run

Facts = Mapping[str, str | None]
"""What is known of one step or task, by what follows its name: ``outputs.result``, ``status`` …

None stands for an output that can never come because its node was passed over: an expression sees
nil, a plain tag does not resolve.
"""


class Scope(Mapping[str, Any]):
    """A flat, read-only view of all values by dotted name; ``artifacts`` beside it."""

    def __init__(
        self,
        run: Run,
        *,
        prefix: str = "",
        siblings: Callable[[str], Facts | None] | None = None,
        sibling_names: Callable[[], Iterable[str]] | None = None,
        sibling_artifacts: Callable[[str], Mapping[str, model.Artifact]] | None = None,
    ) -> None:
        self._run = run
        self._globals = run.globals
        self.values_: dict[str, str | None] = {}
        self.artifacts: dict[str, model.Artifact] = {}
        self._prefix = prefix
        self._siblings = siblings
        self._sibling_names = sibling_names
        self._sibling_artifacts = sibling_artifacts

    def add(self, key: str, value: str) -> None:
        """Make ``value`` known under ``key``."""
        self.values_[key] = shield(value)

    def add_inputs(self, inputs: model.Inputs) -> None:
        """Make the inputs of the template known."""
        for parameter in inputs.parameters:
            if parameter.value is not None:
                self.add(f"inputs.parameters.{parameter.name}", parameter.value)
        for artifact in inputs.artifacts:
            self.artifacts[f"inputs.artifacts.{artifact.name}"] = artifact

    def add_facts(self, prefix: str, facts: Facts) -> None:
        """Make everything that is known of a sibling known under its prefix."""
        for key, value in facts.items():
            self.values_[f"{prefix}.{key}"] = value

    def find_artifact(self, key: str) -> model.Artifact | None:
        """Give the artifact called ``key``: an input, a sibling's output or a global one."""
        found = self.artifacts.get(key)
        if found is not None:
            return found
        if self._sibling_artifacts is not None and key.startswith(self._prefix):
            name, _, rest = key[len(self._prefix) :].partition(".outputs.artifacts.")
            return self._sibling_artifacts(name).get(rest)
        outputs = self._run.outputs
        name = key.removeprefix("workflow.outputs.artifacts.")
        if outputs is not None and name != key:
            return next((a for a in outputs.artifacts if a.name == name), None)
        return None

    def __getitem__(self, key: str) -> str | None:
        """Give the shielded value of ``key``."""
        if key in self.values_:
            return self.values_[key]
        if self._siblings is not None and key.startswith(self._prefix):
            name, _, rest = key[len(self._prefix) :].partition(".")
            facts = self._siblings(name)
            if facts is not None and rest in facts:
                return facts[rest]
        return self._globals[key]

    def __iter__(self) -> Iterator[str]:
        """Iterate over all keys; slow where there are many siblings."""
        yield from self._globals
        yield from (key for key in self.values_ if key not in self._globals)
        if self._siblings is not None and self._sibling_names is not None:
            for name in self._sibling_names():
                yield from (f"{self._prefix}{name}.{key}" for key in self._siblings(name) or ())

    def __len__(self) -> int:
        """Count all keys."""
        return sum(1 for _ in self)


class Overlay(Mapping[str, Any]):
    """A few values in front of others, without copying those."""

    __slots__ = ("_back", "_front")

    def __init__(self, front: Mapping[str, Any], back: Mapping[str, Any]) -> None:
        self._front, self._back = front, back

    def __getitem__(self, key: str) -> Any:
        """Look in front first."""
        found = self._front.get(key)
        return self._back[key] if found is None else found

    def __iter__(self) -> Iterator[str]:
        """Iterate over both, each key once."""
        yield from self._front
        yield from (key for key in self._back if key not in self._front)

    def __len__(self) -> int:
        """Count the keys of both."""
        return sum(1 for _ in self)


def timestamp(at: float) -> str:
    """Write an instant as Kubernetes does: RFC 3339, UTC, whole seconds."""
    return datetime.fromtimestamp(int(at), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def facts_of(run: Run, node: Node) -> dict[str, str]:
    """Tell what a sibling may know of ``node``."""
    node = last_attempt(run, node) or node
    facts = {"id": node.id, "status": str(node.phase)}
    if node.started_at is not None:
        facts["startedAt"] = timestamp(node.started_at)
    if node.finished_at is not None:
        facts["finishedAt"] = timestamp(node.finished_at)
    if node.pod_ip:
        facts["ip"] = node.pod_ip
    if node.host_node_name:
        facts["hostNodeName"] = node.host_node_name
    outputs = node.outputs
    if outputs is not None:
        if outputs.result is not None:
            facts["outputs.result"] = shield(outputs.result)
        if outputs.exit_code is not None:
            facts["exitCode"] = outputs.exit_code
        for parameter in outputs.parameters:
            if parameter.value is not None:
                facts[f"outputs.parameters.{parameter.name}"] = shield(parameter.value)
    return facts


def artifacts_of(run: Run, node: Node) -> dict[str, model.Artifact]:
    """Give the output artifacts of ``node`` by name."""
    node = last_attempt(run, node) or node
    if node.outputs is None:
        return {}
    return {artifact.name: artifact for artifact in node.outputs.artifacts}


def last_attempt(run: Run, node: Node) -> Node | None:
    """Give the latest attempt of a retry node that was not served from memory."""
    if node.type is not NodeType.RETRY:
        return None
    if node.memoization_status is not None and node.memoization_status.hit:
        return None
    for child in reversed(run.children.get(node.id, ())):
        found = run.nodes[child]
        if not found.hooked:
            return found
    return None


def aggregate(nodes: Iterable[Node]) -> dict[str, str]:
    """Gather the outputs of a loop's nodes, in their order, as JSON lists.

    Raises ValueError where a result is not JSON, as Argo refuses to aggregate it.
    """
    results: list[object] = []
    rows: list[dict[str, str]] = []
    columns: dict[str, list[str]] = {}
    for node in nodes:
        outputs = node.outputs
        if outputs is None or node.phase is not Phase.SUCCEEDED:
            continue
        if outputs.parameters:
            row = {p.name: p.value or "" for p in outputs.parameters}
            rows.append(row)
            for name, value in row.items():
                columns.setdefault(name, []).append(value)
        if outputs.result is not None:
            results.append(_item(outputs.result))
    facts = {"outputs.result": _json(results), "outputs.parameters": _json(rows)}
    for name, column in columns.items():
        facts[f"outputs.parameters.{name}"] = _json(_structured(column))
    return {key: shield(value) for key, value in facts.items()}


def _item(text: str) -> object:
    try:
        value = msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise ValueError(
            f"a result is not JSON, so results cannot be aggregated: {error}"
        ) from None
    # A number keeps its spelling: 1.0 stays 1.0.
    return msgspec.Raw(text.strip().encode()) if isinstance(value, int | float) else value


def _structured(values: list[str]) -> list[object]:
    """Parse all values if every one is a map or list; else leave them texts."""
    parsed: list[object] = []
    for value in values:
        try:
            item = msgspec.json.decode(value)
        except msgspec.DecodeError:
            return list(values)
        if not isinstance(item, dict | list):
            return list(values)
        parsed.append(item)
    return parsed


def _json(value: object) -> str:
    return msgspec.json.encode(value, order="sorted").decode()
