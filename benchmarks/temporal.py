"""Measures activities through one worker: 200 at once, none lost, none doubled.

    python benchmarks/temporal.py [NUMBER]

A real Temporal, a real Tiphys and one worker, each a process of its own. Each activity is a job of
one shell command that notes its start in a file. Measured is the time from the start of all to the
end of the last, beside that of the same work submitted to Tiphys directly; the difference is what
Temporal, the worker and the way between them cost.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from temporalio.client import Client
from tests.contract.api_server import ADMIN, ApiServer
from tests.integration.temporal.dev_server import MissingError, dev_server
from tests.integration.temporal.flows import How, RunJob
from tests.integration.temporal.rig import Rig, job

from tiphys.client import AsyncClient, calls
from tiphys.temporal.manifest import job_text

NUMBER = 200
HOW = How(attempts=3, heartbeat_seconds=120)


def main() -> int:
    """Run it; give 1 where a run was lost or doubled."""
    number = int(sys.argv[1]) if len(sys.argv) > 1 else NUMBER
    with tempfile.TemporaryDirectory(prefix="tiphys-bench-") as name:
        folder = Path(name)
        (folder / "tiphys").mkdir()
        try:
            with dev_server(folder) as address, ApiServer(folder / "tiphys") as server:
                return _measure(Rig(address, server, folder), number)
        except MissingError as error:
            _say(f"skipped: {error}")
            return 0


def _measure(rig: Rig, number: int) -> int:
    direct = asyncio.run(_directly(rig, number))
    worker = rig.worker(MOST=str(number))
    try:
        worker.wait_ready()
        before = _cpu(worker.process.pid)
        took = asyncio.run(_through_temporal(rig, number))
        cpu = _cpu(worker.process.pid) - before
    finally:
        worker.end()
    starts = Counter(_ledger(rig).read_text().split())
    wanted = {f"{kind}-{n}" for kind in ("direct", "temporal") for n in range(number)}
    lost = wanted - starts.keys()
    doubled = [key for key, count in starts.items() if count > 1]
    _say(
        f"{number} jobs directly:           {direct:6.1f} s, {1000 * direct / number:6.1f} ms each"
    )
    _say(f"{number} activities, one worker:  {took:6.1f} s, {1000 * took / number:6.1f} ms each")
    _say(f"overhead per activity:         {1000 * (took - direct) / number:6.1f} ms")
    _say(f"the worker's CPU per activity: {1000 * cpu / number:6.1f} ms")
    _say(f"lost {len(lost)}, doubled {len(doubled)}")
    return 1 if lost or doubled else 0


def _cpu(pid: int) -> float:
    """Give the seconds of CPU that a process has used: the same on a busy machine."""
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def _ledger(rig: Rig) -> Path:
    return rig.folder / "ledger"


def _script(rig: Rig, name: str) -> str:
    return f"echo {name} >> {_ledger(rig)}"


async def _directly(rig: Rig, number: int) -> float:
    """Submit the same jobs without Temporal, and watch them to their ends."""
    client = AsyncClient(f"http://127.0.0.1:{rig.server.port}", ADMIN)
    begun = time.monotonic()

    async def one(n: int) -> None:
        text = job_text(job(_script(rig, f"direct-{n}")))
        made = await client.do(calls.submit("bench", "default", text, generate_name=True))
        async for _ in client.watch(made.id):
            pass

    await asyncio.gather(*(one(n) for n in range(number)))
    return time.monotonic() - begun


async def _through_temporal(rig: Rig, number: int) -> float:
    client: Client = await rig.connect()
    begun = time.monotonic()

    async def one(n: int) -> None:
        given = job(_script(rig, f"temporal-{n}"))
        result = await (await rig.start(client, RunJob.run, given, HOW)).result()
        assert result.phase == "Succeeded", result

    await asyncio.gather(*(one(n) for n in range(number)))
    return time.monotonic() - begun


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    raise SystemExit(main())
