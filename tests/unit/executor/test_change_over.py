"""From one executor to the next: nobody waits for one that leaves, and none disturbs its successor.

``TIPHYS_CHAOS=full`` takes more rounds.
"""

from __future__ import annotations

import asyncio
import os
import random
import select
import shutil
import signal
import socket
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from tiphys.executor import protocol
from tiphys.executor.client import ExecutorClient
from tiphys.executor.place import Place

ROUNDS = 200 if os.environ.get("TIPHYS_CHAOS") == "full" else 15
PATIENCE = 60.0


class Visitor:
    """One server's stay at an executor: connects, runs a task, hangs up."""

    def __init__(self, data: Path, epoch: int, linger: float) -> None:
        self._data, self._epoch = data, epoch
        self._ended = asyncio.Event()
        self.lost = False
        self.client = ExecutorClient(
            data,
            epoch=epoch,
            on_events=self._take,
            on_lost=self._lose,
            linger=linger,
            sandboxes=False,
        )

    def _take(self, events: Sequence[protocol.Event]) -> None:
        if any(isinstance(event, protocol.Ended) for event in events):
            self._ended.set()

    def _lose(self) -> None:
        self.lost = True
        self._ended.set()

    def attempt(self, *argv: str, name: str = "") -> protocol.Attempt:
        """Give an attempt of its own."""
        name = name or f"a.{self._epoch}"
        folder = self._data / "attempts" / name
        folder.mkdir(parents=True)
        env = {"PATH": os.environ["PATH"], "TIPHYS_ATTEMPT_ID": name}
        run = protocol.ContainerRun("main", argv, env)
        return protocol.Attempt(name, str(folder), (run,), "process")

    async def visit(self) -> int:
        """Run a task to its end; give the pid of the executor."""
        welcome = await self.client.connect()
        attempt = self.attempt("true")
        self.client.send(protocol.Start((attempt,)))
        async with asyncio.timeout(PATIENCE):
            await self._ended.wait()
        self.client.send(protocol.Ack((attempt.id,)))
        self.client.close()
        return welcome.pid


async def wait_for_end(pid: int) -> None:
    """Wait until an executor has ended by itself."""
    try:
        process = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        readable, _, _ = await asyncio.to_thread(select.select, [process], [], [], PATIENCE)
        assert readable, f"the executor {pid} does not end"
    finally:
        os.close(process)


def test_who_comes_while_the_executor_leaves_is_served(tmp_path: Path) -> None:
    seed = int.from_bytes(os.urandom(4), "big")
    chance = random.Random(seed)

    async def come_and_go() -> tuple[set[int], float]:
        pids, longest = set(), 0.0
        for epoch in range(1, ROUNDS + 1):
            visitor = Visitor(tmp_path, epoch, linger=0.0)
            begun = time.monotonic()
            pids.add(await visitor.visit())
            longest = max(longest, time.monotonic() - begun)
            assert not visitor.lost, f"seed {seed}, round {epoch}"
            # It leaves within a millisecond or two: to come before, meanwhile and after.
            await asyncio.sleep(chance.choice([0, 0, 0.001, 0.002, 0.005, 0.02]))
        await wait_for_end(max(pids))
        return pids, longest

    pids, longest = asyncio.run(come_and_go())

    print(f"{ROUNDS} visits, {len(pids)} executors, {longest:.2f} s at most")  # noqa: T201
    assert not (tmp_path / "executor" / "socket").exists()


def test_one_whose_data_directory_was_made_anew_leaves_its_successor_alone(tmp_path: Path) -> None:
    data = tmp_path / "data"

    async def change() -> tuple[int, int]:
        data.mkdir()
        former = await Visitor(data, 1, linger=0.5).visit()
        shutil.rmtree(data)
        data.mkdir()
        newer = await Visitor(data, 1, linger=30).visit()
        await wait_for_end(former)
        last = Visitor(data, 2, linger=30)
        assert (data / "executor" / "socket").exists()
        found = await last.visit()
        os.kill(newer, signal.SIGKILL)
        return newer, found

    newer, found = asyncio.run(change())

    assert found == newer


def _greet(data: Path, version: int) -> protocol.Reply:
    with socket.socket(socket.AF_UNIX) as sock:
        sock.connect(Place(data).address())
        sock.sendall(protocol.frame(protocol.Hello(version, 99)))
        frames = protocol.Frames()
        while received := sock.recv(65536):
            for body in frames.feed(received):
                reply: protocol.Reply = protocol.reply_decoder().decode(body)
                return reply
    raise AssertionError("no answer")


def test_an_idle_one_makes_room_for_another_version(tmp_path: Path) -> None:
    async def meet() -> protocol.Reply:
        pid = await Visitor(tmp_path, 1, linger=30).visit()
        answer = await asyncio.to_thread(_greet, tmp_path, protocol.VERSION + 1)
        await wait_for_end(pid)
        return answer

    answer = asyncio.run(meet())

    assert isinstance(answer, protocol.Refused)
    assert answer.leaves


def test_one_whose_server_hangs_on_makes_room_for_another_version(tmp_path: Path) -> None:
    async def meet() -> protocol.Reply:
        visitor = Visitor(tmp_path, 1, linger=30)
        welcome = await visitor.client.connect()
        answer = await asyncio.to_thread(_greet, tmp_path, protocol.VERSION + 1)
        await wait_for_end(welcome.pid)
        await _until(lambda: visitor.lost)
        return answer

    answer = asyncio.run(meet())

    assert isinstance(answer, protocol.Refused)
    assert answer.leaves


def test_a_stale_one_of_another_version_ends_nothing(tmp_path: Path) -> None:
    async def meet() -> tuple[protocol.Reply, int, int]:
        visitor = Visitor(tmp_path, 100, linger=0)
        welcome = await visitor.client.connect()
        answer = await asyncio.to_thread(_greet, tmp_path, protocol.VERSION + 1)
        again = Visitor(tmp_path, 101, linger=0)
        found = await again.visit()
        await wait_for_end(found)
        return answer, welcome.pid, found

    answer, pid, found = asyncio.run(meet())

    assert isinstance(answer, protocol.Refused)
    assert not answer.leaves
    assert "stale epoch 99" in answer.reason
    assert found == pid


def test_one_with_tasks_refuses_another_version_and_stays(tmp_path: Path) -> None:
    async def meet() -> protocol.Reply:
        visitor = Visitor(tmp_path, 1, linger=0)
        welcome = await visitor.client.connect()
        attempt = visitor.attempt("sleep", "600")
        visitor.client.send(protocol.Start((attempt,)))
        visitor.client.close()
        answer = await asyncio.to_thread(_greet, tmp_path, protocol.VERSION + 1)
        second = Visitor(tmp_path, 2, linger=0)
        found = await second.client.connect()
        second.client.send(protocol.Stop((attempt.id,), 0.0))
        second.client.close()
        await wait_for_end(welcome.pid)
        assert found.pid == welcome.pid
        return answer

    answer = asyncio.run(meet())

    assert isinstance(answer, protocol.Refused)
    assert not answer.leaves
    assert "still runs 1 task" in answer.reason


def test_what_is_stopped_before_it_begins_ends_once_and_is_forgotten(tmp_path: Path) -> None:
    async def start_and_stop() -> tuple[list[protocol.Ended], list[protocol.Event]]:
        events: list[protocol.Event] = []
        visitor = Visitor(tmp_path, 1, linger=0.2)
        visitor.client.on_events = events.extend
        welcome = await visitor.client.connect()
        attempt = visitor.attempt("sleep", "600")
        visitor.client.send(protocol.Start((attempt,)))
        visitor.client.send(protocol.Stop((attempt.id,), 0.0))
        await _until(lambda: any(isinstance(event, protocol.Ended) for event in events))
        ends = [event for event in events if isinstance(event, protocol.Ended)]
        visitor.client.send(protocol.Ack((attempt.id,)))
        other = visitor.attempt("true", name="other")
        visitor.client.send(protocol.Start((other,)))
        await _until(lambda: any(e.id == "other" for e in events if isinstance(e, protocol.Ended)))
        events.clear()
        visitor.client.send(protocol.Attach((attempt.id,)))
        await _until(lambda: bool(events))
        visitor.client.close()
        await wait_for_end(welcome.pid)
        return ends, events

    ends, events = asyncio.run(start_and_stop())

    assert [end.reason for end in ends] == ["stopped"]
    assert events == [protocol.Unknown("a.1")]


async def _until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not true():  # noqa: ASYNC110 - events come by a plain call
            await asyncio.sleep(0.005)
