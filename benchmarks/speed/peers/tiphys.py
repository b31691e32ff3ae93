"""Tiphys itself: as people run it, durable at every step, without and with the sandbox."""

from __future__ import annotations

import compileall
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.speed.case import AT_ONCE, CHAIN, FAN_OUT, FLOWS, HELLO, LAYERS, NODES, WIDE, Case
from benchmarks.speed.measure import Command
from benchmarks.speed.peer import ANY, ROOT, Peer, bytecode, script

RUN = {case.name: ANY for case in (FAN_OUT, WIDE, CHAIN, LAYERS, HELLO, FLOWS)}
SETTINGS = '{"lingerSeconds": 0}'
"""How long the executor stays when all is done: not part of the time, but waited for. In JSON, so
that it takes as little to read as none: most people have no settings."""


def peers() -> Iterator[Peer]:
    """Give both ways to run it, and the engine alone."""
    for isolation in ("process", "sandbox"):
        yield Peer(
            name=f"Tiphys, {isolation}",
            state="durable",
            sizes=RUN,
            find=_find,
            command=_command(isolation),
            note=("`isolation: process`, no sandbox" if isolation == "process" else "the default")
            + "; workflows as JSON, in YAML a start takes some 10 ms more",
        )
    yield Peer(
        name="Tiphys, engine alone",
        state="none",
        sizes={NODES.name: ANY},
        find=_find,
        command=_engine,
        note="`benchmarks/engine.py`: no runtime, no store",
    )


def _find() -> str:
    import tiphys  # noqa: PLC0415 - only here

    # Where Python is told to write no bytecode, each start would compile everything.
    compileall.compile_dir(str(Path(tiphys.__file__).parent), quiet=1)
    from importlib.metadata import version  # noqa: PLC0415

    return version("tiphys")


def workflow(case: Case, image: str = "busybox") -> dict[str, object]:
    """Give the workflow of a case."""
    leaf = {"name": "leaf", "container": {"image": image, "command": ["/bin/true"]}}
    spec = {"entrypoint": "main", "parallelism": AT_ONCE, "templates": [_main(case), leaf]}
    if case.size == 1:
        spec = {"entrypoint": "leaf", "templates": [leaf]}
    head = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow"}
    return {**head, "metadata": {"generateName": f"{case.name}-"}, "spec": spec}


def _main(case: Case) -> dict[str, object]:
    if case.depth == 1:
        loop = {"name": "a", "template": "leaf", "withSequence": {"count": str(case.width)}}
        return {"name": "main", "steps": [[loop]]}
    tasks: list[dict[str, object]] = []
    before: list[str] = []
    for layer in range(case.depth):
        names = [f"t{layer}x{index}" for index in range(case.width)]
        wait = {"dependencies": before} if before else {}
        tasks += [{"name": name, "template": "leaf", **wait} for name in names]
        before = names
    return {"name": "main", "dag": {"tasks": tasks}}


def _command(isolation: str) -> Callable[[Case, Path], Command]:
    def command(case: Case, folder: Path) -> Command:
        (folder / "tiphys.yaml").write_text(SETTINGS)
        environment = {
            **bytecode(),
            "TIPHYS_CONFIG": "tiphys.yaml",
            "TIPHYS_DATA_DIR": "data",
            "TIPHYS_ISOLATION": isolation,
        }
        python = Path(sys.executable)
        if case.name == FLOWS.name:
            words = script(python, "run_flows.py", case.width, case.depth, isolation)
        else:
            (folder / "workflow.yaml").write_text(json.dumps(workflow(case)))
            words = (str(python.with_name("tiphys")), "run", "--quiet", "workflow.yaml")
        return Command(words=words, folder=folder, environment=environment)

    return command


def _engine(case: Case, folder: Path) -> Command:
    words = script(Path(sys.executable), "run_nodes.py", case.width, case.depth, ROOT)
    return Command(words=words, folder=folder, environment=bytecode())
