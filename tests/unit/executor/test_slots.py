"""What is left of views is cleared beside the loop, and in the end by it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Any, cast

import pytest

from tiphys.executor import slots as views
from tiphys.executor.slots import Slots


@pytest.fixture
def slots(tmp_path: Path) -> Slots:
    """Give views of which none is made: that takes rights."""
    return Slots(cast(Any, None), tmp_path / "slots")


def test_what_is_to_be_removed_is_gone_at_the_end(slots: Slots, tmp_path: Path) -> None:
    (tmp_path / "main.root" / "upper").mkdir(parents=True)

    slots.remove(str(tmp_path / "main.root"))
    slots.close(at_home=True)

    assert not (tmp_path / "main.root").exists()


def test_where_there_is_no_room_for_a_thread_nothing_is_lost(
    slots: Slots, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "main.root" / "upper").mkdir(parents=True)

    def refuse(name: str, work: Callable[[], None]) -> Thread:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(views, "start_thread", refuse)
    slots.remove(str(tmp_path / "main.root"))
    assert (tmp_path / "main.root").exists()
    slots.close(at_home=True)

    assert not (tmp_path / "main.root").exists()
