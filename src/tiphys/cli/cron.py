"""``tiphys cron``: workflows that run by schedule.

Looking reads the store; changes are made by the server of the data directory, or by this process
where none is running. ``run`` and ``backfill`` need the server, for it runs the workflows.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from tiphys.cli.inputs import data_folder, read_files, read_parameters, settings
from tiphys.cli.names import elsewhere, namespace_of, namespace_option, server_option
from tiphys.cli.text import moment, rfc3339_seconds, short_duration
from tiphys.errors import InvalidInputError, NotFoundError
from tiphys.executor.clock import now

if TYPE_CHECKING:
    from tiphys.cli.remote_cron import RemoteCounter
    from tiphys.service.schedule_state import Cron

_NAME = click.argument("name", metavar="CRON")
_NAMES = click.argument("names", nargs=-1, required=True, metavar="CRON…")
_FILES = click.argument("files", nargs=-1, required=True, metavar="FILE…")
_FORM = click.option(
    "-o", "--output", "form", type=click.Choice(["json", "yaml", "wide", "name"]), help="A form."
)
_HEAD = ["NAME", "AGE", "LAST RUN", "NEXT RUN", "SCHEDULES", "TIMEZONE", "SUSPENDED"]


def ask(op: str, **arguments: Any) -> Any:
    """Have one thing done: by the server elsewhere, by the local one, or by this process."""
    remote = counter()
    if remote is not None:
        return remote.perform(op, arguments)
    from tiphys.control.server import Quiet  # noqa: PLC0415
    from tiphys.service.counter import ask_or_do  # noqa: PLC0415

    watcher = Quiet(lambda text: sys.stderr.write(f"{text}\n"))
    return asyncio.run(ask_or_do(data_folder(), settings(), watcher, op, arguments))


def counter() -> RemoteCounter | None:
    """Give the server elsewhere that was asked for; None where it is the local one."""
    remote = elsewhere()
    if remote is None:
        return None
    from tiphys.cli.remote_cron import RemoteCounter  # noqa: PLC0415

    return RemoteCounter(remote)


@click.group("cron")
def command() -> None:
    """Show and change workflows that run by schedule."""


# --- changing -------------------------------------------------------------------------------


@command.command("create")
@_FILES
@namespace_option
@server_option
@click.option("--schedule", help="Instead of the schedules in the file.")
@_FORM
def create(
    files: tuple[str, ...], namespace: str | None, schedule: str | None, form: str | None
) -> None:
    """Keep the CronWorkflows in FILE…; they are due from now on."""
    _show(_send("cron-create", files, namespace, schedule), form)


@command.command("update")
@_FILES
@namespace_option
@server_option
@_FORM
def update(files: tuple[str, ...], namespace: str | None, form: str | None) -> None:
    """Put the CronWorkflows in FILE… in the place of their older selves."""
    _show(_send("cron-update", files, namespace, None), form)


def _send(
    op: str, files: tuple[str, ...], namespace: str | None, schedule: str | None
) -> list[Cron]:
    from tiphys.control.server import pack_files  # noqa: PLC0415

    packed = pack_files(read_files(files))
    usual = settings().namespace
    made = ask(op, files=packed, namespace=namespace or "", usual=usual, schedule=schedule or "")
    return [_cron(each) for each in made]


@command.command("delete")
@click.argument("names", nargs=-1, metavar="CRON…")
@click.option("--all", "every", is_flag=True, help="All of the namespace.")
@namespace_option
@server_option
def delete(names: tuple[str, ...], every: bool, namespace: str | None) -> None:
    """Delete CRON…; workflows that came from them stay."""
    if bool(names) == every:
        raise click.UsageError("give names, or --all")
    own = namespace_of(namespace)
    chosen = [each.name for each in _stored(own)] if every else names
    for name in chosen:
        ask("cron-delete", namespace=own, name=name)
        sys.stdout.write(f"CronWorkflow '{name}' deleted\n")


@command.command("suspend")
@_NAMES
@namespace_option
@server_option
def suspend(names: tuple[str, ...], namespace: str | None) -> None:
    """Let CRON… start no more workflows."""
    _suspend(names, namespace, suspend=True)


@command.command("resume")
@_NAMES
@namespace_option
@server_option
def resume(names: tuple[str, ...], namespace: str | None) -> None:
    """Let CRON… start workflows again."""
    _suspend(names, namespace, suspend=False)


def _suspend(names: tuple[str, ...], namespace: str | None, *, suspend: bool) -> None:
    for name in names:
        ask("cron-suspend", namespace=namespace_of(namespace), name=name, suspend=suspend)
        sys.stdout.write(f"CronWorkflow '{name}' {'suspended' if suspend else 'resumed'}\n")


@command.command("run")
@_NAME
@namespace_option
@server_option
@click.option("-p", "--parameter", "pairs", multiple=True, metavar="NAME=VALUE", help="One more.")
def run(name: str, namespace: str | None, pairs: tuple[str, ...]) -> None:
    """Run the workflow of CRON at once, whatever its policies say."""
    parameters = read_parameters(pairs, None)
    made = ask("cron-run", namespace=namespace_of(namespace), name=name, parameters=parameters)
    sys.stdout.write(f"{made['name']}\n")


@command.command("backfill")
@_NAME
@namespace_option
@server_option
@click.option("--start", required=True, metavar="TIME", help="2026-01-31 or 2026-01-31T08:00:00Z.")
@click.option("--end", metavar="TIME", help="Until then, included; now, if not given.")
@click.option("--name", "label", default="", help="The backfill's name.")
@click.option("--parallel", type=click.IntRange(1, 1000), default=1, help="Workflows at once.")
@click.option("--argname", "parameter", default="", help="A parameter that gets the slot's time.")
def backfill(name: str, namespace: str | None, **given: Any) -> None:
    """Run all slots of CRON in a range of time, a few at once; it goes on after a restart."""
    from tiphys.control.submit import random_suffix  # noqa: PLC0415

    start, end = _instant(given["start"]), now()
    if given["end"]:
        end = _instant(given["end"])
    wanted = {
        "name": given["label"] or random_suffix(),
        "namespace": namespace_of(namespace),
        "schedule": name,
        "start": start,
        "end": end,
        "max_parallel": given["parallel"],
        "parameter": given["parameter"],
        "created_by": "command line",
    }
    made = ask("cron-backfill", backfill=wanted)
    sys.stdout.write(
        f"backfill {made['name']} of {name}: {made['total']} runs"
        f" from {rfc3339_seconds(start)} to {rfc3339_seconds(end)}\n"
    )


def _instant(text: str) -> float:
    """Read a date or a time; in the machine's zone where it names none."""
    try:
        return datetime.fromisoformat(text).astimezone().timestamp()
    except (ValueError, OverflowError):
        message = f"{text[:60]!r} is not a time such as 2026-01-31 or 2026-01-31T08:00:00Z"
        raise InvalidInputError(message) from None


# --- looking --------------------------------------------------------------------------------


@command.command("list")
@namespace_option
@server_option
@click.option("-A", "--all-namespaces", "every", is_flag=True, help="Of every namespace.")
@click.option("-l", "--selector", default="", help="Only with these labels.")
@_FORM
def list_crons(namespace: str | None, every: bool, selector: str, form: str | None) -> None:
    """List schedules: when they ran last, and when they are due next."""
    from tiphys.cli.output import print_object, print_table  # noqa: PLC0415

    found = _chosen(_stored(namespace_of(namespace), every=every), selector)
    if form == "name":
        sys.stdout.write("".join(f"{each.name}\n" for each in found))
    elif form in {"json", "yaml"}:
        listed = {"apiVersion": "v1", "kind": "List", "metadata": {}}
        print_object({**listed, "items": [_plain(each) for each in found]}, form)
    elif not found:
        sys.stderr.write("no schedules found\n")
    else:
        rows = [([each.namespace] if every else []) + _cells(each) for each in found]
        print_table((["NAMESPACE"] if every else []) + _HEAD, rows)


@command.command("get")
@_NAMES
@namespace_option
@server_option
@_FORM
def get(names: tuple[str, ...], namespace: str | None, form: str | None) -> None:
    """Show CRON…."""
    own = namespace_of(namespace)
    _show([_find(own, name) for name in names], form)


@command.command("next")
@_NAME
@namespace_option
@server_option
@click.option("-c", "--count", type=click.IntRange(1, 1000), default=5, show_default=True)
def next_runs(name: str, namespace: str | None, count: int) -> None:
    """Print when CRON is due next, suspended or not."""
    for slot in _next(_find(namespace_of(namespace), name), count):
        sys.stdout.write(f"{rfc3339_seconds(slot)}   {moment(slot)}\n")


def _stored(namespace: str, *, every: bool = False) -> list[Cron]:
    remote = counter()
    if remote is not None:
        return remote.crons(namespace, every=every)
    from tiphys.cli.stored import open_store  # noqa: PLC0415
    from tiphys.service.schedule_state import KIND, read_row  # noqa: PLC0415

    try:
        with open_store() as store:
            rows = store.objects(KIND)
    except NotFoundError:
        return []
    found = [read_row(row) for row in rows if every or row.namespace == namespace]
    return sorted(found, key=lambda each: each.key)


def _find(namespace: str, name: str) -> Cron:
    for each in _stored(namespace):
        if each.name == name:
            return each
    raise NotFoundError(f"there is no schedule {name!r} in namespace {namespace}")


def _chosen(found: list[Cron], selector: str) -> list[Cron]:
    from tiphys.store.selector import parse_selector  # noqa: PLC0415

    for need in parse_selector(selector):

        def has(each: Cron, name: str = need.name, values: Any = need.values) -> bool:
            labels = each.manifest.metadata.labels
            return name in labels and (values is None or labels[name] in values)

        found = [each for each in found if has(each) is need.wanted]
    return found


def _cron(value: Any) -> Cron:
    import msgspec  # noqa: PLC0415

    from tiphys.service.schedule_state import KIND, read_row  # noqa: PLC0415
    from tiphys.store import ObjectRow  # noqa: PLC0415

    body = msgspec.json.encode(value)
    return read_row(ObjectRow(kind=KIND, namespace="", name="", body=body))


def _plain(cron: Cron) -> Any:
    import msgspec  # noqa: PLC0415

    from tiphys.service.schedule_state import shown  # noqa: PLC0415

    return msgspec.to_builtins(shown(cron))


def _next(cron: Cron, count: int, after: float | None = None) -> list[int]:
    remote = counter()
    if remote is not None:
        return remote.next_runs(cron, count)
    from itertools import islice  # noqa: PLC0415

    from tiphys.service.schedule_book import machine_zone  # noqa: PLC0415
    from tiphys.service.schedule_plan import timetable  # noqa: PLC0415

    table = timetable(cron.spec, machine_zone)
    begin = now() if after is None else after
    return list(islice(table.slots(begin, float("inf"), cron.since), count))


def _cells(cron: Cron) -> list[str]:
    from tiphys.service.schedule_state import read_time  # noqa: PLC0415

    at, spec = now(), cron.spec
    created = read_time(cron.manifest.metadata.creation_timestamp) or at
    last, coming = cron.last_scheduled, _next(cron, 1, at)
    asleep = spec.suspend or cron.stopped
    return [
        cron.name,
        short_duration(at - created),
        "N/A" if last is None else short_duration(at - last),
        "N/A" if asleep or not coming else short_duration(coming[0] - at),
        ",".join(spec.schedules),
        spec.timezone,
        "true" if spec.suspend else "false",
    ]


def _show(crons: Sequence[Cron], form: str | None) -> None:
    from tiphys.cli.output import print_objects  # noqa: PLC0415

    if form in {"json", "yaml"}:
        print_objects([_plain(each) for each in crons], form)
    elif form == "name":
        sys.stdout.write("".join(f"{each.name}\n" for each in crons))
    else:
        sys.stdout.write("\n".join(_described(each) for each in crons))


def _described(cron: Cron) -> str:
    from tiphys.service.schedule_state import read_time  # noqa: PLC0415

    spec, status, coming = cron.spec, cron.status, _next(cron, 1)
    lines: list[tuple[str, object]] = [
        ("Name:", cron.name),
        ("Namespace:", cron.namespace),
        ("Created:", moment(read_time(cron.manifest.metadata.creation_timestamp))),
        ("Schedules:", ",".join(spec.schedules)),
        ("Suspended:", "true" if spec.suspend else "false"),
        ("Timezone:", spec.timezone),
        ("StartingDeadlineSeconds:", spec.starting_deadline_seconds),
        ("ConcurrencyPolicy:", spec.concurrency_policy),
        ("Phase:", status.phase),
        ("LastScheduledTime:", moment(cron.last_scheduled)),
        ("NextScheduledTime:", moment(coming[0]) if coming else "never"),
        ("Succeeded:", status.succeeded),
        ("Failed:", status.failed),
        ("Active Workflows:", ", ".join(each.name for each in status.active)),
        *((f"{each.type}:", each.message) for each in status.conditions),
    ]
    lines += [(f"  {each.name}:", each.value) for each in spec.workflow_spec.arguments.parameters]
    return "".join(f"{key:<30} {value}\n" for key, value in lines if value not in {None, ""})
