"""Engines that are libraries or commands: Snakemake, Luigi, Prefect, Dagster, DBOS."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.speed import environment
from benchmarks.speed.case import AT_ONCE, CHAIN, FAN_OUT, FLOWS, HELLO, LAYERS, Case
from benchmarks.speed.measure import Command
from benchmarks.speed.peer import Peer, bytecode, script
from benchmarks.speed.peers import postgres

FULL = {FAN_OUT.name: 1_000, CHAIN.name: 200, LAYERS.name: 1_000, HELLO.name: 1}
SMALL = {FAN_OUT.name: 100, CHAIN.name: 20, LAYERS.name: 100, HELLO.name: 1}
# Exact, so that two runs compare the same; Prefect's server does not load with a newer FastAPI.
VERSIONS = {
    "luigi": "luigi==3.8.1",
    "snakemake": "snakemake==9.27.1",
    "dbos": "dbos==3.3.0",
    "prefect": "prefect==3.8.8 fastapi<0.140",
    "dagster": "dagster==1.13.28",
}


def peers() -> Iterator[Peer]:
    """Give them all."""
    yield Peer(
        name="Snakemake",
        state="files",
        sizes=FULL,
        find=_finder("snakemake"),
        command=_snakemake,
    )
    yield Peer(
        name="Luigi",
        state="files",
        sizes={**FULL, LAYERS.name: 100},
        find=_finder("luigi"),
        command=_program("luigi"),
        note="asks the file system for every edge: layers in small",
    )
    yield Peer(
        name="DBOS, SQLite",
        state="durable",
        sizes={**FULL, FLOWS.name: 1_000},
        find=_finder("dbos"),
        command=_dbos,
        note="steps of one workflow",
    )
    yield Peer(
        name="DBOS, PostgreSQL",
        state="durable",
        sizes={FAN_OUT.name: 1_000, CHAIN.name: 200, LAYERS.name: 1_000, FLOWS.name: 1_000},
        find=_dbos_on_postgres,
        command=_dbos_postgres,
        served=True,
        note="steps of one workflow; the database's CPU and memory are counted",
    )
    yield Peer(
        name="Prefect",
        state="durable",
        sizes=SMALL,
        find=_finder("prefect"),
        command=_program("prefect", _prefect_settings),
        served=True,
        note="its own temporary server",
    )
    yield Peer(
        name="Dagster",
        state="durable",
        sizes=SMALL,
        find=_finder("dagster"),
        command=_program("dagster", _dagster_settings),
        note="in process: one task at a time",
    )


def python(name: str) -> Path:
    """Give the interpreter of a peer."""
    return environment.installed(name, *VERSIONS[name].split())


def _finder(name: str) -> Callable[[], str]:
    return lambda: environment.version_of(python(name), name)


def _program(
    name: str, more: Callable[[Path], dict[str, str]] = lambda _: {}
) -> Callable[[Case, Path], Command]:
    def command(case: Case, folder: Path) -> Command:
        return Command(
            words=script(python(name), f"run_{name}.py", case.width, case.depth),
            folder=folder,
            environment={**bytecode(), **more(folder)},
        )

    return command


def _prefect_settings(folder: Path) -> dict[str, str]:
    return {
        "PREFECT_HOME": str(folder / "prefect"),
        "PREFECT_LOGGING_LEVEL": "WARNING",
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        # On a busy machine its defaults give up while the server is still starting.
        "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "150",
        "PREFECT_API_DATABASE_TIMEOUT": "60",
        "PREFECT_API_DATABASE_CONNECTION_TIMEOUT": "60",
    }


def _dagster_settings(folder: Path) -> dict[str, str]:
    (folder / "dagster.yaml").write_text("telemetry: {enabled: false}\n")
    return {"DAGSTER_HOME": str(folder)}


def _dbos(case: Case, folder: Path) -> Command:
    words = script(python("dbos"), "run_dbos.py", case.width, case.depth, "sqlite:///bench.db")
    return Command(words=(*words, *_kind(case)), folder=folder, environment=bytecode())


def _dbos_on_postgres() -> str:
    return f"{_finder('dbos')()} on {postgres.find()}"


def _dbos_postgres(case: Case, folder: Path) -> Command:
    inner = script(python("dbos"), "run_dbos.py", case.width, case.depth, "{URL}")
    words = postgres.around((*inner, *_kind(case)))
    return Command(words=words, folder=folder, environment=bytecode())


def _kind(case: Case) -> tuple[str, ...]:
    return ("flows",) if case.name == FLOWS.name else ()


SNAKEFILE = """
rule all:
    input: [f"ended/{depth}-{{i}}" for i in range({width})]
"""
LAYER = """
rule layer{layer}:
    input: {before}
    output: touch("ended/{layer}-{{i}}")
    shell: "/bin/true"
"""


def _snakemake(case: Case, folder: Path) -> Command:
    text = SNAKEFILE.format(width=case.width, depth=case.depth - 1)
    for layer in range(case.depth):
        before = f'[f"ended/{layer - 1}-{{i}}" for i in range({case.width})]' if layer else "[]"
        text += LAYER.format(layer=layer, before=before)
    (folder / "Snakefile").write_text(text)
    words = ("-m", "snakemake", "--cores", str(AT_ONCE), "--quiet", "all")
    home = {"XDG_CACHE_HOME": str(folder / "cache"), "PATH": os.environ["PATH"]}
    return Command(
        words=(str(python("snakemake")), *words), folder=folder, environment={**bytecode(), **home}
    )
