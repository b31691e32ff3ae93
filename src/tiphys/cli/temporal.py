"""``tiphys temporal``: what handing work of Temporal over to Tiphys has changed."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Any

import click

from tiphys.cli.names import server_option
from tiphys.errors import InvalidInputError, TiphysError

if TYPE_CHECKING:
    from temporalio.client import Client as TemporalClient

    from tiphys.temporal.report import Part, TemporalPart
    from tiphys.temporal.span import Span

_FORMS = click.Choice(["table", "json", "yaml"])


class TemporalError(TiphysError):
    """Temporal could not be asked."""

    code = "temporal_unreachable"


@click.group("temporal")
def command() -> None:
    """Compare how workflows of Temporal fared before and after."""


@command.command("report")
@click.option("--before", required=True, metavar="A..B", help="The span to compare with.")
@click.option("--after", required=True, metavar="C..D", help="The span to look at.")
@click.option("--address", metavar="HOST:PORT", help="Of Temporal (TEMPORAL_ADDRESS).")
@click.option("--namespace", help="Of Temporal (TEMPORAL_NAMESPACE).")
@click.option("--query", default="", help="Only workflows of Temporal that this finds.")
@click.option("--most", default=2000, type=click.IntRange(1, 100_000), help="Look at so many.")
@click.option("-o", "--output", "form", type=_FORMS, default="table", help="Another form.")
@server_option
def report(before: str, after: str, form: str, most: int, **where: Any) -> None:
    """Compare two spans of time by Temporal's visibility and by what Tiphys knows of its runs.

    A, B, C and D are dates, instants (2026-11-15T08:00Z), ages (2h, 7d: so long ago) or now.
    """
    from datetime import UTC, datetime  # noqa: PLC0415

    from tiphys.control.host import SystemClock  # noqa: PLC0415
    from tiphys.temporal.span import Span  # noqa: PLC0415

    now = datetime.fromtimestamp(SystemClock().now(), UTC)
    spans = [Span.parse(text, now) for text in (before, after)]
    _print(_parts(spans, most, where), form)


def _parts(spans: list[Span], most: int, where: dict[str, Any]) -> list[Part]:
    try:
        from tiphys.temporal.report import Part, fetch_tiphys  # noqa: PLC0415
    except ImportError as error:
        raise InvalidInputError(
            "this needs Temporal's SDK: pip install 'tiphys[temporal]'"
        ) from error
    from tiphys.cli.remote import administered  # noqa: PLC0415

    asked = asyncio.run(_asked(spans, most, where))
    parts = []
    with administered() as client:
        for span, (found, more) in zip(spans, asked, strict=True):
            tiphys, others = fetch_tiphys(client, span, most=most)
            parts.append(Part(span=span, temporal=found, tiphys=tiphys, truncated=more or others))
    return parts


async def _asked(
    spans: list[Span], most: int, where: dict[str, Any]
) -> list[tuple[TemporalPart, bool]]:
    from temporalio.service import RPCError  # noqa: PLC0415

    from tiphys.temporal.report import fetch_temporal  # noqa: PLC0415

    try:
        client = await _connected(where["address"], where["namespace"])
        return [
            await fetch_temporal(client, span, query=where["query"], most=most) for span in spans
        ]
    except (RPCError, RuntimeError) as error:
        raise TemporalError(f"Temporal: {error}") from error


async def _connected(address: str | None, namespace: str | None) -> TemporalClient:
    """Connect as Temporal's own tools do: by its configuration file and variables."""
    from temporalio.client import Client  # noqa: PLC0415
    from temporalio.envconfig import ClientConfig  # noqa: PLC0415

    known: dict[str, Any] = {**ClientConfig.load_client_connect_config()}
    known.setdefault("target_host", "127.0.0.1:7233")
    given = {"target_host": address, "namespace": namespace}
    return await Client.connect(**known | {key: value for key, value in given.items() if value})


def _print(parts: list[Part], form: str) -> None:
    from tiphys.cli.output import print_object, print_table  # noqa: PLC0415
    from tiphys.temporal.report import table  # noqa: PLC0415

    before, after = parts
    if form == "table":
        print_table(["", "BEFORE", "AFTER", "CHANGE"], table(before, after))
    else:
        print_object({"before": before, "after": after}, form)
    if before.truncated or after.truncated:
        sys.stderr.write("warning: there were more; only the newest were looked at (--most)\n")
