"""Working directories are used again only if they are as they were."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from tiphys.executor.place import LEFT
from tiphys.executor.rooms import Rooms, progress_of, work_of


@pytest.fixture
def rooms(tmp_path: Path) -> Rooms:
    return Rooms(tmp_path / "rooms")


def test_a_room_that_was_left_empty_serves_the_next_attempt(rooms: Rooms, tmp_path: Path) -> None:
    room = rooms.take()
    rooms.give_back(room, str(tmp_path / "first"))

    assert rooms.take() == room
    assert not (tmp_path / "first").exists()


def test_no_two_attempts_share_a_room(rooms: Rooms) -> None:
    assert len({rooms.take() for _ in range(5)}) == 5


@pytest.mark.parametrize("path", [work_of, progress_of], ids=["work", "progress"])
@pytest.mark.parametrize("uses", [0, 3])
def test_what_a_task_leaves_goes_to_its_own_folder(
    rooms: Rooms, tmp_path: Path, path: object, uses: int
) -> None:
    for _ in range(uses):
        rooms.give_back(rooms.take(), str(tmp_path / "earlier"))
    room = rooms.take()
    target = Path(work_of(room), "file") if path is work_of else Path(progress_of(room))
    target.write_text("mine")

    rooms.give_back(room, str(tmp_path / "first"))

    assert list((tmp_path / "first" / LEFT).rglob(target.name))
    other = rooms.take()
    assert os.listdir(work_of(other)) == []
    assert not os.path.exists(progress_of(other))


def test_nothing_done_to_a_room_known_as_empty_goes_unseen(rooms: Rooms, tmp_path: Path) -> None:
    room = rooms.take()
    time.sleep(0.15)  # Until its times can tell.
    rooms.give_back(room, str(tmp_path / "first"))
    assert rooms.take() == room
    before = os.stat(work_of(room))
    file = Path(work_of(room), "file")
    file.touch()
    os.utime(work_of(room), ns=(before.st_atime_ns, before.st_mtime_ns))

    rooms.give_back(room, str(tmp_path / "second"))

    assert (tmp_path / "second" / LEFT / "work" / "file").exists()
    assert rooms.take() != room


@pytest.mark.parametrize("wait", [0.0, 0.15])
def test_a_room_with_other_rights_is_used_no_more(
    rooms: Rooms, tmp_path: Path, wait: float
) -> None:
    room = rooms.take()
    time.sleep(wait)
    rooms.give_back(room, str(tmp_path / "first"))
    assert rooms.take() == room
    os.chmod(work_of(room), 0o500)

    rooms.give_back(room, str(tmp_path / "second"))

    assert rooms.take() != room
    assert not os.path.exists(room)


def test_a_room_that_a_task_has_removed_is_used_no_more(rooms: Rooms, tmp_path: Path) -> None:
    room = rooms.take()
    os.rmdir(work_of(room))

    rooms.give_back(room, str(tmp_path / "first"))

    assert rooms.take() != room
    assert not os.path.exists(room)


def test_rooms_of_an_executor_before_are_cleared(tmp_path: Path) -> None:
    room = Rooms(tmp_path / "rooms").take()
    Path(work_of(room), "old").touch()

    assert os.listdir(work_of(Rooms(tmp_path / "rooms").take())) == []


def test_a_room_that_is_another_one_now_is_used_no_more(rooms: Rooms, tmp_path: Path) -> None:
    room = rooms.take()
    time.sleep(0.15)
    rooms.give_back(room, str(tmp_path / "first"))
    assert rooms.take() == room
    os.rename(room, f"{room}-away")
    os.makedirs(work_of(room))

    rooms.give_back(room, str(tmp_path / "second"))

    assert rooms.take() != room


def test_a_room_that_is_left_is_let_go_of(rooms: Rooms, tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))

    for number in range(3):
        room = rooms.take()
        Path(work_of(room), "file").touch()
        rooms.give_back(room, str(tmp_path / str(number)))

    assert len(os.listdir("/proc/self/fd")) == before
