"""``tiphys token``: bearer tokens of the server; shown once when made, kept as hashes there."""

from __future__ import annotations

import sys
from typing import Any

import click

from tiphys.cli.failure import report, visible
from tiphys.cli.names import seconds, server_option
from tiphys.cli.text import columns, moment, rfc3339_seconds
from tiphys.errors import ConflictError, InvalidInputError, NotFoundError

_FORMS = click.Choice(["json", "yaml", "name"])
_OUTPUT = click.option("-o", "--output", "form", type=_FORMS, help="Another form.")


@click.group("token")
def command() -> None:
    """Make, list and revoke tokens of the server; admins only."""


@command.command("create")
@click.argument("name")
@click.option("--role", type=click.Choice(["viewer", "member", "admin"]), default="viewer")
@click.option("--project", help="The one project that it may see; without it, all.")
@click.option("--expires", metavar="DURATION", help="Such as 12h or 30d; without it, never.")
@server_option
@click.option("-o", "--output", "form", type=click.Choice(["json", "yaml"]), help="Another form.")
def create(
    name: str, role: str, project: str | None, expires: str | None, form: str | None
) -> None:
    """Make a token called NAME. Its secret is printed this one time, alone on stdout."""
    from tiphys.cli.remote import administered  # noqa: PLC0415
    from tiphys.client import calls  # noqa: PLC0415

    age = None if expires is None else _age(expires)
    with administered() as client:
        made = client.do(calls.make_token(name, role, project=project, expires_in=age))
    if form is not None:
        from tiphys.cli.output import print_object  # noqa: PLC0415

        print_object(made, form)
        return
    where = f"of project {project}" if project else "of all projects"
    until = f", until {_end(made)}" if made.expires_at else ""
    sys.stderr.write(f"{made.id}: {role} {where}{until}; this is the only time it is shown\n")
    sys.stdout.write(f"{made.token}\n")


def _age(text: str) -> float:
    """Read for how long a token is to hold: an empty text asks for no eternal one."""
    from tiphys.service.access import LONGEST  # noqa: PLC0415

    found = seconds(text)
    if not 0 < found <= LONGEST:
        days = int(LONGEST / 86400)
        raise InvalidInputError(f"--expires {text}: a token holds for some time, {days}d at most")
    return found


def _end(token: Any) -> str:
    """Write when a token ends; the year tells."""
    return "never" if token.expires_at is None else rfc3339_seconds(token.expires_at.timestamp())


@command.command("list")
@server_option
@_OUTPUT
def list_tokens(form: str | None) -> None:
    """List the tokens that you may manage."""
    from tiphys.cli.remote import administered  # noqa: PLC0415
    from tiphys.client import calls  # noqa: PLC0415

    with administered() as client:
        found = client.do(calls.list_tokens())
    if form == "name":
        sys.stdout.write("".join(f"{each.id}\n" for each in found))
    elif form is not None:
        from tiphys.cli.output import print_object  # noqa: PLC0415

        print_object(found, form)
    else:
        head = ["ID", "NAME", "ROLE", "PROJECT", "CREATED", "BY", "EXPIRES"]
        rows = [head, *(_cells(each) for each in found)]
        sys.stdout.write("".join(f"{line}\n" for line in columns(rows)))


def _cells(token: Any) -> list[str]:
    return [
        token.id,
        visible(token.name),
        token.role,
        token.project_id or "*",
        moment(token.created_at.timestamp()),
        visible(token.created_by),
        _end(token),
    ]


@command.command("revoke")
@click.argument("tokens", nargs=-1, required=True, metavar="ID…")
@server_option
def revoke(tokens: tuple[str, ...]) -> int:
    """Make tokens worthless, at once: streams that they opened end.

    Those that cannot be revoked do not save the others.
    """
    from tiphys.cli.remote import administered  # noqa: PLC0415
    from tiphys.client import calls  # noqa: PLC0415

    code = 0
    with administered() as client:
        for key in dict.fromkeys(tokens):
            try:
                if not key:
                    raise NotFoundError("there is no token ''")
                client.do(calls.delete_token(key))
            except (ConflictError, InvalidInputError, NotFoundError) as error:
                code = max(code, report(error))
            else:
                sys.stdout.write(f"{key} revoked\n")
    return code
