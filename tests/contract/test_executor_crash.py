"""An executor killed at any instant: no attempt runs twice, every attempt ends, nothing is left."""

from __future__ import annotations

import asyncio
import os
import random
import signal
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.contract.machine import Machine
from tiphys.executor import protocol
from tiphys.executor.client import ExecutorClient

ATTEMPTS = 60
KILLS = 5


class Driver:
    """Starts attempts, kills the executor now and then, and asks again after each crash."""

    def __init__(self, data: Path, ledger: Path, isolation: str, seed: int) -> None:
        self._data = data
        self._ledger = ledger
        self._isolation = isolation
        self._random = random.Random(seed)
        self.ends: dict[str, protocol.Ended] = {}
        self._attempts = {f"a.{n}": self._attempt(n) for n in range(ATTEMPTS)}
        self._lost = asyncio.Event()
        self._news = asyncio.Event()
        self._client = ExecutorClient(
            data, epoch=1, on_events=self._take, on_lost=self._lost.set, linger=0.3
        )

    def _attempt(self, number: int) -> protocol.Attempt:
        folder = self._data / "attempts" / str(number)
        folder.mkdir(parents=True)
        command = f"echo a.{number} >&9; sleep 0.0{number % 7}; echo done"
        env = {"PATH": os.environ["PATH"], "TIPHYS_ATTEMPT_ID": f"a.{number}"}
        # The ledger is a volume, so that a sandbox can write to it too.
        sandboxed = self._isolation == "sandbox"
        mounts = (protocol.Mount(str(self._ledger.parent), "/mnt"),) if sandboxed else ()
        target = "/mnt/ledger" if sandboxed else str(self._ledger)
        argv = ("sh", "-c", f"exec 9>>{target}; {command}")
        run = protocol.ContainerRun("main", argv, env, mounts=mounts)
        return protocol.Attempt(f"a.{number}", str(folder), (run,), self._isolation)

    def _take(self, events: Sequence[protocol.Event]) -> None:
        for event in events:
            if isinstance(event, protocol.Ended):
                self.ends.setdefault(event.id, event)
            elif isinstance(event, protocol.Unknown):
                self._client.send(protocol.Start((self._attempts[event.id],)))
        self._news.set()

    async def run(self) -> None:
        """Run all attempts to their ends, through the crashes."""
        welcome = await self._client.connect()
        self._client.send(protocol.Start(tuple(self._attempts.values())))
        for _ in range(KILLS):
            await asyncio.sleep(self._random.random() * 0.1)
            os.kill(welcome.pid, signal.SIGKILL)
            await self._lost.wait()
            self._lost.clear()
            welcome = await self._client.connect()
            missing = tuple(name for name in self._attempts if name not in self.ends)
            self._client.send(protocol.Attach(missing))
        async with asyncio.timeout(60):
            while len(self.ends) < ATTEMPTS:
                self._news.clear()
                await self._news.wait()
        self._client.close()


@pytest.mark.parametrize("isolation", ["process", "sandbox"])
@pytest.mark.parametrize("seed", range(2))
def test_no_attempt_runs_twice_and_all_end(tmp_path: Path, isolation: str, seed: int) -> None:
    with Machine(tmp_path / "probe", isolation) as machine:
        if not machine.usable:
            pytest.skip(f"no {isolation} on this machine: {machine.why}")
    ledger = tmp_path / "ledger-folder" / "ledger"
    ledger.parent.mkdir()
    ledger.touch()

    async def drive() -> Driver:
        driver = Driver(tmp_path / "data", ledger, isolation, seed)
        await driver.run()
        return driver

    driver = asyncio.run(drive())

    runs = Counter(ledger.read_text().split())
    assert [name for name, count in runs.items() if count > 1] == []
    assert {end.reason for end in driver.ends.values()} <= {"", "lost"}
    for name, end in driver.ends.items():
        if end.reason == "":
            assert runs[name] == 1
            number = name.partition(".")[2]
            log = tmp_path / "data" / "attempts" / number / "main.stdout"
            assert log.read_text() == "done\n"
        else:
            assert end.containers == ()
