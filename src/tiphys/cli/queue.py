"""``tiphys queue``: the queues that workflows wait in.

Each subcommand asks the server of the data directory; with none running it works on the store. With
``--server`` it asks one elsewhere (`cli.remote_queue`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import click

from tiphys.cli.inputs import data_folder, read_files, settings
from tiphys.cli.names import elsewhere, server_option
from tiphys.core.duration import format_duration, parse_duration_or_seconds
from tiphys.errors import ConflictError, InvalidInputError
from tiphys.ports import KUEUE, LOCAL, VOLCANO

F = TypeVar("F", bound=Callable[..., Any])
_FORMS = click.Choice(["json", "yaml", "wide", "name"])
_AMOUNTS = ("capability", "deserved", "guarantee", "borrowing_limit", "lending_limit")
_KEYS = {
    "borrowing_limit": "borrowingLimit",
    "lending_limit": "lendingLimit",
    "max_parallel": "maxParallel",
    "sla": "slaSeconds",
}
"""Names of options that are called otherwise in a plan."""
_OURS = frozenset({"effective", "source", "workflows", "children", "used", "largest", "warning"})
"""What is shown of a queue besides its definition."""
_NAME = click.argument("name", metavar="QUEUE")
_NAMES = click.argument("names", nargs=-1, required=True, metavar="QUEUE…")
_WHOSE = "tiphys.queue.scheduler"


def _chosen(context: click.Context, _: click.Parameter, value: str | None) -> None:
    context.find_root().meta[_WHOSE] = value


def _whose(command: F) -> F:
    """Take ``--scheduler`` and ``--server``: whose queues, and where."""
    chosen = click.option(
        "--scheduler",
        type=click.Choice([LOCAL, VOLCANO, KUEUE]),
        expose_value=False,
        callback=_chosen,
        help="Whose queues: Tiphys' own, or those of the cluster's Volcano or Kueue.",
    )
    return server_option(chosen(command))


_OUTPUT = click.option("-o", "--output", "form", type=_FORMS, help="Another form.")


@click.group("queue")
def command() -> None:
    """Show and change the queues that workflows wait in."""


def _ask(op: str, **arguments: Any) -> Any:
    """Have it done by the server, or here where there is none."""
    remote = elsewhere()
    if remote is not None:
        from tiphys.cli.remote_queue import ask  # noqa: PLC0415

        whose = click.get_current_context().find_root().meta.get(_WHOSE)
        return ask(remote.client, op, arguments, whose or "")
    from tiphys.control.door import knock  # noqa: PLC0415

    whose = _whose_there()
    if whose:
        return _ask_cluster(whose, op, arguments)
    caller = knock(data_folder())
    if caller is not None:
        try:
            return caller.ask(op, **arguments)
        finally:
            caller.close()
    from tiphys.control.host import SystemClock, machine_capacity  # noqa: PLC0415
    from tiphys.control.queues import perform_alone  # noqa: PLC0415

    config = settings()
    if config.store.url:
        raise ConflictError("no server over this data directory leads: ask one that does")
    return perform_alone(
        data_folder(),
        config.queue_list(),
        machine_capacity(config),
        op,
        arguments,
        now=SystemClock().now(),
    )


def _whose_there() -> str:
    """Whose queues on the cluster are meant; "" for those of this machine."""
    given = click.get_current_context().find_root().meta.get(_WHOSE)
    whose = given or settings().scheduler.default
    return whose if whose in (VOLCANO, KUEUE) else ""


def _ask_cluster(whose: str, op: str, arguments: Mapping[str, Any]) -> Any:
    """The same for the cluster's queues: a server that is up has the right to them, perhaps."""
    from tiphys.control.door import knock  # noqa: PLC0415

    caller = knock(data_folder())
    if caller is not None:
        try:
            return caller.ask(f"{whose}-{op}", **arguments)
        finally:
            caller.close()
    import asyncio  # noqa: PLC0415

    from tiphys.control.kueue_queues import KueueQueues  # noqa: PLC0415
    from tiphys.control.queue_access import perform  # noqa: PLC0415
    from tiphys.control.volcano_queues import VolcanoQueues  # noqa: PLC0415

    async def perform_there() -> Any:
        config = settings()
        queues = (
            VolcanoQueues(config.kubernetes)
            if whose == VOLCANO
            else KueueQueues(config.kubernetes, config.namespace)
        )
        try:
            return await perform(queues, op, arguments)
        finally:
            await queues.close()

    return asyncio.run(perform_there())


# --- looking --------------------------------------------------------------------------------


@command.command("list")
@_whose
@_OUTPUT
def list_queues(form: str | None) -> None:
    """List all queues, those below others indented."""
    _show(_ask("queue-list"), form, table=True)


@command.command("get")
@_NAMES
@_whose
@_OUTPUT
def get_queues(names: tuple[str, ...], form: str | None) -> None:
    """Show QUEUE…: limits, state, what it uses and who waits."""
    _show([_ask("queue-get", name=name) for name in names], form, table=False)


def _show(queues: Sequence[Mapping[str, Any]], form: str | None, *, table: bool) -> None:
    from tiphys.cli.output import print_objects, print_table  # noqa: PLC0415

    if form in {"json", "yaml"}:
        print_objects(queues, form)
    elif form == "name":
        sys.stdout.write("".join(f"{queue['name']}\n" for queue in queues))
    elif table or form == "wide":
        wide = form == "wide"
        print_table(_head(wide=wide), _rows(queues, wide=wide))
    else:
        sys.stdout.write("\n".join(_described(queue) for queue in queues))


def _head(*, wide: bool) -> list[str]:
    head = ["NAME", "STATE", "PRIORITY", "WEIGHT", "DESERVED", "CAP", "WAITING", "RUNNING"]
    return [*head, "GUARANTEE", "SLA", "PREEMPT", "RECLAIM", "SOURCE"] if wide else head


def _rows(queues: Sequence[Mapping[str, Any]], *, wide: bool) -> list[list[str]]:
    depth: dict[str, int] = {}
    rows = []
    for queue in queues:
        depth[queue["name"]] = level = depth.get(queue["parent"], -1) + 1
        live = queue.get("workflows") or {"waiting": "-", "running": "-"}
        row = [
            "  " * level + queue["name"],
            queue["effective"],
            str(queue.get("priority", "-")),
            str(queue["weight"]),
            _amounts(queue.get("deserved")),
            _amounts(queue.get("capability")),
            str(live["waiting"]),
            str(live["running"]),
        ]
        rows.append([*row, *_more(queue)] if wide else row)
    return rows


def _more(queue: Mapping[str, Any]) -> list[str]:
    sla = queue.get("slaSeconds")
    return [
        _amounts(queue.get("guarantee")),
        "-" if sla is None else format_duration(sla),
        queue.get("preempt", "Never"),
        "yes" if queue.get("reclaim") else "no",
        queue["source"],
    ]


def _amounts(amounts: Mapping[str, str] | None) -> str:
    return ",".join(f"{name}={amount}" for name, amount in (amounts or {}).items()) or "-"


def _described(queue: Mapping[str, Any]) -> str:
    lines = []
    for key, value in queue.items():
        if isinstance(value, dict):
            text = _amounts(value)
        elif isinstance(value, list):
            text = ", ".join(value) or "-"
        else:
            text = format_duration(value) if key == "slaSeconds" else str(value)
        lines.append(f"{key + ':':<16} {text}\n")
    return "".join(lines)


# --- changing -------------------------------------------------------------------------------


def _definition(command: F) -> F:
    """Take what a queue is made of."""
    amounts = "cpu=8,memory=16Gi"
    options = [
        click.option("--parent", help="The queue above it."),
        click.option("--weight", type=int, help="Its share among its siblings."),
        click.option("--priority", type=int, help="Higher is served first."),
        click.option("--deserved", help="What it is due (Kueue: nominal quota).", metavar=amounts),
        click.option("--capability", help="The most it may use.", metavar=amounts),
        click.option("--guarantee", help="What is kept free for it.", metavar=amounts),
        click.option("--borrowing-limit", help="How far above its due it may go.", metavar=amounts),
        click.option("--lending-limit", help="What others may use of its due.", metavar=amounts),
        click.option("--max-parallel", type=int, help="Workflows that run in it at once."),
        click.option("--reclaimable/--no-reclaimable", default=None, help="Whether others may."),
        click.option("--reclaim/--no-reclaim", default=None, help="Take back what it is due."),
        click.option(
            "--preempt",
            type=click.Choice(["Never", "LowerPriority", "LowerOrNewerEqualPriority"]),
            help="Whom its waiting work may stop in its own queue.",
        ),
        click.option("--sla", metavar="DURATION", help="Work should start within this time."),
        click.option("--strict/--no-strict", default=None, help="Strictly first in, first out."),
        click.option("--fair/--no-fair", default=None, help="Workflows take turns by share."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


@command.command("create")
@click.argument("name", metavar="QUEUE", required=False)
@click.option("--preset", help="Begin from interactive, batch or analytics.")
@click.option("-f", "--file", help="Create all queues of a plan or of Volcano manifests.")
@_whose
@_definition
def create(name: str | None, preset: str | None, file: str | None, **given: Any) -> None:
    """Create QUEUE, or all queues of a file."""
    if bool(name) == bool(file):
        raise click.UsageError("give the name of a queue, or a file with -f")
    if file:
        for each in _from_file(file):
            _saved("queue-save", "created", queue=each, new=True)
        return
    spec = {"name": name, **({"preset": preset} if preset else {}), **_given(given)}
    _saved("queue-save", "created", queue=spec, new=True)


@command.command("update")
@_NAME
@_whose
@_definition
def update(name: str, **given: Any) -> None:
    """Change QUEUE; what is not named stays. Takes effect at once."""
    changes = _given(given)
    if not changes:
        raise click.UsageError("say what to change: --weight, --capability, …")
    known = {k: v for k, v in _ask("queue-get", name=name).items() if k not in _OURS}
    _saved("queue-save", "updated", queue={**known, **changes})


@command.command("open")
@_NAMES
@_whose
def open_queues(names: tuple[str, ...]) -> None:
    """Let QUEUE… start work."""
    for name in names:
        _saved("queue-state", "opened", name=name, state="Open")


@command.command("close")
@_NAMES
@_whose
def close_queues(names: tuple[str, ...]) -> None:
    """Let nothing new start in QUEUE…; what runs goes on."""
    for name in names:
        _saved("queue-state", "closed", name=name, state="Closed")


@command.command("delete")
@_NAMES
@_whose
def delete(names: tuple[str, ...]) -> None:
    """Delete QUEUE…; one with unfinished workflows is kept."""
    for name in names:
        _ask("queue-delete", name=name)
        sys.stdout.write(f"queue {name} deleted\n")


def _saved(op: str, word: str, **arguments: Any) -> None:
    shown = _ask(op, **arguments)
    sys.stdout.write(f"queue {shown['name']} {word}\n")
    if shown.get("warning"):
        sys.stderr.write(f"warning: {shown['warning']}\n")


def _given(options: Mapping[str, Any]) -> dict[str, Any]:
    """Turn options into the keys and values of a plan."""
    found: dict[str, Any] = {}
    for name, value in options.items():
        if value is None:
            continue
        if name in _AMOUNTS:
            found[_KEYS.get(name, name)] = _read_amounts(name, value)
        elif name == "sla":
            found[_KEYS[name]] = parse_duration_or_seconds(value)
        else:
            found[_KEYS.get(name, name)] = value
    return found


def _read_amounts(option: str, text: str) -> dict[str, str]:
    amounts = {}
    for pair in filter(None, text.split(",")):
        name, equals, amount = pair.partition("=")
        if not (name.strip() and equals and amount.strip()):
            flag = option.replace("_", "-")
            raise InvalidInputError(f"--{flag} {pair!r}: expected name=amount, as in cpu=8")
        amounts[name.strip()] = amount.strip()
    return amounts


def _from_file(file: str) -> list[dict[str, Any]]:
    from tiphys.scheduling.queue_file import queue_dict, read_queue_list  # noqa: PLC0415
    from tiphys.spec import yaml  # noqa: PLC0415

    ((name, data),) = read_files([file])
    values = [document.value for document in yaml.load(data, file=name)]
    try:
        return [queue_dict(queue) for queue in read_queue_list(values)]
    except InvalidInputError as error:
        raise InvalidInputError(f"{file}: {error}") from error
