"""``tiphys launch``: one job or a gang, without writing a workflow, followed to its end.

A server that is up (or named) gets it, and runs it with the scheduler that it is configured for;
without one it runs in this process, as with ``tiphys run``.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from tiphys.cli.failure import FAILED, INTERRUPTED, visible
from tiphys.cli.inputs import data_folder, read_files, scheduler_label, settings
from tiphys.cli.names import SERVER, server_option
from tiphys.errors import ConflictError, InvalidInputError
from tiphys.ports import SCHEDULERS

if TYPE_CHECKING:
    from types import FrameType

    from tiphys.client import Client
    from tiphys.client.calls import Call
    from tiphys.client.launch import Payload
    from tiphys.client.model import Update

_TWICE = 2
_KINDS = click.Choice(["task", "campaign", "directive", "gang"])
_OF_WORKER = ("image", "cpu", "memory", "gpu")
_OF_PAYLOAD = ("kind", "name", "size", "queue", "priority", "retries")


@click.command("launch", context_settings={"ignore_unknown_options": False})
@click.argument("words", nargs=-1, metavar="[-- COMMAND…]")
@click.option("-f", "--file", metavar="FILE", help="A payload in YAML or JSON; flags change it.")
@click.option("--kind", type=_KINDS, help="How many start together: 1, 3, one per agent, --size.")
@click.option("--agents", metavar="A,B,…", help="Of a directive.")
@click.option("--size", type=int, metavar="N", help="Of a gang.")
@click.option("--name", help="What its name begins with.")
@click.option("--image", help="The image of its containers.")
@click.option("--cpu", metavar="AMOUNT", help="What each of it asks for.")
@click.option("--memory", metavar="AMOUNT", help="What each of it asks for.")
@click.option("--gpu", type=int, metavar="N", help="What each of it asks for.")
@click.option("-e", "--env", multiple=True, metavar="NAME=VALUE", help="A variable.")
@click.option("--queue", help="Where it waits.")
@click.option("--priority", help="critical, high, normal, low, or a number.")
@click.option("--retries", type=int, metavar="N", help="How often it is begun again if it fails.")
@click.option("--scheduler", type=click.Choice(SCHEDULERS), help="Who runs it.")
@click.option("--project", help="Whose it is; `default` if not given.")
@click.option("-d", "--detach", is_flag=True, help="Only hand it in, and print its id.")
@server_option
def command(words: tuple[str, ...], **given: Any) -> int:
    """Run COMMAND as one job or a gang: all of it starts together, or none of it.

    In COMMAND and variables, {agent} stands for the name of the one who runs it, and so does
    $AGENT. Ctrl-C stops it, a second one terminates it, a third one leaves it alone. Exits with 0
    when it succeeded, 1 when it failed, 2 when it makes no sense, 130 after an interrupt.
    """
    payload = _payload(words, given)
    client = _client()
    if client is None:
        if given["detach"]:
            raise InvalidInputError("nobody is there to go on with it: start `tiphys server` first")
        return _run_here(payload, given["scheduler"], given["project"])
    with client:
        from tiphys.client.launch import start  # noqa: PLC0415

        scheduler = given["scheduler"] or ""
        run = start(client, payload, scheduler=scheduler, project=given["project"] or "default")
        if not given["detach"]:
            return _Following(client, run).to_the_end()
        _tell(run)
        return 0


def _tell(run: str) -> None:
    sys.stdout.write(f"{run}\n")
    sys.stdout.flush()


def _payload(words: tuple[str, ...], given: Mapping[str, Any]) -> Payload:
    from tiphys.client.launch import read_payload, text_of  # noqa: PLC0415

    data = _read(given["file"]) if given["file"] else {}
    data |= {key: given[key] for key in _OF_PAYLOAD if given[key] is not None}
    if given["agents"]:
        data["agents"] = [each.strip() for each in given["agents"].split(",") if each.strip()]
        data.setdefault("kind", "directive")
    if given["size"] is not None:
        data.setdefault("kind", "gang")
    worker = dict(data.get("worker") or {})
    worker |= {key: given[key] for key in _OF_WORKER if given[key] is not None}
    if words:
        worker |= {"command": [words[0]], "args": list(words[1:])}
    if given["env"]:
        worker["env"] = {**(worker.get("env") or {}), **_variables(given["env"])}
    payload = read_payload({**data, "worker": worker})
    text_of(payload)  # What makes no sense is told before anybody is asked.
    return payload


def _read(file: str) -> dict[str, Any]:
    from tiphys.spec import yaml  # noqa: PLC0415

    ((name, data),) = read_files([file])
    documents = yaml.load(data, file=name)
    if len(documents) != 1 or not isinstance(documents[0].value, dict):
        raise InvalidInputError(f"{file}: expected one mapping with a payload")
    return dict(documents[0].value)


def _variables(pairs: tuple[str, ...]) -> dict[str, str]:
    found = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not (name and equals):
            raise InvalidInputError(f"--env {pair!r}: expected NAME=VALUE")
        found[name] = value
    return found


def _client() -> Client | None:
    """Give the server that was asked for, or the one of the data directory; None without one."""
    import os  # noqa: PLC0415

    if os.environ.get(SERVER) or (data_folder() / "http-address").exists():
        from tiphys.cli.remote import administered  # noqa: PLC0415

        return administered()
    return None


class _Following:
    """A run that is followed, and what Ctrl-C does to it."""

    def __init__(self, client: Client, run: str) -> None:
        self._client, self._run = client, run
        self._pressed = 0
        self._known: dict[str, str] = {}

    def to_the_end(self) -> int:
        """Tell the run's name, show what changes until it has ended; give the exit code."""
        from tiphys.client.launch import follow  # noqa: PLC0415

        before = signal.signal(signal.SIGINT, self._interrupted)
        try:
            _tell(self._run)  # From now on people may press Ctrl-C for it.
            status = follow(self._client, self._run, self._show)
        except KeyboardInterrupt:
            sys.stderr.write(f"{self._run} goes on: `tiphys watch {self._run[3:]}`\n")
            return INTERRUPTED
        finally:
            signal.signal(signal.SIGINT, before)
        sys.stderr.write(f"{self._run} {status}\n")
        if self._pressed:
            return INTERRUPTED
        return 0 if status == "succeeded" else FAILED

    def _interrupted(self, _: int, __: FrameType | None) -> None:
        from tiphys.client import calls  # noqa: PLC0415

        self._pressed += 1
        if self._pressed == 1:
            sys.stderr.write("stopping; once more terminates\n")
            _do(calls.stop(self._run, message="stopped by Ctrl-C"))
        elif self._pressed == _TWICE:
            sys.stderr.write("terminating; once more leaves it alone\n")
            _do(calls.terminate(self._run))
        else:
            raise KeyboardInterrupt

    def _show(self, update: Update) -> None:
        for node in update.nodes:
            word = node.phase if node.phase != "Pending" else f"waits: {node.waiting_for or '…'}"
            if self._known.get(node.id) != word:
                self._known[node.id] = word
                sys.stderr.write(f"{visible(node.display_name)}: {visible(word)}\n")


def _do(call: Call[Any]) -> None:
    """Do a call over a new connection: the server has hung up on one that was idle for long."""
    from tiphys.cli.remote import administered  # noqa: PLC0415

    # One that has ended meanwhile needs no stopping.
    with suppress(ConflictError), administered() as client:
        client.do(call)


def _run_here(payload: Payload, scheduler: str | None, project: str | None) -> int:
    from tiphys.cli.run import exit_code, show  # noqa: PLC0415
    from tiphys.cli.watch import choose_watch  # noqa: PLC0415
    from tiphys.client.launch import text_of  # noqa: PLC0415
    from tiphys.config import RunOptions  # noqa: PLC0415
    from tiphys.control.local import run_order  # noqa: PLC0415
    from tiphys.control.order import read_order  # noqa: PLC0415

    labels, number = scheduler_label(scheduler), None
    if isinstance(payload.priority, str):
        labels["tiphys.dev/priority-class"] = payload.priority
    else:
        number = payload.priority
    options = RunOptions(data=data_folder(), labels=labels, priority=number)
    texts = [("launch.json", text_of(payload).encode())]
    config = settings(namespace=project)
    order = read_order(texts, parameters={}, config=config, options=options)
    watch = choose_watch(options, quiet=False, data_on_stdout=False)
    try:
        with watch:
            finished = asyncio.run(run_order(order, watch))
    except KeyboardInterrupt:
        return INTERRUPTED
    show(finished, None, watch)
    return exit_code(finished)
