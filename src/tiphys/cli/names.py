"""Arguments and options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from tiphys.cli.inputs import settings
from tiphys.core.duration import parse_duration
from tiphys.errors import InvalidInputError

F = TypeVar("F", bound=Callable[..., Any])
_UNITS = {"d": 86400.0, "w": 7 * 86400.0}


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


def namespace_of(given: str | None) -> str:
    """Give the namespace to look in: the one given, else the configured one."""
    return given or settings().namespace


def seconds(text: str) -> float:
    """Read ``90s``, ``2h``, ``3d``, ``1w``."""
    unit = _UNITS.get(text[-1:])
    if unit is None:
        return parse_duration(text)
    try:
        return float(text[:-1]) * unit
    except ValueError:
        raise InvalidInputError(f"{text!r} is not a duration such as 30m, 2h or 3d") from None
