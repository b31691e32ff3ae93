"""Schedules and templates of a server elsewhere, asked for in the words of the local one.

``perform`` takes what ``service.counter`` takes at the door, so that commands need not know whom
they ask; the routes are those of ``/api/v1``.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

import msgspec

from tiphys.cli.remote import Remote
from tiphys.client import schedules
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
        project = "" if every else self._project(namespace)
        found = self._remote.client.do(schedules.list_schedules(project=project))
        return [_cron(item.manifest) for item in found]

    def next_runs(self, cron: Cron, count: int) -> list[int]:
        """Ask when a schedule is due."""
        call = schedules.next_runs(cron.namespace, cron.name, count=count)
        return [int(each.at.timestamp()) for each in self._remote.client.do(call)]

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
            call = schedules.make_schedule(namespace, text)
            made.append(self._remote.client.do(call).manifest)
        return made

    def _update(self, given: Given) -> Any:
        made = []
        for namespace, text, name in self._texts(given):
            call = schedules.replace_schedule(namespace, name, text)
            made.append(self._remote.client.do(call).manifest)
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
        self._remote.client.do(schedules.delete_schedule(*self._key(given)))

    def _suspend(self, given: Given) -> Any:
        call = schedules.suspend_schedule if given["suspend"] else schedules.resume_schedule
        return self._remote.client.do(call(*self._key(given))).manifest

    def _run(self, given: Given) -> Any:
        call = schedules.run_schedule(*self._key(given), parameters=given.get("parameters"))
        made = self._remote.client.do(call)
        return {"name": made.workflow_name or made.name, "uid": made.id.removeprefix("wf-")}

    def _backfill(self, given: Given) -> Any:
        wanted = given["backfill"]
        key = {"namespace": wanted["namespace"], "name": wanted["schedule"]}
        start, end = (datetime.fromtimestamp(wanted[each], UTC) for each in ("start", "end"))
        call = schedules.start_backfill(
            *self._key(key),
            start,
            end,
            max_parallel=wanted["max_parallel"],
            key=wanted["name"],
            parameter=wanted["parameter"],
        )
        return msgspec.to_builtins(self._remote.client.do(call))

    def _key(self, given: Given) -> tuple[str, str]:
        return self._project(given["namespace"]), given["name"]

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
