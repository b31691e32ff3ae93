"""How long a small artifact takes to be saved and loaded by the local repository.

    python benchmarks/artifacts.py [FOLDER]

Prints the least, the median and the 90th percentile in microseconds, with and without flushing to
the disk, and the speed of one large file. FOLDER lies on the file system to measure.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tiphys.artifacts import ArtifactConfig, Repositories
from tiphys.spec import model

COUNT = 400
LARGE = 256 << 20


def main() -> None:
    """Measure in a folder of its own."""
    base = sys.argv[1] if len(sys.argv) > 1 else None
    with tempfile.TemporaryDirectory(dir=base) as folder:
        for durable in (False, True):
            measure(Path(folder, str(durable)), durable=durable)


def measure(folder: Path, *, durable: bool) -> None:
    """Save and load many small files, then one large one."""
    folder.mkdir()
    config = ArtifactConfig(durable=durable)
    repositories = Repositories(root=folder / "root", config=config, secrets=lambda *_: b"")
    small, large = folder / "small", folder / "large"
    small.write_bytes(b"hello\n" * 10)
    large.write_bytes(os.urandom(1 << 20) * (LARGE >> 20))
    saved, loaded = [], []
    for number in range(COUNT):
        artifact = place(repositories, f"wf/pod-{number}")
        saved.append(timed(partial(repositories.save, small, artifact, namespace="default")))
        target = folder / str(number)
        loaded.append(timed(partial(repositories.load, artifact, target, namespace="default")))
    big = place(repositories, "wf/large")
    write = timed(lambda: repositories.save(large, big, namespace="default"))
    read = timed(lambda: repositories.load(big, folder / "again", namespace="default"))
    print("flushed" if durable else "not flushed")
    print(f"  save {summary(saved)}   load {summary(loaded)}   (least / median / 90 % in µs)")
    print(f"  large file: save {LARGE / write / 1e6:.0f} MB/s, load {LARGE / read / 1e6:.0f} MB/s")


def place(repositories: Repositories, key: str) -> model.Artifact:
    artifact = model.Artifact(name="out", path="/tmp/out.txt")
    return repositories.resolve(artifact, namespace="default", default_key=key)


def timed(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def summary(times: list[float]) -> str:
    ordered = sorted(times)
    values = (ordered[0], statistics.median(ordered), ordered[int(len(ordered) * 0.9)])
    return " / ".join(f"{value * 1e6:.0f}" for value in values)


if __name__ == "__main__":
    main()
