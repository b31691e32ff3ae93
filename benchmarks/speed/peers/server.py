"""Engines that are servers: Temporal, Airflow, and Argo's controller on a real cluster."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.speed import environment
from benchmarks.speed.case import CHAIN, FAN_OUT, FLOWS, HELLO, LAYERS, Case
from benchmarks.speed.environment import UnavailableError
from benchmarks.speed.measure import Command
from benchmarks.speed.peer import ROOT, Peer, bytecode, first_line, script
from benchmarks.speed.peers.tiphys import workflow
from tests.cluster.rig.build import MissingError, build
from tests.cluster.rig.cluster import Cluster, Wish
from tests.cluster.rig.parts import ARGO, TEMPORAL

AIRFLOW = ("apache-airflow==3.3.2",)
TEMPORAL_SDK = ("temporalio==1.35.0",)
ALL = (FAN_OUT, CHAIN, LAYERS, HELLO)


def peers() -> Iterator[Peer]:
    """Give them all."""
    yield Peer(
        name="Temporal",
        state="durable",
        sizes={FAN_OUT.name: 1_000, CHAIN.name: 200, LAYERS.name: 1_000, HELLO.name: 1}
        | {FLOWS.name: 1_000},
        find=_find_temporal,
        command=_temporal,
        served=True,
        note="development server with a file, one worker",
    )
    yield Peer(
        name="Airflow",
        state="durable",
        sizes={FAN_OUT.name: 100, CHAIN.name: 20, LAYERS.name: 100, HELLO.name: 1},
        find=_find_airflow,
        command=_airflow,
        served=True,
        note="LocalExecutor, SQLite",
    )
    argo = ArgoCluster()
    yield Peer(
        name="Argo controller",
        state="durable",
        sizes={case.name: 0 for case in ALL},
        forms={FAN_OUT.name: (40, 1), CHAIN.name: (1, 5), LAYERS.name: (5, 4)},
        find=argo.find,
        command=argo.command,
        served=True,
        apart=True,
        note="a one-node cluster on this machine, after all others had run; its start is never "
        "counted, its etcd does not flush, CPU and memory are those of the client alone",
        close=argo.close,
    )


def _find_temporal() -> str:
    python = environment.installed("temporal", *TEMPORAL_SDK)
    try:
        build(TEMPORAL)
    except MissingError as error:
        raise UnavailableError(str(error)) from error
    server = first_line(str(TEMPORAL.program("temporal")), "--version")
    return f"{server}, temporalio {environment.version_of(python, 'temporalio')}"


def _temporal(case: Case, folder: Path) -> Command:
    python = environment.installed("temporal", *TEMPORAL_SDK)
    server = str(TEMPORAL.program("temporal"))
    words = script(python, "run_temporal.py", case.width, case.depth, server)
    kind = ("flows",) if case.name == FLOWS.name else ()
    return Command(words=(*words, *kind), folder=folder, environment=bytecode())


def _find_airflow() -> str:
    python = environment.installed("airflow", *AIRFLOW)
    return environment.version_of(python, "apache-airflow")


def _airflow(case: Case, folder: Path) -> Command:
    python = environment.installed("airflow", *AIRFLOW)
    words = script(python, "run_airflow.py", case.width, case.depth)
    return Command(words=words, folder=folder, environment=bytecode())


class ArgoCluster:
    """A cluster that is started when it is first needed."""

    def __init__(self) -> None:
        self._cluster: Cluster | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def find(self) -> str:
        """Start it."""
        # A short path: the sockets below it have names of at most 107 bytes.
        self._folder = tempfile.TemporaryDirectory(prefix="argo-")
        cluster = Cluster(Path(self._folder.name) / "k")
        self._cluster = cluster
        try:
            cluster.up(Wish(argo=True))
        except MissingError as error:
            self.close()
            raise UnavailableError(str(error)) from error
        except BaseException:
            self.close()
            raise
        return ARGO.version

    def command(self, case: Case, folder: Path) -> Command:
        """Give the command that runs a workflow on it."""
        assert self._cluster is not None
        path = folder / "workflow.json"
        path.write_text(json.dumps(workflow(case, image="busybox:stable-musl")))
        words = script(Path(sys.executable), "run_argo.py", path, self._cluster.home)
        return Command(
            words=words, folder=folder, environment={**bytecode(), "PYTHONPATH": str(ROOT)}
        )

    def close(self) -> None:
        """End it."""
        if self._cluster is not None:
            self._cluster.down()
        if self._folder is not None:
            self._folder.cleanup()
