"""Archives made to do harm. Each must be refused, and nothing outside of its folder may change."""

from __future__ import annotations

import io
import os
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from tiphys.artifacts import unpack
from tiphys.artifacts.limits import Limits
from tiphys.errors import ArtifactError

LIMITS = Limits(max_bytes=4 << 20, max_entries=500, max_ratio=100, ratio_from=1 << 16)
OUTSIDE = "/@outside@"
"""Stands for the absolute path of the sentinel folder in names and link targets."""


def header(
    name: str, kind: str = "0", *, size: int = 0, target: str = "", mode: int = 0o644
) -> bytes:
    """Make one header of a tar archive, whatever nonsense it says."""
    block = bytearray(512)
    block[0:100] = name.encode()[:100].ljust(100, b"\0")
    block[100:108] = b"%07o\0" % mode
    block[108:124] = b"0000000\0" * 2
    block[124:136] = b"%011o\0" % size
    block[136:148] = b"%011o\0" % 1_700_000_000
    block[156:157] = kind.encode()
    block[157:257] = target.encode()[:100].ljust(100, b"\0")
    block[257:265] = b"ustar\x0000"
    return checked(block)


def checked(block: bytearray) -> bytes:
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


def with_size_field(block: bytes, field: bytes) -> bytes:
    changed = bytearray(block)
    changed[124:136] = field
    return checked(changed)


def file(name: str, data: bytes = b"harm", *, mode: int = 0o644) -> bytes:
    return header(name, size=len(data), mode=mode) + padded(data)


def link(name: str, target: str) -> bytes:
    return header(name, "2", target=target)


def hard(name: str, target: str) -> bytes:
    return header(name, "1", target=target)


def folder(name: str) -> bytes:
    return header(name, "5")


def padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 512)


def pax(kind: str = "x", **records: str) -> bytes:
    data = b""
    for key, value in records.items():
        data += record(key.replace("__", "."), value)
    return header("pax", kind, size=len(data)) + padded(data)


def record(key: str, value: str) -> bytes:
    body = f" {key}={value}\n".encode()
    length = len(body) + len(str(len(body) + 2))
    return str(length).encode() + body


def long_name(kind: str, name: str) -> bytes:
    data = name.encode() + b"\0"
    return header("././@LongLink", kind, size=len(data)) + padded(data)


def tar(*parts: bytes) -> bytes:
    return b"".join(parts) + bytes(1024)


def deep_link_tree() -> bytes:
    """Build the long path of CVE-2025-4517: links whose expansion exceeds the path limit."""
    step = "d" * 60
    parts, inside = [], ""
    for letter in "abcdefghijklmnop":
        parts += [folder(inside + step), link(inside + letter, step)]
        inside += step + "/"
    chain = "/".join("abcdefghijklmnop")
    up = "/".join([".."] * 17)
    parts += [long_name("L", f"{chain}/escape"), link("x", up), link("flag", "x/outside")]
    return tar(*parts, file("flag", b"harm"))


TARS: dict[str, bytes] = {
    "an absolute file": tar(file("/@outside@/new")),
    "an absolute file with two slashes": tar(file("//@outside@/new")),
    "an absolute folder": tar(folder("/@outside@/new")),
    "an absolute link": tar(link("/@outside@/new", "x")),
    "dots first": tar(file("../outside/new")),
    "dots in the middle": tar(file("a/../../outside/new")),
    "dots behind a dot": tar(file("./../outside/new")),
    "dots that come back": tar(file("a/../a/b")),
    "dots alone": tar(file("..")),
    "a folder of dots": tar(folder("../outside/new")),
    "a name in the prefix field": tar(
        checked(bytearray(file("outside/new")[:345] + b"..".ljust(155, b"\0") + bytes(12)))
    ),
    "a long name with dots": tar(long_name("L", "a/" * 80 + "../" * 90 + "new"), file("x")),
    "a pax path with dots": tar(pax(path="../outside/new"), file("x")),
    "an absolute pax path": tar(pax(path="/@outside@/new"), file("x")),
    "a global pax path": tar(pax("g", path="../outside/new"), file("x")),
    "a pax path with NUL": tar(pax(path="x\0y"), file("x")),
    "a link to an absolute path": tar(link("l", "/@outside@"), file("x")),
    "a link to the file system's root": tar(link("l", "/"), file("x")),
    "a link out": tar(link("l", "../outside"), file("x")),
    "a link out of a folder": tar(folder("d"), link("d/l", "../../outside"), file("x")),
    "a link out by a long way": tar(link("l", "a/b/../../../outside"), file("x")),
    "a link out given by pax": tar(pax(linkpath="../outside"), link("l", "x"), file("y")),
    "a link out given by a long name": tar(long_name("K", "../outside"), link("l", "x"), file("y")),
    "a file through a link out": tar(link("l", "../outside"), file("l/new")),
    "a file through a link to an absolute path": tar(link("l", "/@outside@"), file("l/new")),
    "a file through a link to here": tar(link("l", "."), file("l/new"), file("y")),
    "a chain of links out": tar(link("a", "b"), link("b", "c"), link("c", "../outside"), file("x")),
    "dots behind a link to here": tar(
        folder("d"), link("d/here", "."), link("l", "d/here/../.."), file("x")
    ),
    "dots behind a link to a higher folder": tar(
        folder("a/b"), link("a/b/up", "../.."), link("l", "a/b/up/../outside"), file("x")
    ),
    "a link out that depends on a later one": tar(
        link("first", "second/.."), link("second", "."), file("x")
    ),
    "a link to itself": tar(link("l", "l"), file("x")),
    "links in a circle": tar(link("a", "b"), link("b", "a"), file("x")),
    "more links than are followed": tar(
        *(link(f"l{i}", f"l{i + 1}") for i in range(60)), file("x")
    ),
    "nothing but a link": tar(link("l", "outside")),
    "a link beside the only folder": tar(folder("d"), link("d/l", "../outside")),
    "a link over the only folder's name": tar(folder("d"), link("d/l", "../d/x")),
    "a link in place of a file": tar(file("x"), link("x", "y"), file("y")),
    "a file in place of a link": tar(link("x", "y"), file("x"), file("y")),
    "a link in place of a folder": tar(folder("d"), link("d", "e"), file("d/x"), file("y")),
    "a link twice": tar(link("l", "x"), link("l", "y"), file("x")),
    "a link to nothing": tar(link("l", ""), file("x")),
    "the long path of links": deep_link_tree(),
    "a hard link to an absolute file": tar(hard("h", "/@outside@/secret"), file("x")),
    "a hard link out": tar(hard("h", "../outside/secret"), file("x")),
    "a hard link to a link": tar(link("l", "x"), hard("h", "l"), file("x")),
    "a hard link through a link": tar(link("l", "d"), folder("d"), file("d/f"), hard("h", "l/f")),
    "a hard link to a folder": tar(folder("d"), hard("h", "d"), file("x")),
    "a hard link to nothing": tar(hard("h", "missing"), file("x")),
    "a hard link to a later file": tar(hard("h", "x"), file("x")),
    "a hard link in place of a file": tar(file("x"), file("y"), hard("y", "x")),
    "a file in place of a hard link": tar(file("x"), hard("h", "x"), file("h", b"changed")),
    "a character device": tar(header("null", "3")),
    "a block device": tar(header("disk", "4")),
    "a named pipe": tar(header("pipe", "6")),
    "an unknown kind": tar(header("x", "Z")),
    "a volume label": tar(header("label", "V"), file("x")),
    "a sparse file": tar(header("x", "S", size=4), padded(b"harm")),
    "a sparse file of pax": tar(pax(GNU__sparse__realsize="99999999999"), file("x")),
    "a set-user-id file": tar(file("x", mode=0o4755)),
    "a set-group-id file": tar(file("x", mode=0o2755)),
    "a file twice": tar(file("x"), file("x", b"other")),
    "a file twice, spelled differently": tar(file("d/x"), file("./d//x", b"other")),
    "a file in place of a folder": tar(folder("d"), file("d")),
    "a folder in place of a file": tar(file("d"), file("d/x")),
    "a file without a name": tar(file("")),
    "a file called here": tar(file(".")),
    "a name too long": tar(long_name("L", "x" * 300), file("x")),
    "a path too long": tar(long_name("L", "xy/" * 2000 + "x"), file("x")),
    "a path too deep": tar(long_name("L", "d/" * 400 + "x"), file("x")),
    "a negative size": tar(with_size_field(header("x"), b"\xff" * 12)),
    "a size beyond all bounds": tar(with_size_field(header("x"), b"\x80" + b"\x7f" * 11)),
    "a negative size of pax": tar(pax(size="-512"), file("x")),
    "a size of pax beyond all bounds": tar(pax(size="9" * 30), file("x")),
    "a size that is no number": tar(with_size_field(header("x"), b"99999999999\0")),
    "more bytes than there are": tar(header("x", size=1 << 20)),
    "an extended header beyond all bounds": tar(header("pax", "x", size=1 << 33)),
    "a long name beyond all bounds": tar(header("@LongLink", "L", size=1 << 33)),
    "a pax record longer than its header": tar(
        header("pax", "x", size=12), padded(b"99 path=x\n\n\n"), file("x")
    ),
    "a pax record without a length": tar(header("pax", "x", size=7), padded(b" path=x"), file("x")),
    "a pax record without a value": tar(header("pax", "x", size=7), padded(b"7 path\n"), file("x")),
    "extended headers without end": tar(*[pax(path="x")] * 200, file("x")),
    "a wrong checksum": tar(b"y" + file("x")[1:]),
    "too many entries": tar(*(file(f"f{i}", b"") for i in range(600))),
    "too many folders": tar(*(folder(f"d{i}") for i in range(600))),
    "too many bytes": tar(file("x", os.urandom(5 << 20))),
    "more than its size allows": tar(file("x", bytes(3 << 20))),
}


def gzip(data: bytes) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    return packer.compress(data) + packer.flush()


def zipped(*entries: tuple[str, bytes, int]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data, mode in entries:
            info = zipfile.ZipInfo(name)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = mode << 16
            archive.writestr(info, data)
    return out.getvalue()


REG, LNK = stat.S_IFREG | 0o644, stat.S_IFLNK | 0o777


def zip_replaced(old: bytes, new: bytes, *, first_only: bool = False) -> bytes:
    data = zipped(("abcdefgh", b"harm", REG), ("ABCDEFGH", b"x", REG))
    return data.replace(old, new, 1 if first_only else -1)


def zip_overlap() -> bytes:
    """Make a directory whose entries all point at the same bytes."""
    data = zipped(*((f"f{i}", bytes(10_000), REG) for i in range(20)))
    changed = bytearray(data)
    at = changed.find(b"PK\x01\x02")
    while at >= 0:
        changed[at + 42 : at + 46] = bytes(4)
        at = changed.find(b"PK\x01\x02", at + 4)
    return bytes(changed)


def zip_with_end(entries: int, length: int | None = None) -> bytes:
    data = bytearray(zipped(("x", b"y", REG)))
    end = data.rfind(b"PK\x05\x06")
    struct.pack_into("<HH", data, end + 8, entries, entries)
    if length is not None:
        struct.pack_into("<I", data, end + 12, length)
    return bytes(data)


def zip_flagged(offset: int, value: int) -> bytes:
    """Change a 16-bit field of the first entry, in its own header and in the directory."""
    data = bytearray(zipped(("x", b"y" * 100, REG)))
    struct.pack_into("<H", data, offset, value)
    struct.pack_into("<H", data, data.find(b"PK\x01\x02") + offset + 2, value)
    return bytes(data)


ZIPS: dict[str, bytes] = {
    "an absolute file": zipped(("/@outside@/new", b"harm", REG)),
    "dots first": zipped(("../outside/new", b"harm", REG)),
    "dots in the middle": zipped(("a/../../outside/new", b"harm", REG)),
    "a folder of dots": zipped(("../outside/new/", b"", stat.S_IFDIR | 0o755)),
    "a link out": zipped(("l", b"../outside", LNK), ("x", b"", REG)),
    "a link to an absolute path": zipped(("l", b"/@outside@", LNK), ("x", b"", REG)),
    "a file through a link": zipped(("l", b"../outside", LNK), ("l/new", b"harm", REG)),
    "nothing but a link": zipped(("l", b"outside", LNK)),
    "a link beyond all bounds": zipped(("l", b"x" * 100_000, LNK), ("x", b"", REG)),
    "a link with NUL": zipped(("l", b"x\0y", LNK), ("x", b"", REG)),
    "a device": zipped(("x", b"", stat.S_IFCHR | 0o644)),
    "a named pipe": zipped(("x", b"", stat.S_IFIFO | 0o644)),
    "a set-user-id file": zipped(("x", b"", stat.S_IFREG | 0o4755)),
    "a file in place of a folder": zipped(("d/x", b"", REG), ("d", b"", REG)),
    "a name with NUL": zip_replaced(b"abcdefgh", b"abc\0efgh"),
    "two names for one entry": zip_replaced(b"abcdefgh", b"../../ab", first_only=True),
    "a file twice": zip_replaced(b"ABCDEFGH", b"abcdefgh"),
    "entries that share their bytes": zip_overlap(),
    "too many entries": zipped(*((f"f{i}", b"", REG) for i in range(600))),
    "more entries than there are": zip_with_end(60_000),
    "a directory beyond all bounds": zip_with_end(1, 0xFFFFFFF0),
    "more than its size allows": zipped(("x", bytes(3 << 20), REG)),
    "too many bytes": zipped(("x", os.urandom(5 << 20), REG)),
    "an encrypted file": zip_flagged(6, 1),
    "an unknown method": zip_flagged(8, 99),
    "no archive at all": b"PK\x03\x04 but nothing else",
    "a broken end": zipped(("x", b"y", REG))[:-3],
}


def damaged() -> dict[str, bytes]:
    whole = gzip(tar(file("x", os.urandom(50_000))))
    return {
        "a stream cut short": whole[: len(whole) // 2],
        "a stream with a wrong byte": whole[:9000] + bytes(64) + whole[9064:],
        "a stream without a checksum": whole[:-8],
        "an archive cut inside a header": gzip(tar(file("x"))[:300]),
        "an archive cut inside a file": gzip(file("x", bytes(2000))[:1000]),
    }


NONSENSE = (
    "tar: a size that is no number",
    "tar: more bytes than there are",
    "tar: a wrong checksum",
    "zip: two names for one entry",
    "zip: an encrypted file",
    "zip: an unknown method",
    "zip: no archive at all",
    "zip: a broken end",
)
"""Not unsafe, merely unreadable."""

Unpacker = Callable[[Path, Path, Limits], None]
CASES: list[tuple[str, Unpacker, bytes]] = [
    *((f"tar: {name}", unpack.untar, gzip(data)) for name, data in TARS.items()),
    *((f"plain tar: {name}", unpack.untar, data) for name, data in list(TARS.items())[:8]),
    *((f"zip: {name}", unpack.unzip, data) for name, data in ZIPS.items()),
    *((f"damaged: {name}", unpack.untar, data) for name, data in damaged().items()),
]


@pytest.fixture
def world(tmp_path: Path) -> Path:
    """A tree that must not change: a secret, a folder outside, and the place for artifacts."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("secret")
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "stage" / "outside").mkdir(parents=True)
    (tmp_path / "stage" / "outside" / "secret").write_text("secret")
    return tmp_path


def snapshot(tree: Path) -> dict[str, tuple[object, ...]]:
    found: dict[str, tuple[object, ...]] = {}
    for folder_name, folders, files in os.walk(tree):
        for name in [*folders, *files]:
            path = Path(folder_name, name)
            status = path.lstat()
            content = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
            found[str(path)] = (status.st_mode, status.st_nlink, status.st_ino, content)
    return found


@pytest.mark.parametrize(("name", "unpacker", "data"), CASES, ids=[case[0] for case in CASES])
def test_a_hostile_archive_is_refused_and_changes_nothing(
    name: str,
    unpacker: Unpacker,
    data: bytes,
    world: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    archive = tmp_path_factory.mktemp("archive") / "archive"
    archive.write_bytes(data)
    before = snapshot(world)

    with pytest.raises(ArtifactError) as caught:
        unpacker(archive, world / "stage" / "artifact", LIMITS)

    unreadable = name in NONSENSE or name.startswith("damaged")
    assert caught.value.code == ("artifact_error" if unreadable else "artifact_unsafe")
    assert snapshot(world) == before


def test_the_corpus_is_large_enough() -> None:
    assert len(TARS) + len(ZIPS) >= 100


def test_absolute_paths_of_the_sentinel_itself_are_refused(world: Path, tmp_path: Path) -> None:
    secret = str(world / "outside" / "secret")
    before = snapshot(world)
    for entry in (file(secret), link("l", secret), hard("h", secret), folder(secret + "-new")):
        archive = tmp_path.parent / f"{tmp_path.name}-archive.tar"
        archive.write_bytes(
            tar(long_name("L" if entry[:1] == b"/" else "K", secret), entry, file("x"))
        )

        with pytest.raises(ArtifactError):
            unpack.untar(archive, world / "stage" / "artifact", LIMITS)

    assert snapshot(world) == before


def test_what_the_standard_library_packs_is_unpacked_alike(tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "sub" / "empty").mkdir(parents=True)
    (source / "file").write_bytes(os.urandom(70_000))
    (source / "sub" / ("long-" * 18 + "name")).write_text("x")
    (source / "sub" / ("directory-" * 9)).mkdir()
    (source / "sub" / ("directory-" * 9) / "ünïcode").write_text("y")
    (source / "sub" / "run").write_text("#!/bin/sh\n")
    (source / "sub" / "run").chmod(0o755)
    os.symlink("sub/run", source / "link")
    os.link(source / "file", source / "same")
    for form in (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
        archive = tmp_path / f"{form}.tgz"
        with tarfile.open(archive, "w:gz", format=form) as target:
            target.add(source, "top")

        unpack.untar(archive, tmp_path / f"out{form}", Limits())

        assert contents(tmp_path / f"out{form}") == contents(source)


def contents(tree: Path) -> dict[str, tuple[object, ...]]:
    found: dict[str, tuple[object, ...]] = {}
    for folder_name, folders, files in os.walk(tree):
        for name in [*folders, *files]:
            path = Path(folder_name, name)
            key = str(path.relative_to(tree))
            if path.is_symlink():
                found[key] = (os.readlink(path),)
            elif path.is_dir():
                found[key] = ()
            else:
                found[key] = (path.stat().st_mode & 0o111, path.read_bytes())
    return found
