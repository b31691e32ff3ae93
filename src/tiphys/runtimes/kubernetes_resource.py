"""``resource`` templates: one action on an object of the cluster, then its conditions watched.

Done by the server itself, without a pod. Whatever is made gets the attempt's id as an annotation
and a name that follows from it, so that an action that is done again after a crash finds its own
object.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

import msgspec
import yaml

from tiphys.core.name import fnv1a32
from tiphys.errors import ClusterError, ExpressionError, RuntimeFailure
from tiphys.kube.client import FOREVER, JSON, MERGE, STRATEGIC, Client
from tiphys.kube.watch import Changed, Gone, Listed, watch
from tiphys.ports import Task
from tiphys.runtimes.end import End
from tiphys.runtimes.kubernetes_condition import holds
from tiphys.runtimes.kubernetes_job import ATTEMPT_ID
from tiphys.spec import model
from tiphys.spec.expression import json_path

Json = dict[str, Any]
_PATCHES = {"strategic": STRATEGIC, "merge": MERGE, "json": "application/json-patch+json"}
_PLAIN_JQ = re.compile(r"(\.[A-Za-z_][\w-]*|\[\d+\])+")


class Action:
    """What one template does to the cluster."""

    def __init__(self, client: Client, task: Task, namespace: str, manifest: str) -> None:
        assert task.template.resource is not None
        self._client, self._task, self._namespace = client, task, namespace
        self._given = task.template.resource
        self._things = _read(manifest)

    async def run(self) -> End:
        """Do it, and wait for its condition; raise ClusterError or RuntimeFailure."""
        last: Json = {}
        for thing in self._things:
            last = await self._act(thing)
        success, failure = self._given.success_condition, self._given.failure_condition
        if success or failure:
            end = await self._await(last)
            if isinstance(end, End):
                return end
            last = end
        return End("Succeeded", outputs=self._outputs(last))

    async def _act(self, thing: Json) -> Json:
        namespace = thing.get("metadata", {}).get("namespace") or self._namespace
        if namespace != self._namespace:
            # Tiphys may act in the namespaces of several projects, a workflow only in its own.
            raise RuntimeFailure(
                f"policy_denied: the manifest is for namespace {namespace}, the workflow's is"
                f" {self._namespace}"
            )
        collection = await self._client.path_of(thing, namespace)
        action = self._given.action
        if action == "create":
            return await self._create(collection, thing)
        name = thing.get("metadata", {}).get("name")
        if not name:
            raise RuntimeFailure(f"the manifest to {action} has no metadata.name")
        path = f"{collection}/{quote(name)}"
        if action == "apply":
            return await self._client.apply(path, self._marked(thing), patience=FOREVER)
        if action == "get":
            return await self._client.get(path, patience=FOREVER)
        if action == "delete":
            await self._client.delete(path, {"propagationPolicy": "Background"}, patience=FOREVER)
            return thing
        if action == "replace":
            return await self._replace(path, thing)
        if action == "patch":
            return await self._patch(path, thing)
        raise RuntimeFailure(f"unknown action {action!r} of a resource template")

    async def _create(self, collection: str, thing: Json) -> Json:
        ours = self._marked(thing)
        try:
            return await self._client.create(collection, ours, patience=FOREVER)
        except ClusterError as error:
            if error.reason != "AlreadyExists":
                raise
            path = f"{collection}/{quote(ours['metadata']['name'])}"
            found = await self._client.get(path, patience=FOREVER)
            if (found["metadata"].get("annotations") or {}).get(ATTEMPT_ID) != self._task.id:
                raise
            return found

    async def _replace(self, path: str, thing: Json) -> Json:
        found = await self._client.get(path, patience=FOREVER)
        version = found["metadata"]["resourceVersion"]
        metadata = {"resourceVersion": version, **thing["metadata"]}
        whole = {**thing, "metadata": metadata}
        return await self._client.call("PUT", path, whole, kind=JSON, patience=FOREVER)

    async def _patch(self, path: str, thing: Json) -> Json:
        strategy = self._given.merge_strategy or "strategic"
        kind = _PATCHES.get(strategy)
        if kind is None or strategy == "json":
            raise RuntimeFailure(f"mergeStrategy {strategy!r}: expected strategic or merge")
        try:
            return await self._client.patch(path, thing, kind=kind, patience=FOREVER)
        except ClusterError as error:
            # Custom resources know no strategic merge; for them both are the same.
            if error.status != 415 or kind == MERGE:
                raise
            return await self._client.patch(path, thing, kind=MERGE, patience=FOREVER)

    def _marked(self, thing: Json) -> Json:
        meta = dict(thing.get("metadata") or {})
        if not meta.get("name") and meta.get("generateName"):
            meta["name"] = f"{meta.pop('generateName')}{fnv1a32(self._task.id):x}"
        meta["annotations"] = {**(meta.get("annotations") or {}), ATTEMPT_ID: self._task.id}
        return {**thing, "metadata": meta}

    # --- afterwards -------------------------------------------------------------------------

    async def _await(self, thing: Json) -> Json | End:
        """Watch an object until a condition holds."""
        meta = thing["metadata"]
        namespace = meta.get("namespace") or self._namespace
        collection = await self._client.path_of(thing, namespace)
        name = meta["name"]
        async for news in watch(self._client, collection, fields=f"metadata.name={name}"):
            match news:
                case Listed(items):
                    found = items[0] if items else None
                case Changed(changed):
                    found = changed
                case Gone():
                    found = None
            if found is None:
                return End("Failed", f"the {thing['kind']} {name} was deleted")
            decided = self._judge(found)
            if decided is not None:
                return decided
        raise RuntimeFailure("the watch ended")

    def _judge(self, thing: Json) -> Json | End | None:
        success, failure = self._given.success_condition, self._given.failure_condition
        if failure and holds(failure, thing):
            outputs = self._outputs(thing)
            return End("Failed", f"failure condition '{failure}' evaluated true", outputs)
        return thing if success and holds(success, thing) else None

    def _outputs(self, thing: Json) -> model.Outputs | None:
        parameters = tuple(_filled(each, thing) for each in self._task.template.outputs.parameters)
        return model.Outputs(parameters=parameters) if parameters else None


def _filled(parameter: model.Parameter, thing: Json) -> model.Parameter:
    source = parameter.value_from
    if source is None or not (source.json_path or source.jq_filter):
        return parameter
    try:
        value = json_path(_query(source), thing)
    except ExpressionError as error:
        if source.default is None:
            raise RuntimeFailure(f"output {parameter.name}: {error}") from error
        value = source.default
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return msgspec.structs.replace(parameter, value=text)


def _query(source: model.ValueFrom) -> str:
    """Give kubectl's or a plain jq path as JSONPath."""
    if source.json_path:
        return "$" + source.json_path.strip().removeprefix("{").removesuffix("}").lstrip("$")
    text = source.jq_filter.strip()
    if not _PLAIN_JQ.fullmatch(text):
        raise RuntimeFailure(f"jqFilter {text[:100]!r}: only plain paths such as .status.phase")
    return f"${text}"


def _read(manifest: str) -> list[Json]:
    try:
        found: Iterable[Any] = list(yaml.safe_load_all(manifest))
    except yaml.YAMLError as error:
        raise RuntimeFailure(f"the manifest is no YAML: {error}") from error
    things = [each for each in found if isinstance(each, dict)]
    if not things or any("kind" not in each or "apiVersion" not in each for each in things):
        raise RuntimeFailure("the manifest is no Kubernetes object: it needs apiVersion and kind")
    return things
