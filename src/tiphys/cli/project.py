"""``tiphys project``: the walls between tenants of a server. A project is a namespace."""

from __future__ import annotations

import sys

import click

from tiphys.cli.failure import visible
from tiphys.cli.names import server_option
from tiphys.cli.text import columns, moment

_FORMS = click.Choice(["json", "yaml", "name"])


@click.group("project")
def command() -> None:
    """Make, list and remove projects of the server."""


@command.command("create")
@click.argument("key", metavar="ID")
@click.option("--name", default="", help="A name for people.")
@click.option("--description", default="", help="What it is for.")
@server_option
def create(key: str, name: str, description: str) -> None:
    """Make a project; admins of all projects only."""
    from tiphys.cli.remote import administered  # noqa: PLC0415
    from tiphys.client import calls  # noqa: PLC0415

    with administered() as client:
        made = client.do(calls.make_project(key, name=name, description=description))
    sys.stdout.write(f"project {made.id} created\n")


@command.command("list")
@server_option
@click.option("-o", "--output", "form", type=_FORMS, help="Another form.")
def list_projects(form: str | None) -> None:
    """List the projects that your token sees."""
    from tiphys.cli.remote import administered  # noqa: PLC0415
    from tiphys.client import calls  # noqa: PLC0415

    with administered() as client:
        found = client.do(calls.list_projects())
    if form == "name":
        sys.stdout.write("".join(f"{each.id}\n" for each in found))
    elif form is not None:
        from tiphys.cli.output import print_object  # noqa: PLC0415

        print_object(found, form)
    else:
        rows = [["ID", "NAME", "CREATED", "BY", "DESCRIPTION"]]
        for each in found:
            created = moment(each.created_at.timestamp()) if each.created_at else "-"
            names = [each.id, visible(each.name), created, visible(each.created_by)]
            rows.append([*names, visible(each.description)])
        sys.stdout.write("".join(f"{line}\n" for line in columns(rows)))


@command.command("delete")
@click.argument("keys", nargs=-1, required=True, metavar="ID…")
@server_option
def delete(keys: tuple[str, ...]) -> None:
    """Remove projects that hold neither workflows nor templates; their tokens go with them."""
    from tiphys.cli.remote import administered  # noqa: PLC0415
    from tiphys.client import calls  # noqa: PLC0415

    with administered() as client:
        for key in keys:
            client.do(calls.delete_project(key))
            sys.stdout.write(f"project {key} deleted\n")
