"""What every machine has: xargs, make, ninja, and a plain loop in Python.

xargs and the loop are the limits: nothing that starts a process for each task can be much faster,
and nothing that makes each end durable can be much faster than the loops that only do that.
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.speed.case import AT_ONCE, CHAIN, FAN_OUT, HELLO, LAYERS, WIDE, Case
from benchmarks.speed.measure import Command
from benchmarks.speed.peer import ANY, Peer, bytecode, first_line, program, script

ALL = {case.name: ANY for case in (FAN_OUT, WIDE, CHAIN, LAYERS, HELLO)}


def peers() -> Iterator[Peer]:
    """Give them all."""
    yield Peer(
        name="xargs -P8",
        state="none",
        sizes=ALL,
        find=lambda: first_line(program("xargs"), "--version"),
        command=_xargs,
    )
    for mode, state, words in (
        ("none", "none", "a spawn loop"),
        ("commit", "durable", "the loop, a commit per task"),
        ("group", "durable", "the loop, group commit"),
    ):
        yield Peer(
            name=f"Python: {words}",
            state=state,
            sizes=ALL,
            find=platform.python_version,
            command=_loop(mode),
        )
    yield Peer(
        name="GNU make",
        state="none",
        sizes=ALL,
        find=lambda: first_line(program("make"), "--version"),
        command=_make,
    )
    yield Peer(
        name="ninja",
        state="log",
        sizes=ALL,
        find=lambda: f"ninja {first_line(program('ninja'), '--version')}",
        command=_ninja,
    )


def _xargs(case: Case, folder: Path) -> Command:
    each = f"seq {case.width} | xargs -P{AT_ONCE} -n1 /bin/true"
    text = each if case.depth == 1 else f"for layer in $(seq {case.depth}); do {each}; done"
    return Command(words=("/bin/sh", "-c", text), folder=folder)


def _loop(mode: str) -> Callable[[Case, Path], Command]:
    def command(case: Case, folder: Path) -> Command:
        words = script(Path(sys.executable), "run_loop.py", case.width, case.depth, mode)
        return Command(words=words, folder=folder, environment=bytecode())

    return command


def names(case: Case) -> list[list[str]]:
    """Name the tasks, layer by layer."""
    return [[f"t{layer}x{i}" for i in range(case.width)] for layer in range(case.depth)]


def _make(case: Case, folder: Path) -> Command:
    layers = names(case)
    lines = [f"L{number} := {' '.join(layer)}" for number, layer in enumerate(layers)]
    lines += [f"all: $(L{case.depth - 1})"]
    lines += [f"$(L{number}): $(L{number - 1})" for number in range(1, case.depth)]
    every = " ".join(f"$(L{number})" for number in range(case.depth))
    lines += [f"{every}:", "\t@/bin/true", f".PHONY: all {every}"]
    (folder / "Makefile").write_text("\n".join(lines) + "\n")
    return Command(words=("make", f"-j{AT_ONCE}", "all"), folder=folder)


def _ninja(case: Case, folder: Path) -> Command:
    lines = ["rule run", "  command = /bin/true"]
    before: list[str] = []
    for layer in names(case):
        behind = f" {' '.join(before)}" if before else ""
        lines += [f"build {name}: run{behind}" for name in layer]
        before = layer
    lines += [f"build all: phony {' '.join(before)}", "default all"]
    (folder / "build.ninja").write_text("\n".join(lines) + "\n")
    return Command(words=("ninja", "--quiet", f"-j{AT_ONCE}"), folder=folder)
