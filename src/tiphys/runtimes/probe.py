"""Asks services of this machine whether they are there, again and again until they are.

For the probes of JobFlows. The addresses are those that the engine gave to a Job's own pods, so no
rule about foreign addresses applies; answers are not read beyond their first line.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

PERIOD = 1.0
"""Seconds between two rounds of questions."""
PATIENCE = 5.0
"""Seconds that one answer may take."""
_MOST_LINE = 1024


async def wait_until_ready(questions: Mapping[str, Any]) -> None:
    """Return once all of the services answered in one round."""
    while not await _all_answer(questions):  # noqa: ASYNC110 - nobody here could set an event
        await asyncio.sleep(PERIOD)


async def _all_answer(questions: Mapping[str, Any]) -> bool:
    asked = [_answers_http(each) for each in questions.get("http", ())]
    asked += [_accepts(each) for each in questions.get("tcp", ())]
    return all(await asyncio.gather(*asked))


async def _accepts(service: Mapping[str, Any]) -> bool:
    """Whether a port takes connections."""
    try:
        async with asyncio.timeout(PATIENCE):
            _, writer = await asyncio.open_connection(service["host"], service["port"])
    except (OSError, TimeoutError):
        return False
    writer.close()
    return True


async def _answers_http(service: Mapping[str, Any]) -> bool:
    """Whether a request is answered with a status from 200 to 399, as a kubelet sees it."""
    try:
        async with asyncio.timeout(PATIENCE):
            return await _ask(service)
    except (OSError, TimeoutError, ValueError, asyncio.IncompleteReadError):
        return False


async def _ask(service: Mapping[str, Any]) -> bool:
    reader, writer = await asyncio.open_connection(
        service["host"], service["port"], limit=_MOST_LINE
    )
    try:
        writer.write(_request(service))
        await writer.drain()
        line = await reader.readline()
        words = line.split()
        return len(words) > 1 and words[1].isdigit() and 200 <= int(words[1]) < 400
    finally:
        writer.close()


def _request(service: Mapping[str, Any]) -> bytes:
    headers = {"Host": f"{service['host']}:{service['port']}", "Connection": "close"}
    headers |= {str(key): str(value) for key, value in service.get("headers", {}).items()}
    lines = [f"GET {_plain(service['path'])} HTTP/1.1"]
    lines += [f"{_plain(key)}: {_plain(value)}" for key, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def _plain(text: str) -> str:
    """A line break in a header would begin another."""
    return str(text).replace("\r", "").replace("\n", "")
