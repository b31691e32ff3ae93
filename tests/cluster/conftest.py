"""One real cluster for all tests of a session, where this machine can have one."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cluster.deck import Deck
from tests.cluster.dock import Dock
from tests.cluster.helm import Helm
from tests.cluster.rig.build import MissingError, build
from tests.cluster.rig.cluster import Cluster, Wish
from tests.cluster.rig.daemon import Daemons
from tests.cluster.rig.parts import HELM
from tests.cluster.rig.plane import ControlPlane

# The first test may have to wait until everything is built.
PATIENCE = 3600


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.timeout(PATIENCE))


class Shared:
    """The one cluster of several test processes: the first brings it up, the last takes it down."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._state = folder / "state.json"
        self.cluster = Cluster(folder / "k")

    @contextmanager
    def _alone(self) -> Iterator[dict[str, object]]:
        self._folder.mkdir(parents=True, exist_ok=True)
        with (self._folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            state = json.loads(self._state.read_text()) if self._state.exists() else {}
            yield state
            self._state.write_text(json.dumps(state))

    def join(self, wish: Wish) -> str:
        """Have the cluster with what is wished for; give the reason where it cannot be had."""
        with self._alone() as state:
            state["users"] = int(str(state.get("users", 0))) + 1
            names = {"argo": wish.argo, "volcano": wish.volcano, "kueue": wish.kueue}
            key = next((name for name, wished in names.items() if wished), "base")
            if key not in state:
                try:
                    self.cluster.up(wish)
                    state[key] = ""
                except MissingError as error:
                    state[key] = str(error)
            return str(state[key])

    def leave(self) -> None:
        """Say that this process needs it no more."""
        with self._alone() as state:
            state["users"] = int(str(state["users"])) - 1
            if not state["users"]:
                self.cluster.down()
                state.clear()


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Shared:
    base = tmp_path_factory.getbasetemp()
    # Workers of pytest-xdist have folders of their own in a common one.
    common = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    return Shared(common / "cluster")


@pytest.fixture(scope="session")
def cluster(shared: Shared) -> Iterator[ControlPlane]:
    """Give a running cluster, or skip the test with the reason why there is none.

    ``TIPHYS_TEST_CLUSTER`` names the folder of one that is up already.
    """
    if given := os.environ.get("TIPHYS_TEST_CLUSTER"):
        yield ControlPlane(Path(given), Daemons(Path(given)))
        return
    reason = shared.join(Wish())
    try:
        if reason:
            pytest.skip(reason)
        home = shared.cluster.home
        yield ControlPlane(home, Daemons(home))
    finally:
        shared.leave()


@pytest.fixture(scope="session")
def argo(shared: Shared, cluster: ControlPlane) -> Iterator[ControlPlane]:
    """Give the cluster with Argo's controller."""
    if "TIPHYS_TEST_CLUSTER" in os.environ:
        yield cluster
        return
    reason = shared.join(Wish(argo=True))
    try:
        if reason:
            pytest.skip(reason)
        yield cluster
    finally:
        shared.leave()


@pytest.fixture(scope="session")
def volcano(shared: Shared, cluster: ControlPlane) -> Iterator[ControlPlane]:
    """Give the cluster with Volcano."""
    if "TIPHYS_TEST_CLUSTER" in os.environ:
        yield cluster
        return
    reason = shared.join(Wish(volcano=True))
    try:
        if reason:
            pytest.skip(reason)
        yield cluster
    finally:
        shared.leave()


@pytest.fixture(scope="session")
def kueue(shared: Shared, argo: ControlPlane) -> Iterator[ControlPlane]:
    """Give the cluster with Argo and Kueue."""
    if "TIPHYS_TEST_CLUSTER" in os.environ:
        yield argo
        return
    reason = shared.join(Wish(kueue=True))
    try:
        if reason:
            pytest.skip(reason)
        yield argo
    finally:
        shared.leave()


@pytest.fixture
def dock(kueue: ControlPlane, tmp_path: Path) -> Iterator[Dock]:
    """Give a namespace with queues of Kueue."""
    dock = Dock(kueue, tmp_path)
    yield dock
    dock.close()


@pytest.fixture(scope="session")
def deck(volcano: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deck]:
    """Give one server for Volcano to all tests of a process."""
    with Deck(tmp_path_factory.mktemp("deck"), volcano, f"d-{os.urandom(4).hex()}") as deck:
        deck.start()
        yield deck


@pytest.fixture
def helm(cluster: ControlPlane, tmp_path: Path) -> Iterator[Helm]:
    """Give a ``tiphys`` with a data directory and a namespace of its own in the cluster."""
    namespace = f"t-{os.urandom(4).hex()}"
    thing = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
    cluster.api.apply(thing)
    with Helm(tmp_path, cluster, namespace) as helm:
        yield helm
    cluster.api.call("DELETE", f"/api/v1/namespaces/{namespace}")


@pytest.fixture(scope="session")
def helm_program(cluster: ControlPlane) -> Path:
    """Give the program ``helm``, which is another one than the above."""
    try:
        build(HELM)
    except MissingError as error:
        pytest.skip(str(error))
    return HELM.program("helm")
