"""Schedules and templates of a server elsewhere, asked for in the words of the local one.

``perform`` takes what ``service.counter`` takes at the door, so that commands need not know whom
they ask; the routes are those of ``/api/v1``.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping
from datetime import datetime
from typing import Any
from urllib.parse import quote

import msgspec

from tiphys.cli.remote import Remote
from tiphys.client.calls import Call
from tiphys.control.submit import read_files
from tiphys.errors import ConflictError, InvalidInputError, NotFoundError
from tiphys.service.schedule_state import KIND, Cron, read_row
from tiphys.spec.parse import Bundle, Parsed
from tiphys.store import ObjectRow

change = msgspec.structs.replace
Given = Mapping[str, Any]


class RemoteCounter:
    """The server's schedules and templates."""

    def __init__(self, remote: Remote) -> None:
        self._remote = remote

    def perform(self, op: str, given: Given) -> Any:
        """Have one thing done."""
        doing = {
            "cron-create": self._create,
            "cron-update": self._update,
            "cron-delete": self._delete,
            "cron-suspend": self._suspend,
            "cron-run": self._run,
            "cron-backfill": self._backfill,
            "template-save": self._save_templates,
            "template-delete": self._delete_template,
        }
        return doing[op](given)

    def crons(self, namespace: str, *, every: bool = False) -> list[Cron]:
        """List schedules."""
        path = "/schedules" if every else f"/schedules?project_id={self._project(namespace)}"
        return [_cron(item["manifest"]) for item in self._ask("GET", path)]

    def next_runs(self, cron: Cron, count: int) -> list[int]:
        """Ask when a schedule is due."""
        path = f"{_at('schedules', cron.namespace, cron.name, 'next')}?count={count}"
        found = self._ask("GET", path)
        return [int(datetime.fromisoformat(each["at"]).timestamp()) for each in found]

    def templates(self, namespace: str, kind: str, *, every: bool = False) -> list[ObjectRow]:
        """List templates of one kind."""
        cluster = kind.startswith("Cluster")
        path = "/cluster-templates" if cluster else f"/templates?kind={kind}"
        if not (cluster or every):
            path += f"&project_id={quote(self._project(namespace), safe='')}"
        return [
            ObjectRow(
                kind=item["manifest"]["kind"],
                namespace=item["project_id"] or "",
                name=item["name"],
                body=msgspec.json.encode(item["manifest"]),
                at=datetime.fromisoformat(item["updated_at"]).timestamp(),
            )
            for item in self._ask("GET", path)
        ]

    # --- parts ------------------------------------------------------------------------------

    def _ask(self, method: str, path: str, body: Given | None = None) -> Any:
        call: Call[Any] = Call(method, path, Any, body)
        return self._remote.client.do(call)

    def _tell(self, method: str, path: str) -> None:
        call: Call[None] = Call(method, path)
        self._remote.client.do(call)

    def _project(self, namespace: str) -> str:
        return namespace or self._remote.project()

    def _create(self, given: Given) -> Any:
        made = []
        for namespace, text, _ in self._texts(given):
            body = {"project_id": namespace, "schedule_yaml": text}
            made.append(self._ask("POST", "/schedules", body)["manifest"])
        return made

    def _update(self, given: Given) -> Any:
        made = []
        for namespace, text, name in self._texts(given):
            body = {"schedule_yaml": text}
            made.append(self._ask("PUT", _at("schedules", namespace, name), body)["manifest"])
        return made

    def _texts(self, given: Given) -> list[tuple[str, str, str]]:
        """Give project, text and name of each schedule in the files."""
        found = _bundle(given).cron_workflows
        if not found:
            raise InvalidInputError("there is no CronWorkflow in these files")
        texts = []
        for parsed in found:
            value, meta = parsed.value, parsed.value.metadata
            if given.get("schedule"):
                spec = change(value.spec, schedules=(str(given["schedule"]),))
                value = change(value, spec=spec)
            project = self._project(given.get("namespace") or meta.namespace)
            value = change(value, metadata=change(meta, namespace=project))
            texts.append((project, msgspec.json.encode(value).decode(), meta.name))
        return texts

    def _delete(self, given: Given) -> Any:
        self._tell("DELETE", self._one(given))

    def _suspend(self, given: Given) -> Any:
        word = "suspend" if given["suspend"] else "resume"
        return self._ask("POST", f"{self._one(given)}/{word}", {})

    def _run(self, given: Given) -> Any:
        body = {"parameters": given.get("parameters") or {}}
        return self._ask("POST", f"{self._one(given)}/run", body)

    def _backfill(self, given: Given) -> Any:
        wanted = given["backfill"]
        key = {"namespace": wanted["namespace"], "name": wanted["schedule"]}
        body = {name: wanted[name] for name in ("name", "max_parallel", "parameter")}
        for name in ("start", "end"):
            body[name] = datetime.fromtimestamp(wanted[name]).astimezone().isoformat()
        return self._ask("POST", f"{self._one(key)}/backfill", body)

    def _one(self, given: Given) -> str:
        return _at("schedules", self._project(given["namespace"]), given["name"])

    def _save_templates(self, given: Given) -> Any:
        bundle = _bundle(given)
        found: list[Parsed[Any]] = [
            *bundle.workflow_templates,
            *bundle.cluster_workflow_templates,
            *bundle.job_templates,
        ]
        if not found:
            raise InvalidInputError("there is no WorkflowTemplate or JobTemplate in these files")
        return [self._save_template(given, parsed.value) for parsed in found]

    def _save_template(self, given: Given, value: Any) -> str:
        meta = value.metadata
        cluster = value.kind.startswith("Cluster")
        project = "" if cluster else self._project(given.get("namespace") or meta.namespace)
        path = "/cluster-templates" if cluster else "/templates"
        one = _at(path[1:], *([project] if project else []), meta.name)
        if given.get("new") and self._has_template(one if cluster else f"{one}?kind={value.kind}"):
            raise ConflictError(f"there is already a template named {meta.name!r}")
        body = {"template_yaml": msgspec.json.encode(value).decode()}
        self._ask("POST", path, body if cluster else {**body, "project_id": project})
        return str(meta.name)

    def _has_template(self, path: str) -> bool:
        try:
            self._ask("GET", path)
        except NotFoundError:
            return False
        return True

    def _delete_template(self, given: Given) -> Any:
        if given.get("cluster"):
            path = _at("cluster-templates", given["name"])
        else:
            kind = "JobTemplate" if given.get("jobs") else "WorkflowTemplate"
            path = _at("templates", self._project(given["namespace"]), given["name"])
            path += f"?kind={kind}"
        self._tell("DELETE", path)


def _at(*parts: str) -> str:
    return "".join(f"/{quote(part, safe='')}" for part in parts)


def _bundle(given: Given) -> Bundle:
    return read_files([(name, b64decode(body)) for name, body in given["files"]])


def _cron(manifest: Any) -> Cron:
    body = msgspec.json.encode(manifest)
    return read_row(ObjectRow(kind=KIND, namespace="", name="", body=body))
