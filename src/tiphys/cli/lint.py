"""``tiphys lint``: mistakes in files, all at once."""

from __future__ import annotations

import sys

import click

from tiphys.cli.failure import USAGE
from tiphys.cli.inputs import read_files, settings
from tiphys.cli.names import server_option


@click.command("lint")
@click.argument("files", nargs=-1, required=True, metavar="FILE…")
@click.option(
    "-o",
    "--output",
    "form",
    type=click.Choice(["text", "json", "github", "sarif"]),
    default="text",
    help="text, json, github (annotations) or sarif.",
)
@click.option("--strict/--no-strict", default=True, help="Whether unknown fields are errors.")
@click.option("-n", "--namespace", help="The namespace of documents that name none.")
@server_option
def command(files: tuple[str, ...], form: str, strict: bool, namespace: str | None) -> int:
    """Look for mistakes in FILE…; "-" reads stdin, a folder stands for all files below it.

    The files may refer to each other, and flows to JobTemplates that are kept. Exits with 0 when
    nothing is wrong, 2 when something is.
    """
    from tiphys.cli.kept import kept_library  # noqa: PLC0415
    from tiphys.spec.lint import format_problems, has_errors, lint  # noqa: PLC0415

    texts = read_files(files, folders=True)
    if not texts:
        sys.stderr.write("tiphys: there are no YAML or JSON files there\n")
        return USAGE
    own = settings(namespace=namespace).namespace
    problems = lint(texts, strict=strict, library=kept_library(texts, own))
    if problems or form != "text":
        sys.stdout.write(f"{format_problems(problems, form)}\n")
    else:
        sys.stderr.write(f"no mistakes in {len(texts)} file{'s' if len(texts) > 1 else ''}\n")
    return USAGE if has_errors(problems) else 0
