"""What goes into a stream's pipe comes out in its log file."""

from __future__ import annotations

import fcntl
import os
import select
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread

import pytest

from tiphys.executor import relay as relays
from tiphys.executor.relay import Relay
from tiphys.executor.stream import MARK, MOST, Stream

CAP = 1 << 20


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "main.stdout"


@pytest.fixture
def stream(log: Path) -> Iterator[Stream]:
    stream = Stream(str(log), CAP)
    yield stream
    stream.close()


def descriptor_of(path: Path) -> int:
    """Return the descriptor under which this process has a file open."""
    for name in os.listdir("/proc/self/fd"):
        try:
            if os.readlink(f"/proc/self/fd/{name}") == str(path):
                return int(name)
        except OSError:
            continue
    raise AssertionError(f"{path} is not open")


def test_a_stream_makes_no_file_before_its_first_byte(stream: Stream, log: Path) -> None:
    assert stream.is_silent()
    assert not log.exists()


def test_bytes_wait_in_the_pipe_until_they_are_drained(stream: Stream, log: Path) -> None:
    os.write(stream.writer, b"one\n")

    assert not stream.is_silent()
    assert stream.drain() == 4
    assert log.read_bytes() == b"one\n"
    assert stream.drain() == 0


def test_a_stream_goes_on_behind_what_its_log_holds(log: Path) -> None:
    log.write_bytes(b"before\n")
    stream = Stream(str(log), CAP)
    os.write(stream.writer, b"after\n")

    stream.finish()

    assert log.read_bytes() == b"before\nafter\n"


def test_finishing_takes_what_is_left_and_closes(stream: Stream, log: Path) -> None:
    os.write(stream.writer, b"rest")
    reader = stream.reader

    stream.finish()
    stream.finish()

    assert log.read_bytes() == b"rest"
    assert (stream.reader, stream.drain()) == (-1, 0)
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(reader)


def test_a_file_that_cannot_be_spliced_into_is_written_to(stream: Stream, log: Path) -> None:
    os.write(stream.writer, b"spliced\n")
    stream.drain()
    # Into a file in append mode the kernel does not splice.
    fcntl.fcntl(descriptor_of(log), fcntl.F_SETFL, os.O_APPEND)

    os.write(stream.writer, b"copied\n")
    assert stream.drain() == 7
    os.write(stream.writer, b"and again\n")
    stream.finish()

    assert log.read_bytes() == b"spliced\ncopied\nand again\n"


def test_the_folder_is_made_for_the_first_byte(tmp_path: Path) -> None:
    stream = Stream(str(tmp_path / "later" / "main.stdout"), CAP)

    os.write(stream.writer, b"text")

    assert not (tmp_path / "later").exists()
    assert stream.drain() == 4
    assert (tmp_path / "later" / "main.stdout").read_bytes() == b"text"


def test_a_task_whose_folder_cannot_be_made_goes_on_without_a_log(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    stream = Stream(str(tmp_path / "file" / "main.stdout"), CAP)
    os.write(stream.writer, b"text")

    stream.drain()

    assert stream.drain() == 4
    stream.finish()


def test_growth_is_marked_and_the_start_past_the_cap_is_freed(stream: Stream, log: Path) -> None:
    for _ in range(40):
        os.write(stream.writer, b"x" * 65536)
        assert stream.drain() <= MOST
    stream.look()

    (size, _), *more = MARK.iter_unpack(Path(f"{log}.marks").read_bytes())
    assert (size, more) == (40 * 65536, [])
    assert log.stat().st_size == 40 * 65536
    assert log.stat().st_blocks * 512 <= CAP + 8192


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tiphys-test", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("only root can mount a small file system")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_finishing_on_a_full_disk_fails_and_may_be_tried_again(small_disk: Path) -> None:
    filler, log = small_disk / "filler", small_disk / "main.stdout"
    filler.write_bytes(bytes(64 * 1024))
    stream = Stream(str(log), CAP)
    os.write(stream.writer, b"text")

    for _ in range(2):
        with pytest.raises(OSError, match="No space left"):
            stream.finish()
    filler.unlink()
    stream.finish()

    assert log.read_bytes() == b"text"


def test_a_stream_that_is_closed_removes_nothing(log: Path) -> None:
    log.write_bytes(b"")
    stream = Stream(str(log), CAP)

    stream.close()

    assert log.exists()


def test_where_there_is_no_room_for_a_thread_whoever_comes_moves_a_part_itself(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    relay, stream = Relay(), Stream(str(log), CAP)
    relay.add(stream)

    def refuse(name: str, work: Callable[[], None]) -> Thread:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as context:
        context.setattr(relays, "start_thread", refuse)
        os.write(stream.writer, b"first\n")
        assert select.select([relay.descriptor], [], [], 10)[0]
        assert not relay.begin()
    assert log.read_bytes() == b"first\n"
    os.write(stream.writer, b"second\n")
    assert relay.begin()
    relay.remove(stream)
    stream.finish()

    assert log.read_bytes() == b"first\nsecond\n"


def test_a_full_disk_makes_the_writer_wait_and_loses_nothing(small_disk: Path) -> None:
    filler, log = small_disk / "filler", small_disk / "main.stdout"
    filler.write_bytes(bytes(48 * 1024))
    relay, stream = Relay(), Stream(str(log), CAP)
    relay.add(stream)
    assert relay.begin()
    text = b"".join(b"%06d\n" % number for number in range(8000))

    os.write(stream.writer, text)
    while not stream.stuck:
        os.sched_yield()
    filler.unlink()
    relay.resume(stream)
    relay.remove(stream)
    stream.finish()

    assert log.read_bytes() == text
