"""Commands over the life of workflows: submit, wait, stop, suspend, resume, retry and the rest.

Each asks the server of the data directory; with none running, it does the work itself. With
``--server`` all of them ask that one, through ``tiphys.client``.
"""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Any

import click

from tiphys.cli.failure import FAILED
from tiphys.cli.inputs import (
    data_folder,
    read_files,
    read_labels,
    read_parameters,
    scheduler_label,
    settings,
)
from tiphys.cli.names import (
    elsewhere,
    namespace_of,
    namespace_option,
    server_option,
    workflow_argument,
)
from tiphys.errors import ConflictError, NotFoundError
from tiphys.ports import SCHEDULERS

if TYPE_CHECKING:
    from tiphys.control.server import Quiet

_PARAMETER = click.option(
    "-p", "--parameter", "pairs", multiple=True, metavar="NAME=VALUE", help="A parameter."
)
_SELECTOR = click.option(
    "--node-field-selector",
    "selector",
    default="",
    metavar="FIELD=VALUE,…",
    help="Which nodes: displayName, name, id, templateName, phase, inputs.parameters.X.value.",
)


def perform_here(op: str, **arguments: Any) -> Any:
    """Have one thing done: by the server elsewhere, by the local one, or by this process."""
    remote = elsewhere()
    if remote is not None:
        return remote.perform(op, arguments)
    from tiphys.control.server import perform  # noqa: PLC0415

    return asyncio.run(perform(data_folder(), settings(), _notes(), op, arguments))


def _notes() -> Quiet:
    """Give a watcher that only passes notes on, to stderr."""
    from tiphys.control.server import Quiet  # noqa: PLC0415

    return Quiet(lambda text: sys.stderr.write(f"{text}\n"))


def _each(
    workflows: tuple[str, ...], namespace: str | None, op: str, word: str, **arguments: Any
) -> int:
    """Do one thing to each workflow; those that cannot have it done do not stop the others."""
    code = 0
    for name in workflows:
        try:
            row = perform_here(op, key=name, namespace=namespace_of(namespace), **arguments)
        except (ConflictError, NotFoundError) as error:
            sys.stderr.write(f"{name}: {error}\n")
            code = FAILED
            continue
        sys.stdout.write(f"{row['name']} {word}\n")
    return code


@click.command("submit")
@click.argument("files", nargs=-1, required=True, metavar="FILE…")
@_PARAMETER
@click.option("-f", "--parameter-file", metavar="FILE", help="YAML or JSON with parameters.")
@namespace_option
@server_option
@click.option("--name", default="", help="The workflow's name instead of its own.")
@click.option("--generate-name", default="", help="The beginning of the workflow's name.")
@click.option("--entrypoint", default="", help="The template to begin with.")
@click.option("--priority", type=int, help="Higher goes first.")
@click.option("--scheduler", type=click.Choice(SCHEDULERS), help="Where its tasks run.")
@click.option("-l", "--labels", default="", metavar="A=B,…", help="Labels to add.")
@click.option("-w", "--wait", "wait_for", is_flag=True, help="Wait until it has ended.")
@click.option("-o", "--output", type=click.Choice(["name", "json"]), help="What to print.")
def submit(files: tuple[str, ...], **given: Any) -> int:
    """Hand the workflows in FILE… to the server, and return once they are safely stored."""
    from tiphys.control.door import knock  # noqa: PLC0415
    from tiphys.control.server import pack_files  # noqa: PLC0415

    overrides = {
        "parameters": read_parameters(given["pairs"], given["parameter_file"]),
        "name": given["name"],
        "generate_name": given["generate_name"],
        "entrypoint": given["entrypoint"],
        "namespace": given["namespace"] or "",
        "labels": read_labels(given["labels"]) | scheduler_label(given["scheduler"]),
        "priority": given["priority"],
    }
    rows = perform_here("submit", files=pack_files(read_files(files)), overrides=overrides)
    if given["output"] == "json":
        from tiphys.cli.output import print_objects  # noqa: PLC0415

        print_objects(rows, "json")
    else:
        sys.stdout.write("".join(f"{row['name']}\n" for row in rows))
    if not rows:
        sys.stderr.write("there is no Workflow among the documents; the others are kept\n")
        return 0
    if given["wait_for"]:
        return _wait_all(tuple(row["uid"] for row in rows), given["namespace"] or "")
    if elsewhere() is not None:
        return 0
    caller = knock(data_folder())
    if caller is None:
        sys.stderr.write(
            "stored; no server is running: `tiphys server` or `tiphys wait NAME` runs it\n"
        )
    else:
        caller.close()
    return 0


def _ended(key: str, namespace: str) -> Any:
    """Wait for the end of a workflow, however often its server restarts meanwhile."""
    remote = elsewhere()
    if remote is not None:
        return remote.perform("wait", {"key": key, "namespace": namespace})
    from tiphys.control.wait import wait_for_end  # noqa: PLC0415

    return asyncio.run(wait_for_end(data_folder(), settings(), _notes(), key, namespace))


def _wait_all(keys: tuple[str, ...], namespace: str = "") -> int:
    code = 0
    for key in keys:
        row = _ended(key, namespace)
        sys.stderr.write(f"{row['name']} {row['phase']}\n")
        code = code if row["phase"] == "Succeeded" else FAILED
    return code


@click.command("wait")
@workflow_argument(many=True)
@namespace_option
@server_option
def wait(workflows: tuple[str, ...], namespace: str | None) -> int:
    """Wait until WORKFLOW… have ended. Exits with 1 if one of them did not succeed."""
    return _wait_all(workflows, namespace_of(namespace))


@click.command("watch")
@workflow_argument(many=True)
@namespace_option
@server_option
@click.option("--log", is_flag=True, help="Show what the tasks write.")
def watch(workflows: tuple[str, ...], namespace: str | None, log: bool) -> int:
    """Show WORKFLOW… with the live tree until they have ended; with no server, run them here."""
    remote = elsewhere()
    if remote is not None:
        from tiphys.cli.remote_watch import watch_each  # noqa: PLC0415

        return watch_each(remote, workflows, namespace_of(namespace))
    from tiphys.cli.run import exit_code, show  # noqa: PLC0415
    from tiphys.cli.watch import choose_watch  # noqa: PLC0415
    from tiphys.config import RunOptions  # noqa: PLC0415
    from tiphys.control.absence import PATIENCE  # noqa: PLC0415
    from tiphys.control.local import attend  # noqa: PLC0415
    from tiphys.store import Store  # noqa: PLC0415

    data = data_folder()
    with Store.open(data, owner=False, url=settings().store.url) as store:
        rows = [store.workflow(name, namespace=namespace_of(namespace)) for name in workflows]
    shown = choose_watch(RunOptions(data=data, log=log), quiet=False, data_on_stdout=False)
    with shown:
        uids = [row.uid for row in rows]
        finished = asyncio.run(attend(data, settings(), shown, uids, patience=PATIENCE))
    show(finished, None, shown)
    return exit_code(finished)


@click.command("stop")
@workflow_argument(many=True)
@namespace_option
@server_option
@click.option("-m", "--message", default="", help="Why; the stopped nodes show it.")
def stop(workflows: tuple[str, ...], namespace: str | None, message: str) -> int:
    """Stop WORKFLOW…: what runs is ended, exit handlers still run."""
    return _each(workflows, namespace, "stop", "stopped", strategy="stop", message=message)


@click.command("terminate")
@workflow_argument(many=True)
@namespace_option
@server_option
def terminate(workflows: tuple[str, ...], namespace: str | None) -> int:
    """End WORKFLOW… at once; exit handlers do not run."""
    return _each(workflows, namespace, "stop", "terminated", strategy="terminate")


@click.command("suspend")
@workflow_argument(many=True)
@namespace_option
@server_option
def suspend(workflows: tuple[str, ...], namespace: str | None) -> int:
    """Suspend WORKFLOW…: what runs goes on, nothing new starts."""
    return _each(workflows, namespace, "suspend", "suspended")


@click.command("resume")
@workflow_argument(many=True)
@namespace_option
@server_option
@_SELECTOR
@_PARAMETER
@click.option("-m", "--message", default="", help="Shown on the nodes that go on.")
def resume(
    workflows: tuple[str, ...],
    namespace: str | None,
    selector: str,
    pairs: tuple[str, ...],
    message: str,
) -> int:
    """Let suspended WORKFLOW… go on, or only the pauses that the selector names.

    -p gives values to output parameters that a pause waits for.
    """
    return _each(
        workflows,
        namespace,
        "resume",
        "resumed",
        node_selector=selector,
        parameters=read_parameters(pairs, None),
        message=message,
    )


@click.command("retry")
@workflow_argument(many=True)
@namespace_option
@server_option
@_SELECTOR
@_PARAMETER
@click.option("--restart-successful", is_flag=True, help="Also what the selector names.")
def retry(
    workflows: tuple[str, ...],
    namespace: str | None,
    selector: str,
    pairs: tuple[str, ...],
    restart_successful: bool,
) -> int:
    """Run WORKFLOW… again from the nodes that failed; what succeeded is not run again."""
    return _each(
        workflows,
        namespace,
        "retry",
        "retried",
        node_selector=selector,
        parameters=read_parameters(pairs, None),
        restart_successful=restart_successful,
    )


@click.command("resubmit")
@workflow_argument(many=True)
@namespace_option
@server_option
@_PARAMETER
@click.option("--memoized", is_flag=True, help="Without what had succeeded.")
def resubmit(
    workflows: tuple[str, ...], namespace: str | None, pairs: tuple[str, ...], memoized: bool
) -> int:
    """Run WORKFLOW… once more, each under a new name."""
    return _each(
        workflows,
        namespace,
        "resubmit",
        "submitted",
        parameters=read_parameters(pairs, None),
        memoized=memoized,
    )
