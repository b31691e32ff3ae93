"""``tiphys run``: workflows to their end in this process."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from tiphys.cli.failure import FAILED, INTERRUPTED
from tiphys.cli.inputs import (
    data_folder,
    read_files,
    read_labels,
    read_parameters,
    scheduler_label,
    settings,
)
from tiphys.config import RunOptions
from tiphys.executor.launch import give_word
from tiphys.ports import SCHEDULERS

if TYPE_CHECKING:
    from tiphys.cli.watch import Watch
    from tiphys.control.local import Finished

_RUNTIMES = click.Choice(["process", "sandbox", "podman", "docker"])
_FORMS = click.Choice(["json", "yaml", "wide", "name"])


@click.command("run")
@click.argument("files", nargs=-1, required=True, metavar="FILE…")
@click.option(
    "-p", "--parameter", "pairs", multiple=True, metavar="NAME=VALUE", help="A parameter."
)
@click.option("-f", "--parameter-file", metavar="FILE", help="YAML or JSON with parameters.")
@click.option("-n", "--namespace", help="The namespace of workflows that name none.")
@click.option("--name", default="", help="The workflow's name instead of its own.")
@click.option("--entrypoint", default="", help="The template to begin with.")
@click.option("-l", "--labels", default="", metavar="A=B,…", help="Labels to add.")
@click.option("--config", metavar="FILE", help="Settings instead of tiphys.yaml.")
@click.option("--runtime", type=_RUNTIMES, help="How tasks run.")
@click.option("--scheduler", type=click.Choice(SCHEDULERS), help="Where tasks run.")
@click.option("-o", "--output", type=_FORMS, help="What to print on stdout at the end.")
@click.option("--log", is_flag=True, help="Show what the tasks write.")
@click.option("-q", "--quiet", is_flag=True, help="Show only problems.")
def command(files: tuple[str, ...], **given: Any) -> int:
    """Run the workflows in FILE… to their end. "-" reads from stdin.

    Templates, config maps and secrets of all files are loaded first. Ctrl-C stops (exit handlers
    still run), a second one terminates, a third one leaves it to the next tiphys. Exits with 0 when
    all succeeded, 1 when one failed, 2 when the input cannot be used, 130 after an interrupt.
    """
    form: str | None = given["output"]
    config = settings(given["config"], namespace=given["namespace"], isolation=given["runtime"])
    options = RunOptions(
        data=data_folder(),
        name=given["name"],
        entrypoint=given["entrypoint"],
        labels=read_labels(given["labels"]) | scheduler_label(given["scheduler"]),
        log=given["log"],
    )
    parameters = read_parameters(given["pairs"], given["parameter_file"])
    texts = read_files(files)

    # Only now: a mistake in the flags is told before more is loaded.
    from tiphys.control.order import read_order  # noqa: PLC0415
    from tiphys.control.submit import RejectedError  # noqa: PLC0415

    try:
        order = read_order(texts, parameters=parameters, config=config, options=options)
    except RejectedError as error:
        if form in {"json", "yaml"}:
            _print_objects(error.workflows, form)
        raise
    # The one that ``__main__`` has loaded: it gets ready while we load the engine.
    give_word(options.data, config.linger_seconds)
    from tiphys.cli.watch import choose_watch  # noqa: PLC0415
    from tiphys.control.leftover import goes, remove_files  # noqa: PLC0415
    from tiphys.control.local import run_order  # noqa: PLC0415

    watch = choose_watch(options, quiet=given["quiet"], data_on_stdout=form is not None)
    try:
        with watch:
            finished = asyncio.run(run_order(order, watch))
    except KeyboardInterrupt:
        return INTERRUPTED
    show(finished, form, watch)
    # Only now: until here their logs may have been read.
    remove_files(options.data, [x.row.uid for x in finished if goes(x.row.labels, x.row.phase)])
    return exit_code(finished)


def exit_code(finished: Sequence[Finished]) -> int:
    """Give 0 when all succeeded, else why not."""
    if any(each.row.shutdown for each in finished):
        return INTERRUPTED
    return 0 if all(each.row.phase == "Succeeded" for each in finished) else FAILED


def show(finished: Sequence[Finished], form: str | None, watch: Watch) -> None:
    """Print the end: a summary for people, the objects for programs."""
    watch.summarize(finished)
    if form == "name":
        sys.stdout.write("".join(f"{each.row.name}\n" for each in finished))
    elif form in {"json", "yaml"}:
        from tiphys.wire.volcano import shown_object  # noqa: PLC0415

        _print_objects([shown_object(each.row, each.nodes) for each in finished], form)
    elif form == "wide":
        from tiphys.cli.get import print_workflow  # noqa: PLC0415

        for each in finished:
            print_workflow(each.row, each.nodes, wide=True)


def _print_objects(values: Sequence[Any], form: str) -> None:
    from tiphys.cli.output import print_objects  # noqa: PLC0415

    print_objects(values, form)
