"""Arguments and options that several commands share."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from tiphys.cli.inputs import settings
from tiphys.core.duration import parse_age
from tiphys.errors import InvalidInputError

if TYPE_CHECKING:
    from tiphys.cli.remote import Remote

F = TypeVar("F", bound=Callable[..., Any])
SERVER = "TIPHYS_SERVER"
_UNITS = {"d": 86400.0, "w": 7 * 86400.0}
_LONG = r"\d{1,6}(\.\d{1,6})?[dw]"


def _complete(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    from tiphys.cli.stored import complete_names  # noqa: PLC0415

    return complete_names(incomplete)


def workflow_argument(*, many: bool = False, required: bool = True) -> Callable[[F], F]:
    """Take the name of a workflow, its uid, or ``@latest``."""
    return click.argument(
        "workflows" if many else "workflow",
        nargs=-1 if many else 1,
        required=required,
        shell_complete=_complete,
        metavar="WORKFLOW…" if many else "WORKFLOW",
    )


def namespace_option(command: F) -> F:
    """Take ``-n``."""
    return click.option("-n", "--namespace", help="The workflow's namespace.")(command)


def _chosen(_: click.Context, __: click.Parameter, value: str | None) -> None:
    if value:
        os.environ[SERVER] = value  # A flag wins over the variable, for all that follows.


def server_option(command: F) -> F:
    """Take ``--server``."""
    return click.option(
        "--server",
        metavar="URL",
        expose_value=False,
        callback=_chosen,
        help=f"Ask this server instead of the local one ({SERVER}).",
    )(command)


def elsewhere() -> Remote | None:
    """Give the server elsewhere that was asked for; None where it is the local one."""
    if not os.environ.get(SERVER):
        return None
    from tiphys.cli.remote import connect  # noqa: PLC0415

    return connect(os.environ[SERVER])


def namespace_of(given: str | None) -> str:
    """Give the namespace to look in: the one given, else the configured one.

    A server elsewhere knows the project of the token: "" leaves the choice to it.
    """
    if given or os.environ.get(SERVER):
        return given or ""
    return settings().namespace


def seconds(text: str) -> float:
    """Read ``90s``, ``2h``, ``3d``, ``1d12h``, ``1w``."""
    if re.fullmatch(_LONG, text, re.ASCII):
        return float(text[:-1]) * _UNITS[text[-1]]
    try:
        found = parse_age(text)
    except InvalidInputError:
        found = -1.0
    if found < 0:
        raise InvalidInputError(f"{text[:40]!r} is not a duration such as 30m, 2h or 3d")
    return found
