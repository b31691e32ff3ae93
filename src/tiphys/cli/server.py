"""``tiphys server``: the platform behind one port."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
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
def command(config: str | None, **given: Any) -> int:
    """Run workflows as they come, until told to end; tasks outlive it and are taken up again.

    Serves the HTTP API. TIPHYS_ADMIN_TOKEN (or …_FILE) sets the first admin's token; without it
    one is made, printed once and kept in the data directory.
    """
    from tiphys.api.server import Bind, Front  # noqa: PLC0415
    from tiphys.control.server import Quiet, serve  # noqa: PLC0415

    logging.basicConfig(
        stream=sys.stderr, level=logging.WARNING, format="tiphys server: %(levelname)s %(message)s"
    )
    read = settings(config)
    front = Front(Bind(**given), read, os.environ, _say)
    asyncio.run(serve(data_folder(), read, Quiet(_say), lambda: _say("ready"), front))
    return 0


def _say(text: str) -> None:
    sys.stderr.write(f"tiphys server: {text}\n")
    sys.stderr.flush()
