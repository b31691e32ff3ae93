"""A server elsewhere: with ``--server`` or ``TIPHYS_SERVER`` commands ask it through the client.

``perform`` takes what ``control.server.perform`` takes, so that commands need not know whom they
ask. The token is that of ``TIPHYS_TOKEN``, of the file that ``TIPHYS_TOKEN_FILE`` names, or of the
data directory where the server's own lies.
"""

from __future__ import annotations

import os
from base64 import b64decode
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec

from tiphys.cli.inputs import data_folder, settings
from tiphys.cli.names import SERVER
from tiphys.cli.patience import Patience, ask, updates
from tiphys.client import Client, calls
from tiphys.client import model as answers
from tiphys.errors import ConflictError, InvalidInputError, NotFoundError, SpecError
from tiphys.ports import SCHEDULER_LABEL

TOKEN = "TIPHYS_TOKEN"
PAGE = 500
Objects = dict[str, Any]


@cache
def connect(url: str) -> Remote:
    """Give the server at an address; the same for all that one command asks of it."""
    return Remote(Client(url, _token()))


def administered() -> Client:
    """Give a client of the server that was asked for, or of the one of the data directory."""
    url = os.environ.get(SERVER, "")
    if url:
        return Client(url, _token())
    given = os.environ.get(TOKEN, "")
    if given:
        address = data_folder() / "http-address"
        if not address.exists():
            raise NotFoundError(f"no server runs over {data_folder()}: `tiphys server` starts one")
        return Client(address.read_text().strip(), given)
    return Client.of(data_folder())


def _token() -> str:
    given = os.environ.get(TOKEN, "")
    path = os.environ.get(f"{TOKEN}_FILE", "")
    if not given and path:
        try:
            given = Path(path).read_text().strip()
        except OSError as error:
            raise InvalidInputError(f"{TOKEN}_FILE: {path}: {error.strerror}") from error
    if not given:
        raise InvalidInputError(f"a server elsewhere needs a token: set {TOKEN} or {TOKEN}_FILE")
    return given


class Remote:
    """The server, as commands ask it."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.patience = Patience()

    # --- the words of the local server --------------------------------------------------------

    def perform(self, op: str, arguments: Mapping[str, Any]) -> Any:
        """Have one thing done."""
        given = dict(arguments)
        if op == "submit":
            rows = [
                self._submit(name, b64decode(raw), given["overrides"])
                for name, raw in given["files"]
            ]
            self.patience.end()
            return rows
        key, namespace = given.pop("key"), given.pop("namespace", "")
        if op == "wait":
            row = ask(lambda: self.find(key, namespace), self.patience)
            return {**row, "phase": self._ended(row["id"])}
        row = self.find(key, namespace)
        return self._changed(op, row, given)

    def _changed(self, op: str, row: Objects, given: Mapping[str, Any]) -> Objects:
        key = row["id"]
        if op == "stop" and given.get("strategy") == "terminate":
            self.client.do(calls.terminate(key))
        elif op == "stop":
            self.client.do(calls.stop(key, message=given.get("message", "")))
        elif op == "suspend":
            self.client.do(calls.suspend(key))
        elif op == "resume":
            self.client.do(calls.resume(key, **given))
        elif op == "retry":
            self.client.do(calls.retry(key, **given))
        elif op == "resubmit":
            made = self.client.do(calls.resubmit(key, **given))
            return {"name": made.workflow_name or made.name, "uid": made.id.removeprefix("wf-")}
        else:
            raise ConflictError(f"a server elsewhere cannot be asked for {op}")
        return row

    def _submit(self, file: str, raw: bytes, overrides: Mapping[str, Any]) -> Objects:
        """Hand one file in; what stands beside its workflow goes along."""
        name, generated, own = _name_of(file, raw, overrides)
        project = overrides.get("namespace") or own or self.project()
        labels = dict(overrides.get("labels") or {})
        scheduler = labels.pop(SCHEDULER_LABEL, "")
        call = calls.submit(
            name,
            project,
            raw.decode("utf-8", "replace"),
            parameters=overrides.get("parameters"),
            priority=overrides.get("priority"),
            generate_name=generated,
            labels=labels,
            scheduler=scheduler,
            entrypoint=overrides.get("entrypoint", ""),
        )
        try:
            made = self.client.do(call)
        except SpecError as error:
            raise SpecError(
                [msgspec.structs.replace(each, file=file) for each in error.problems]
            ) from None
        return {
            "uid": made.id.removeprefix("wf-"),
            "name": made.workflow_name or made.name,
            "namespace": project,
            "phase": "Pending",
            "message": "",
            "created_at": made.created_at.timestamp(),
        }

    def _ended(self, key: str) -> str:
        """Watch a workflow to its end."""
        status = ""
        for update in updates(self.client, key, self.patience):
            status = update.status
        return status.capitalize()

    # --- looking ------------------------------------------------------------------------------

    def project(self) -> str:
        """Give the project of the token; that of the settings where it sees all."""
        return self.client.do(calls.whoami()).project_id or settings().namespace

    def find(self, key: str, namespace: str = "") -> Objects:
        """Find a workflow by name, uid, id or ``@latest``."""
        fields = "metadata.name,metadata.namespace,metadata.uid,status.phase,status.message"
        found = self.object(key, namespace, fields=fields)
        meta, status = found["metadata"], found.get("status", {})
        return {
            "id": f"wf-{meta['uid']}",
            "uid": meta["uid"],
            "name": meta["name"],
            "namespace": meta["namespace"],
            "phase": status.get("phase", ""),
            "message": status.get("message", ""),
        }

    def object(self, key: str, namespace: str = "", *, fields: str = "") -> Objects:
        """Give a workflow in Argo's shape."""
        place = f"{quote(namespace or self.project(), safe='')}/{quote(_plain(key), safe='@')}"
        return self.client.do(calls.get_object(place, fields=fields))

    def flow(self, uid: str) -> Objects | None:
        """Tell how a JobFlow stands."""
        return self.client.do(calls.get_workflow(f"wf-{uid}")).flow

    def delete(self, name: str, namespace: str) -> None:
        """Forget a workflow; one under way is terminated first."""
        place = f"{quote(namespace, safe='')}/{quote(name, safe='')}"
        self.client.do(calls.delete_object(place))

    def objects(self, namespace: str, *, selector: str = "", fields: str = "") -> Iterator[Objects]:
        """Give all workflows of a namespace in Argo's shape, the newest first."""
        after = ""
        while True:
            page = self.client.do(
                calls.list_objects(
                    quote(namespace, safe=""),
                    selector=selector,
                    fields=fields,
                    limit=PAGE,
                    after=after,
                )
            )
            yield from page.get("items") or ()
            after = page.get("metadata", {}).get("continue", "")
            if not after:
                return

    def explain(self, key: str, namespace: str) -> list[Objects]:
        """Tell why nodes wait, in the form of the local server."""
        found = self.client.do(calls.explain(self.find(key, namespace)["id"]))
        return [_reason(each) for each in found]


def _plain(key: str) -> str:
    return key.removeprefix("wf-") if key.count("-") == 5 else key


def _reason(why: answers.Why) -> Objects:
    return {
        "node": why.node_id or "",
        "name": why.name,
        "text": why.reason,
        "data": why.detail,
        "expected_start": why.expected_start.timestamp() if why.expected_start else None,
    }


def _name_of(file: str, raw: bytes, overrides: Mapping[str, Any]) -> tuple[str, bool, str]:
    """Give the name that a file asks for, whether it gets a suffix, and the file's namespace."""
    meta = _metadata(file, raw)
    own = str(meta.get("namespace") or "")
    if overrides.get("name"):
        return str(overrides["name"]), False, own
    beginning = overrides.get("generate_name") or (
        "" if meta.get("name") else meta.get("generateName")
    )
    if beginning:
        return str(beginning).rstrip("-"), True, own
    if not meta.get("name"):
        return "workflow", True, own
    return str(meta["name"]), False, own


def _is_run(document: Mapping[str, Any]) -> bool:
    """Whether a document is something to run: a Workflow, or one of Volcano's."""
    kind, version = document.get("kind"), str(document.get("apiVersion"))
    return kind in {"Workflow", "JobFlow"} or (kind == "Job" and "volcano" in version)


def _metadata(file: str, raw: bytes) -> Mapping[str, Any]:
    from tiphys.spec import yaml  # noqa: PLC0415

    documents: Sequence[Any] = [each.value for each in yaml.load(raw, file=file)]
    found = [each for each in documents if isinstance(each, dict) and _is_run(each)]
    if len(found) != 1:
        raise InvalidInputError(
            f"{file}: holds {len(found)} workflows; a server elsewhere takes one a file"
        )
    meta = found[0].get("metadata")
    return meta if isinstance(meta, dict) else {}
