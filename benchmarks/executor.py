"""How many attempts a second one executor starts and ends: ``python benchmarks/executor.py``.

Runs /bin/true N times, 8 at once, in each isolation, through the real socket and journal.
"""

from __future__ import annotations

import argparse
import asyncio
import resource
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tiphys.executor import protocol
from tiphys.executor.client import ExecutorClient


async def measure(data: Path, isolation: str, total: int, width: int) -> None:
    """Run ``total`` attempts and print the rate."""
    finished = asyncio.Event()
    ended = 0
    waiting = iter(range(total))

    def launch(count: int) -> None:
        batch = [attempt(number) for _, number in zip(range(count), waiting, strict=False)]
        if batch:
            client.send(protocol.Start(tuple(batch)))

    def attempt(number: int) -> protocol.Attempt:
        folder = data / "attempts" / isolation / str(number)
        folder.mkdir(parents=True)
        if isolation == "process":
            (folder / "work").mkdir()
        env = {"PATH": "/usr/bin:/bin", "TIPHYS_ATTEMPT_ID": f"{isolation}.{number}"}
        run = protocol.ContainerRun("main", ("/bin/true",), env)
        return protocol.Attempt(f"{isolation}.{number}", str(folder), (run,), isolation)

    def take(events: Sequence[protocol.Event]) -> None:
        nonlocal ended
        ids = [event.id for event in events if isinstance(event, protocol.Ended)]
        for event in events:
            if isinstance(event, protocol.Ended) and event.containers[0].code != 0:
                print(event)
        ended += len(ids)
        client.send(protocol.Ack(tuple(ids)))
        launch(len(ids))
        if ended == total:
            finished.set()

    client = ExecutorClient(data, epoch=1, on_events=take, on_lost=lambda: None, linger=0.5)
    begin = time.perf_counter()
    welcome = await client.connect()
    connected = time.perf_counter()
    launch(width)
    await finished.wait()
    seconds = time.perf_counter() - connected
    cpu = cpu_seconds(welcome.pid)
    print(
        f"{isolation}: {total / seconds:.0f}/s, executor {cpu / total * 1000:.2f} ms CPU each, "
        f"rss {rss(welcome.pid)} MiB, ready after {(connected - begin) * 1000:.0f} ms"
    )
    client.close()


def cpu_seconds(pid: int) -> float:
    """Return the CPU time of the executor itself."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / resource.getpagesize() * 4096 / 100


def rss(pid: int) -> int:
    """Return the resident size in MiB."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096 >> 20


def main() -> None:
    """Measure both ways."""
    parser = argparse.ArgumentParser()
    parser.add_argument("-n", type=int, default=1000)
    parser.add_argument("-w", type=int, default=8)
    parser.add_argument("isolation", nargs="*", default=["process", "sandbox"])
    options = parser.parse_args()
    for isolation in options.isolation:
        with tempfile.TemporaryDirectory(dir=Path.cwd(), ignore_cleanup_errors=True) as folder:
            asyncio.run(measure(Path(folder), isolation, options.n, options.w))
            time.sleep(0.7)


if __name__ == "__main__":
    main()
