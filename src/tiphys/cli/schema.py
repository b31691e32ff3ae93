"""``tiphys schema``: the JSON schema of workflow files, for editors."""

from __future__ import annotations

import click

from tiphys.cli.output import print_object


@click.command("schema")
def command() -> None:
    """Print a strict JSON schema of all documents that Tiphys reads.

    For the YAML language server: save it and put "# yaml-language-server: $schema=FILE" on top of
    a workflow file.
    """
    from tiphys.spec.schema import json_schema  # noqa: PLC0415

    print_object(json_schema(), "json")
