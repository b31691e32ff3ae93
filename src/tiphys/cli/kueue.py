"""``tiphys kueue``: workflows of a cluster that Kueue admits."""

from __future__ import annotations

import asyncio
import base64
import os
import secrets
import signal
import socket
import ssl
import subprocess
import tempfile
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tiphys.errors import ClusterError, InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tiphys.kube.client import Client
    from tiphys.kueue.controller import KueueController

WEBHOOK = "argo.kueue.tiphys.dev"
"""Stands before Kueue's own configurations in the alphabet, and so is asked first."""


@click.group("kueue")
def command() -> None:
    """Have Kueue admit whole workflows, layers or pods."""


@command.command("controller")
@click.option("--kubeconfig", default="", help="The kubeconfig; else as kubectl finds it.")
@click.option("--context", default="", help="Its context.")
@click.option("--namespace", default="", help="Look after one namespace only.")
@click.option("--listen", default="0.0.0.0:9443", show_default=True, help="The webhook's address.")
@click.option("--cert", type=click.Path(exists=True, dir_okay=False), help="Its certificate.")
@click.option("--key", type=click.Path(exists=True, dir_okay=False), help="The certificate's key.")
@click.option("--url", default="", help="Have the API server call the webhook at this address.")
@click.option("--service", default="", metavar="NAMESPACE/NAME", help="… or at this service.")
@click.option("-v", "--verbose", is_flag=True, help="Tell of every action.")
def controller(**given: Any) -> None:
    """Gate pods of labelled workflows until Kueue admits their group.

    Without a certificate it makes one. With --url or --service it tells the API server of its
    webhook; without them a MutatingWebhookConfiguration must be there already.
    """
    host, _, port = given["listen"].rpartition(":")
    if not port.isdigit():
        raise click.UsageError(f"--listen {given['listen']!r} is not ADDRESS:PORT")
    with tempfile.TemporaryDirectory() as folder:
        cert, key = given["cert"], given["key"]
        if not (cert and key):
            cert, key = _make_certificate(Path(folder), given["url"], given["service"])
        with suppress(KeyboardInterrupt):
            asyncio.run(_run(given, (host or "0.0.0.0", int(port)), cert, key))


async def _run(given: dict[str, Any], address: tuple[str, int], cert: str, key: str) -> None:
    from tiphys.kube.access import find_access  # noqa: PLC0415
    from tiphys.kube.client import Client  # noqa: PLC0415
    from tiphys.kueue.leader import Leadership  # noqa: PLC0415

    kubeconfig, context = given["kubeconfig"], given["context"]
    client = Client(find_access(os.environ, kubeconfig=kubeconfig, context=context))
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(cert, key)
    authority = await asyncio.to_thread(Path(cert).read_bytes)
    identity = f"{socket.gethostname()}-{secrets.token_hex(4)}"
    leadership = Leadership(client, (_home(given), "tiphys-kueue"), identity, _clock)
    try:
        click.echo("standing by")
        work = partial(_lead, client, given, address, (tls, authority))
        task = asyncio.ensure_future(leadership.during(work))
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        with suppress(asyncio.CancelledError):
            await task
    finally:
        await leadership.leave()
        await client.close()


def _clock() -> float:
    return time.time()  # noqa: TID251 - the clock of the program


def _home(given: dict[str, Any]) -> str:
    """Give the namespace in which controllers agree on who leads."""
    return given["namespace"] or given["service"].rpartition("/")[0] or "default"


async def _lead(
    client: Client,
    given: dict[str, Any],
    address: tuple[str, int],
    tls: tuple[ssl.SSLContext, bytes],
) -> None:
    """Serve the webhook and look after the workflows of each engine."""
    from tiphys.kueue.argo import ArgoEngine  # noqa: PLC0415
    from tiphys.kueue.controller import KueueController, Voice  # noqa: PLC0415
    from tiphys.kueue.tiphys import TiphysEngine  # noqa: PLC0415
    from tiphys.kueue.webhook import WebhookServer  # noqa: PLC0415

    voice = Voice(click.echo, click.echo if given["verbose"] else lambda _: None)
    both = [
        KueueController(client, engine, _clock, voice, given["namespace"])
        for engine in (ArgoEngine(), TiphysEngine())
    ]
    server = WebhookServer(both[0].lookup, tls[0])
    try:
        port = await server.open(*address)
        click.echo(f"webhook on port {port}")
        await _install(client, given, port, tls[1])
        await _run_all(both)
    finally:
        await server.close()


async def _run_all(controllers: Sequence[KueueController]) -> None:
    """Look after the workflows of each engine; ready when all are."""
    async with asyncio.TaskGroup() as group:
        for each in controllers:
            group.create_task(each.run())
        for each in controllers:
            await each.is_ready.wait()
        click.echo("ready")


async def _install(client: Client, given: dict[str, Any], port: int, authority: bytes) -> None:
    from tiphys.kueue.webhook import configuration  # noqa: PLC0415

    bundle = base64.b64encode(authority).decode()
    if given["url"]:
        there: dict[str, Any] = {"url": given["url"].replace(":0/", f":{port}/")}
    elif given["service"]:
        namespace, _, name = given["service"].rpartition("/")
        there = {"service": {"namespace": namespace, "name": name, "path": "/", "port": 443}}
    else:
        return
    thing = configuration(WEBHOOK, {**there, "caBundle": bundle})
    if given["namespace"]:
        only = {"kubernetes.io/metadata.name": given["namespace"]}
        thing["webhooks"][0]["namespaceSelector"] = {"matchLabels": only}
        thing["metadata"]["name"] = f"{WEBHOOK}.{given['namespace']}"
    collection = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
    await client.apply(f"{collection}/{thing['metadata']['name']}", thing)


def _make_certificate(folder: Path, url: str, service: str) -> tuple[str, str]:
    """Make a certificate of our own for the name that the API server will use."""
    from urllib.parse import urlsplit  # noqa: PLC0415

    namespace, _, name = service.rpartition("/")
    host = urlsplit(url).hostname if url else f"{name}.{namespace}.svc" if service else "localhost"
    kind = "IP" if (host or "").replace(".", "").isdigit() else "DNS"
    cert, key = str(folder / "tls.crt"), str(folder / "tls.key")
    words = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "3650", "-subj"]
    words += ["/CN=tiphys-kueue", "-addext", f"subjectAltName={kind}:{host}"]
    try:
        subprocess.run(
            ["openssl", *words, "-keyout", key, "-out", cert], check=True, capture_output=True
        )
    except (OSError, subprocess.CalledProcessError) as error:
        raise ClusterError(f"no certificate ({error}): give --cert and --key") from error
    return cert, key


@command.command("inject")
@click.argument("file", type=click.File("r", encoding="utf-8"))
@click.option("-o", "--output", type=click.File("w", encoding="utf-8"), default="-")
def inject(file: Any, output: Any) -> None:
    """Rewrite a workflow so that it pauses before each layer, for `tiphys kueue controller`."""
    from tiphys.kueue.inject import inject_text  # noqa: PLC0415

    try:
        output.write(inject_text(file.read()))
    except ValueError as error:
        raise InvalidInputError(str(error)) from error
