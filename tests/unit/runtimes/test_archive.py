"""Logs that are kept as artifacts, read in the place of an attempt's own files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tiphys.engine.node import Node, NodeType, Ours, Phase
from tiphys.errors import ArtifactError
from tiphys.runtimes.archive import ArchivedLog, open_log
from tiphys.runtimes.logs import MAX_LINE, LogReader
from tiphys.spec import model


def node(*artifacts: model.Artifact) -> Node:
    return Node(
        id="n",
        name="n",
        type=NodeType.POD,
        phase=Phase.SUCCEEDED,
        finished_at=7.0,
        outputs=model.Outputs(artifacts=artifacts),
        ours=Ours(seq=0),
    )


def reads(*chunks: bytes) -> Iterator[bytes]:
    yield from chunks


MAIN = model.Artifact(name="main-logs", local=model.LocalArtifact(key="main.log"))


def test_lines_come_whole_however_the_bytes_are_cut() -> None:
    log = ArchivedLog(node(MAIN), lambda _: reads(b"on", b"e\ntwo\nth", b"ree"))

    lines = list(log.read(final=True))

    assert [line.text for line in lines] == ["one", "two", "three"]
    assert {(line.at, line.container, line.stream) for line in lines} == {(7.0, "main", "stdout")}
    assert list(log.read(final=True)) == []


def test_a_very_long_line_comes_in_pieces() -> None:
    log = ArchivedLog(node(MAIN), lambda _: reads(b"x" * MAX_LINE, b"y" * 10, b"\n"))

    assert [len(line.text) for line in log.read()] == [MAX_LINE, 10]


def test_a_log_that_cannot_be_read_says_so_in_its_place() -> None:
    def refuse(_: model.Artifact) -> Iterator[bytes]:
        raise ArtifactError("away")

    (line,) = ArchivedLog(node(MAIN), refuse).read()

    assert line.text == "(this log cannot be read: away)"


def test_the_files_of_the_attempt_come_first(tmp_path: Path) -> None:
    def never(_: model.Artifact) -> Iterator[bytes]:
        raise AssertionError("not asked for")

    assert isinstance(open_log(tmp_path, node(MAIN), never), LogReader)
    assert isinstance(open_log(tmp_path / "gone", node(MAIN), never), ArchivedLog)


def test_what_is_no_kept_log_is_not_taken_for_one(tmp_path: Path) -> None:
    declared = model.Artifact(
        name="my-logs", path="/logs", local=model.LocalArtifact(key="my-logs.tgz")
    )
    deleted = model.Artifact(name="main-logs", deleted=True, local=MAIN.local)

    found = open_log(tmp_path / "gone", node(declared, deleted), lambda _: reads(b"x"))

    assert list(found.read(final=True)) == []
