"""What the command line asks of schedules and templates: at the door of the host, or as a host
for a moment where none is up.

Whoever comes through the door is the owner of the data directory: there are no projects' walls and
no roles here.
"""

from __future__ import annotations

import asyncio
from base64 import b64decode
from collections.abc import Container, Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from tiphys.config import Config
from tiphys.control.door import Handler, knock
from tiphys.control.host import Host, hosting
from tiphys.control.service import Service
from tiphys.control.submit import read_files
from tiphys.control.turn import Watcher
from tiphys.errors import ConflictError, InvalidInputError, SpecError
from tiphys.service.cabinet import Cabinet
from tiphys.service.schedule_backfill import Backfill
from tiphys.service.schedule_state import Cron, shown
from tiphys.service.schedules import Schedules, make_schedules
from tiphys.service.submission import visible
from tiphys.service.templates import FOR_ALL, NAMESPACED, OF_JOBS, Templates
from tiphys.spec.library import Library
from tiphys.spec.parse import Bundle, Parsed
from tiphys.spec.validate import validate_workflow_template

NEEDS_SERVER = frozenset({"cron-run", "cron-backfill"})
change = msgspec.structs.replace


class Counter:
    """Answers what is asked."""

    def __init__(self, host: Host, schedules: Schedules, templates: Templates) -> None:
        self._host, self._schedules, self._templates = host, schedules, templates

    def handlers(self) -> dict[str, Handler]:
        """Give what can be asked for, by name."""
        return {
            "cron-create": self._create,
            "cron-update": self._update,
            "cron-delete": self._delete,
            "cron-suspend": self._suspend,
            "cron-run": self._run,
            "cron-backfill": self._backfill,
            "template-save": self._save_templates,
            "template-delete": self._delete_template,
        }

    async def _create(self, request: Mapping[str, Any]) -> Any:
        made = []
        for namespace, parsed in self._parsed(request):
            made.append(await self._schedules.create(namespace, parsed.value, "command line"))
        return [_plain(cron) for cron in made]

    async def _update(self, request: Mapping[str, Any]) -> Any:
        found = []
        for namespace, parsed in self._parsed(request):
            name = parsed.value.metadata.name
            found.append(await self._schedules.update(namespace, name, parsed.value))
        return [_plain(cron) for cron in found]

    def _parsed(self, request: Mapping[str, Any]) -> list[tuple[str, Parsed[Any]]]:
        """Read and check all schedules before the first of them is kept."""
        bundle = _bundle(request)
        if not bundle.cron_workflows:
            raise InvalidInputError("there is no CronWorkflow in these files")
        found = []
        for parsed in bundle.cron_workflows:
            value = parsed.value
            if request.get("schedule"):
                spec = change(value.spec, schedules=(str(request["schedule"]),))
                value = change(value, spec=spec)
            namespace = str(
                request.get("namespace") or value.metadata.namespace or request["usual"]
            )
            placed = Parsed(value, parsed.document)
            self._schedules.check(namespace, placed)
            found.append((namespace, placed))
        return found

    async def _delete(self, request: Mapping[str, Any]) -> Any:
        return _plain(await self._schedules.remove(request["namespace"], request["name"]))

    async def _suspend(self, request: Mapping[str, Any]) -> Any:
        key = (request["namespace"], request["name"])
        return _plain(await self._schedules.suspend(*key, suspend=bool(request["suspend"])))

    async def _run(self, request: Mapping[str, Any]) -> Any:
        row = await self._schedules.run_now(
            request["namespace"], request["name"], request.get("parameters")
        )
        return {"name": row.name, "uid": row.uid}

    async def _backfill(self, request: Mapping[str, Any]) -> Any:
        wanted = msgspec.convert(request["backfill"], Backfill)
        return msgspec.to_builtins(await self._schedules.backfill(wanted))

    # --- templates --------------------------------------------------------------------------

    async def _save_templates(self, request: Mapping[str, Any]) -> Any:
        bundle = _bundle(request)
        templates: list[Parsed[Any]] = [
            *bundle.workflow_templates,
            *bundle.cluster_workflow_templates,
        ]
        if not templates and not bundle.job_templates:
            raise InvalidInputError("there is no WorkflowTemplate or JobTemplate in these files")
        own = str(request.get("namespace") or request["usual"])
        library = visible(self._host.library.extended(bundle), own)
        for parsed in templates:
            if not parsed.value.metadata.name:
                raise InvalidInputError("a template needs a name")
            problems = validate_workflow_template(parsed.value, library, parsed.document)
            errors = [problem for problem in problems if not problem.warning]
            if errors:
                raise SpecError(errors)
        kept = Bundle(
            workflow_templates=tuple(_placed(each, own) for each in bundle.workflow_templates),
            cluster_workflow_templates=bundle.cluster_workflow_templates,
            job_templates=tuple(_placed(each, own) for each in bundle.job_templates),
        )
        self._refuse_known(kept, new=bool(request.get("new")))
        self._host.keep(kept, self._host.library.extended(kept))
        await self._host.control.settle()
        return [each.value.metadata.name for each in (*templates, *bundle.job_templates)]

    def _refuse_known(self, bundle: Bundle, *, new: bool) -> None:
        known = self._host.library
        taken = [
            *_taken(bundle.workflow_templates, known.workflow_templates),
            *_taken(bundle.job_templates, known.job_templates),
            *(
                each.value.metadata.name
                for each in bundle.cluster_workflow_templates
                if each.value.metadata.name in known.cluster_workflow_templates
            ),
        ]
        if new and taken:
            raise ConflictError(f"there is already a template named {taken[0]!r}")

    async def _delete_template(self, request: Mapping[str, Any]) -> Any:
        usual = OF_JOBS if request.get("jobs") else NAMESPACED
        kind = FOR_ALL if request.get("cluster") else usual
        namespace = "" if request.get("cluster") else request["namespace"]
        await self._templates.remove(self._templates.find(kind, namespace, request["name"]))
        return {"name": request["name"]}


def _bundle(request: Mapping[str, Any]) -> Bundle:
    return read_files([(name, b64decode(body)) for name, body in request["files"]])


def _taken(given: Iterable[Parsed[Any]], known: Container[tuple[str, str]]) -> list[str]:
    metas = [each.value.metadata for each in given]
    return [meta.name for meta in metas if (meta.namespace, meta.name) in known]


def _placed(parsed: Parsed[Any], namespace: str) -> Parsed[Any]:
    meta = parsed.value.metadata
    meta = change(meta, namespace=meta.namespace or namespace)
    return Parsed(change(parsed.value, metadata=meta), parsed.document)


def _plain(cron: Cron) -> Any:
    return msgspec.to_builtins(shown(cron))


async def ask_or_do(
    data: Path, config: Config, watcher: Watcher, op: str, arguments: Mapping[str, Any]
) -> Any:
    """Have one thing done: by the host of ``data`` if there is one, else here."""
    caller = knock(data)
    if caller is not None:
        try:
            return await asyncio.to_thread(lambda: caller.ask(op, **arguments))
        finally:
            caller.close()
    if op in NEEDS_SERVER:
        raise ConflictError("no server is running to do this: start `tiphys server` first")
    async with hosting(data, config, Library(namespace=config.namespace), watcher) as host:
        host.start()
        cabinet = Cabinet(host.store)
        defaults = config.workflow_defaults.spec if config.workflow_defaults else None
        schedules = make_schedules(host, Service(host, defaults), config, defaults, watcher.note)
        counter = Counter(host, schedules, Templates(host, cabinet))
        answer = await counter.handlers()[op](arguments)
        await cabinet.close()
        return answer
