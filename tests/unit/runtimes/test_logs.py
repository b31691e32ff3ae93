"""Logs are read whatever bytes are in them."""

from __future__ import annotations

from pathlib import Path

from tiphys.executor.linux import punch_hole
from tiphys.executor.stream import MARK
from tiphys.runtimes.logs import MAX_LINE, LogReader


def texts(folder: Path, **options: int) -> list[str]:
    return [line.text for line in LogReader(folder, **options).read(final=True)]  # type: ignore[arg-type]


def test_an_unfinished_last_line_comes_at_the_end(tmp_path: Path) -> None:
    (tmp_path / "main.stdout").write_bytes(b"one\ntwo")
    reader = LogReader(tmp_path)

    assert [line.text for line in reader.read()] == ["one"]
    assert [line.text for line in reader.read(final=True)] == ["two"]


def test_following_gives_each_line_once(tmp_path: Path) -> None:
    log = tmp_path / "main.stdout"
    reader = LogReader(tmp_path)
    assert list(reader.read()) == []

    log.write_bytes(b"a\nb")
    assert [line.text for line in reader.read()] == ["a"]
    with log.open("ab") as file:
        file.write(b"c\nd\n")

    assert [line.text for line in reader.read()] == ["bc", "d"]


def test_bytes_that_are_no_text_do_not_stop_the_reader(tmp_path: Path) -> None:
    (tmp_path / "main.stdout").write_bytes(b"a\0b\n\x1b[31mred\x1b[0m\n\xff\xfe\n\n")

    assert texts(tmp_path) == ["a\0b", "\x1b[31mred\x1b[0m", "\ufffd\ufffd", ""]


def test_a_very_long_line_comes_in_pieces(tmp_path: Path) -> None:
    (tmp_path / "main.stdout").write_bytes(b"x" * (10 * MAX_LINE + 5) + b"\nend\n")

    found = texts(tmp_path)

    assert max(map(len, found)) <= MAX_LINE
    assert "".join(found[:-1]) == "x" * (10 * MAX_LINE + 5)
    assert found[-1] == "end"


def test_the_last_bytes_begin_with_a_whole_line(tmp_path: Path) -> None:
    (tmp_path / "main.stdout").write_bytes(b"first\nsecond\nthird\n")

    assert texts(tmp_path, last_bytes=9) == ["third"]
    assert texts(tmp_path, last_bytes=6) == ["third"]
    assert texts(tmp_path, last_bytes=1000) == ["first", "second", "third"]


def test_what_was_freed_for_the_cap_is_left_out(tmp_path: Path) -> None:
    log = tmp_path / "main.stdout"
    log.write_bytes(b"".join(b"%07d\n" % i for i in range(100_000)))
    with log.open("r+b") as file:
        punch_hole(file.fileno(), 0, 4096 * 100)

    found = texts(tmp_path)

    # The first line behind the hole may be a part of one, so the next is the first that is told.
    assert found[0] == f"{4096 * 100 // 8 + 1:07d}"
    assert found[-1] == "0099999"


def test_marks_give_lines_their_times_and_join_the_streams(tmp_path: Path) -> None:
    (tmp_path / "main.stdout").write_bytes(b"a\nc\n")
    (tmp_path / "main.stdout.marks").write_bytes(MARK.pack(2, 10.0) + MARK.pack(4, 30.0))
    (tmp_path / "main.stderr").write_bytes(b"b\n")
    (tmp_path / "main.stderr.marks").write_bytes(MARK.pack(2, 20.0) + b"torn")

    lines = list(LogReader(tmp_path).read(final=True))

    assert [(line.text, line.at, line.stream) for line in lines] == [
        ("a", 10.0, "stdout"),
        ("b", 20.0, "stderr"),
        ("c", 30.0, "stdout"),
    ]
