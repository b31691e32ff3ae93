"""Archives with bytes changed at random: they unpack or are refused, but nothing else happens."""

from __future__ import annotations

import io
import os
import shutil
import tarfile
import tempfile
import zipfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from tiphys.artifacts import unpack
from tiphys.artifacts.limits import Limits
from tiphys.errors import ArtifactError

LIMITS = Limits(max_bytes=1 << 20, max_entries=100, ratio_from=1 << 16)
CHANGES = st.lists(
    st.tuples(st.integers(0, 10_000), st.sampled_from([0, 1, 46, 47, 127, 128, 255])), max_size=6
)


def _tar() -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name in ("a", "d/b", "d/ü" + "x" * 120):
            info = tarfile.TarInfo(name)
            info.size = 600
            archive.addfile(info, io.BytesIO(bytes(600)))
        info = tarfile.TarInfo("d/link")
        info.type, info.linkname = tarfile.SYMTYPE, "b"
        archive.addfile(info)
    return out.getvalue()


def _zip() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("a", "d/b", "d/c"):
            archive.writestr(name, name * 200)
    return out.getvalue()


TAR, ZIP = _tar(), _zip()


@settings(max_examples=80, deadline=None)
@given(changes=CHANGES, end=st.integers(0, 20_000))
def test_a_changed_tar_archive_does_no_harm(changes: list[tuple[int, int]], end: int) -> None:
    _try(unpack.untar, _summed(bytearray(_changed(TAR, changes, end))))


@settings(max_examples=80, deadline=None)
@given(changes=CHANGES, end=st.integers(0, 20_000))
def test_a_changed_zip_archive_does_no_harm(changes: list[tuple[int, int]], end: int) -> None:
    _try(unpack.unzip, _changed(ZIP, changes, end))


def _changed(data: bytes, changes: list[tuple[int, int]], end: int) -> bytes:
    changed = bytearray(data)
    for at, value in changes:
        changed[at % len(changed)] = value
    return bytes(changed[:end])


def _summed(data: bytearray) -> bytes:
    """Put the checksums right, so that the changes are looked at."""
    for at in range(0, len(data) - 511, 512):
        if data[at + 257 : at + 262] == b"ustar":
            data[at + 148 : at + 156] = b" " * 8
            data[at + 148 : at + 156] = b"%06o\0 " % sum(data[at : at + 512])
    return bytes(data)


def _try(unpacker: object, data: bytes) -> None:
    world = Path(tempfile.mkdtemp())
    try:
        (world / "stage").mkdir()
        (world / "archive").write_bytes(data)
        try:
            unpacker(world / "archive", world / "stage" / "out", LIMITS)  # type: ignore[operator]
            landed = ["out"]
        except ArtifactError:
            landed = []

        assert os.listdir(world / "stage") == landed
        assert sorted(os.listdir(world)) == ["archive", "stage"]
    finally:
        shutil.rmtree(world)
