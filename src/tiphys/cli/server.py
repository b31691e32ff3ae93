"""``tiphys server``: the platform behind one port."""

from __future__ import annotations

import asyncio
import os
from typing import Any

import click

from tiphys.cli.inputs import data_folder, settings


@click.command("server")
@click.option("--config", metavar="FILE", help="Settings instead of tiphys.yaml.")
@click.option(
    "--host",
    default="127.0.0.1",
    envvar="TIPHYS_HOST",
    show_default=True,
    help="The address to listen on. Beyond loopback it needs TIPHYS_ADMIN_TOKEN.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=2746,
    envvar="TIPHYS_PORT",
    show_default=True,
    help="0: any that is free.",
)
@click.option(
    "--allowed-host",
    "allowed_hosts",
    multiple=True,
    metavar="NAME",
    help="A name under which others reach this server (repeatable).",
)
@click.option("--tls-cert", "certificate", default="", metavar="FILE", help="For https.")
@click.option("--tls-key", "key", default="", metavar="FILE", help="For https.")
@click.option(
    "--rate-limit",
    type=click.FloatRange(min=0),
    default=1000.0,
    envvar="TIPHYS_RATE_LIMIT",
    show_default=True,
    help="Requests a second that each token may send; 0: any number.",
)
@click.option(
    "--log-format",
    type=click.Choice(["text", "json"]),
    default="text",
    envvar="TIPHYS_LOG_FORMAT",
    show_default=True,
    help="How the log on stderr is written.",
)
def command(config: str | None, log_format: str, **given: Any) -> int:
    """Run workflows as they come, until told to end; tasks outlive it and are taken up again.

    Serves the HTTP API. TIPHYS_ADMIN_TOKEN (or …_FILE) sets the first admin's token; without it
    one is made, printed once and kept in the data directory.
    """
    from tiphys.api.server import Bind, Front  # noqa: PLC0415
    from tiphys.cli.server_log import open_log  # noqa: PLC0415
    from tiphys.control.server import Quiet, serve  # noqa: PLC0415

    say = open_log(log_format)
    read = settings(config)
    front = Front(Bind(**given), read, os.environ, say)
    asyncio.run(serve(data_folder(), read, Quiet(say), lambda: say("ready"), front))
    return 0
