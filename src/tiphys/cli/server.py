"""``tiphys server``: the platform behind one port.

What can be refused is refused first, and workflows go on first: to load the API takes a second or
more.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tiphys.cli.inputs import data_folder, settings
from tiphys.errors import ConfigError
from tiphys.service.tokens import given_admin_token
from tiphys.store.lock import FolderLock

if TYPE_CHECKING:
    from tiphys.control.host import Host
    from tiphys.control.service import Service
    from tiphys.control.standby import Leader

_STRANGERS = ("KEY_VALUES_MISMATCH", "KEY_TYPE_MISMATCH", "NO_CERTIFICATE_ASSIGNED")
"""What OpenSSL says of a key that is another certificate's; the last, where their kinds differ."""


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
    envvar="TIPHYS_LOG_FORMAT",
    help="How the log on stderr is written (log.format in the settings; text).",
)
def command(config: str | None, log_format: str | None, **given: Any) -> int:
    """Run workflows as they come, until told to end; tasks outlive it and are taken up again.

    Serves the HTTP API. TIPHYS_ADMIN_TOKEN (or …_FILE) sets the first admin's token; without it
    one is made, printed once and kept in the data directory.
    """
    read = settings(config)
    _check_files(given)
    data = data_folder()
    # Of several servers over one PostgreSQL those that find it taken stand by.
    lock = None if read.store.url else FolderLock.take(data)

    from tiphys.cli.server_log import open_log  # noqa: PLC0415
    from tiphys.control.server import Quiet, serve  # noqa: PLC0415

    say = open_log(log_format or read.log.format)

    front = _Front(lambda api: api.Front(api.Bind(**given), read, os.environ, say))
    asyncio.run(serve(data, read, Quiet(say), lambda: say("ready"), front, lock))
    return 0


class _Front:
    """The API, loaded beside the loop when it is wanted for the first time."""

    def __init__(self, make: Callable[[Any], Any]) -> None:
        self._make = make
        self._made: Any = None

    async def _front(self) -> Any:
        if self._made is None:
            api = await asyncio.to_thread(import_module, "tiphys.api.server")
            self._made = self._make(api)
        return self._made

    @asynccontextmanager
    async def __call__(self, host: Host, service: Service) -> AsyncIterator[None]:
        """Serve as the host's."""
        async with (await self._front())(host, service):
            yield

    @asynccontextmanager
    async def follow(self, leader: Leader) -> AsyncIterator[None]:
        """Pass on what comes in to the leader."""
        async with (await self._front()).follow(leader):
            yield


def _check_files(given: Mapping[str, Any]) -> None:
    """Refuse files that cannot be read, before anything is started."""
    given_admin_token(os.environ)
    for option, path in (("--tls-cert", given["certificate"]), ("--tls-key", given["key"])):
        try:
            if path:
                Path(path).open("rb").close()
        except OSError as error:
            raise ConfigError(f"{option} {path}: {error.strerror}") from error
    if given["key"] and not given["certificate"]:
        raise ConfigError("--tls-key is of no use without --tls-cert")
    if given["certificate"]:
        _check_pair(given["certificate"], given["key"])


def _check_pair(certificate: str, key: str) -> None:
    """Refuse a certificate and a key that nothing can be served with."""
    import ssl  # noqa: PLC0415 - most servers have neither

    of_key = f"--tls-key {key}" if key else f"--tls-cert {certificate}"

    def locked() -> str:
        raise ConfigError(f"{of_key}: the key has a pass phrase; `openssl pkey` takes it away")

    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key or None, locked)
    except ssl.SSLError as error:
        reason = error.reason or ""
        if reason in _STRANGERS:
            message = f"{of_key}: the key does not belong to the certificate in {certificate}"
        elif "_TOO_" in reason:
            message = f"--tls-cert {certificate}: {reason.lower().replace('_', ' ')}"
        elif not _holds_certificate(certificate):
            message = f"--tls-cert {certificate}: no certificate in PEM form can be read from it"
        else:
            message = f"{of_key}: no private key in PEM form can be read from it"
            message += "" if key else "; name its file by --tls-key"
        raise ConfigError(message) from error


def _holds_certificate(path: str) -> bool:
    import ssl  # noqa: PLC0415

    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_verify_locations(path)
    except ssl.SSLError:
        return False
    return True
