"""``tiphys simulate``: how a queue plan would fare, on a virtual clock."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tiphys.cli.inputs import data_folder, read_files, read_parameters, settings
from tiphys.core.duration import parse_duration_or_seconds
from tiphys.errors import NotFoundError

if TYPE_CHECKING:
    from tiphys.scheduling import QueueTree, Resources
    from tiphys.scheduling.estimate import History


@click.command("simulate")
@click.argument("files", nargs=-1, metavar="[FILE…]")
@click.option("--capacity", metavar="cpu=16,memory=64Gi", help="The machine; else this one.")
@click.option("--queues", metavar="FILE", help="The queue plan; else the queues in force here.")
@click.option("--compare", metavar="FILE", help="A second queue plan, to put beside the first.")
@click.option(
    "--trace",
    "traces",
    multiple=True,
    metavar="FILE[,queue=Q][,at=10m]",
    help="A recorded execution to run besides; may be repeated.",
)
@click.option(
    "-p", "--parameter", "pairs", multiple=True, metavar="NAME=VALUE", help="A parameter."
)
@click.option("-f", "--parameter-file", metavar="FILE", help="YAML or JSON with parameters.")
@click.option(
    "--default-duration",
    default="1m",
    metavar="DURATION",
    help="Expected of a template that never ran here.",
)
@click.option(
    "-o",
    "--output",
    "form",
    type=click.Choice(["text", "json", "svg"]),
    default="text",
    help="text, json, or svg (a picture).",
)
def command(files: tuple[str, ...], traces: tuple[str, ...], form: str, **given: Any) -> None:
    """Play the workflows of FILE…, and traces, on an imagined machine, in no time.

    The real engine and the real scheduler decide; tasks only seem to run. They last as long as
    those of their template did here before. Prints when all would be done, how long work would
    wait in each queue, how well the machine would be used, which service levels would be missed,
    and a Gantt chart.
    """
    from tiphys.cli.kept import kept_library  # noqa: PLC0415
    from tiphys.simulate.command import (  # noqa: PLC0415
        Load,
        parse_trace,
        side_by_side,
        simulate,
    )

    if not files and not traces:
        raise click.UsageError("give workflow files, or recorded executions with --trace")
    default_seconds = parse_duration_or_seconds(given["default_duration"])
    if default_seconds < 0:
        raise click.UsageError("--default-duration cannot be less than nothing")
    capacity = _capacity(given["capacity"])
    plans = [_plan(given["queues"], capacity)]
    if given["compare"]:
        plans.append(_plan(given["compare"], capacity))
    texts = read_files(files)
    load = Load(
        files=texts,
        library=kept_library(texts, settings().namespace),
        traces=[parse_trace(text) for text in traces],
        parameters=read_parameters(given["pairs"], given["parameter_file"]),
        history=_history(),
        default_seconds=default_seconds,
    )
    results = [(name, simulate(capacity, load, tree)) for name, tree in plans]
    width = max(20, min(120, shutil.get_terminal_size().columns) - 30)
    sys.stdout.write(side_by_side(results, form, width=width).rstrip("\n") + "\n")


def _capacity(text: str | None) -> Resources:
    from tiphys.control.host import machine_capacity  # noqa: PLC0415
    from tiphys.simulate.command import parse_capacity  # noqa: PLC0415

    return parse_capacity(text) if text else machine_capacity(settings())


def _plan(file: str | None, capacity: Resources) -> tuple[str, QueueTree]:
    """Give a plan's name and its queues, fitted to the machine; warn where they had to shrink."""
    from tiphys.simulate.command import load_queues  # noqa: PLC0415

    if file is None:
        name, (tree, warning) = "in force", _in_force(capacity)
    else:
        name, (tree, warning) = Path(file).stem, load_queues(Path(file), capacity)
    if warning:
        sys.stderr.write(f"warning: {name}: {warning}\n")
    return name, tree


def _in_force(capacity: Resources) -> tuple[QueueTree, str]:
    from tiphys.control.queues import queues_in_force  # noqa: PLC0415

    read = settings()
    return queues_in_force(data_folder(), read.queue_list(), capacity, read.store.url)


def _history() -> History:
    """What is known of durations here; nothing where nothing ever ran."""
    from tiphys.cli.stored import open_store  # noqa: PLC0415
    from tiphys.control.planning import remembered  # noqa: PLC0415
    from tiphys.scheduling.estimate import KIND  # noqa: PLC0415

    try:
        with open_store() as store:
            return remembered(store.objects(KIND)).history
    except NotFoundError:
        return remembered(()).history
