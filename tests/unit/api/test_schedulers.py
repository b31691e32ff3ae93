"""Which schedulers a server says that it has."""

from __future__ import annotations

from pathlib import Path

import pytest

from tiphys.api.schedulers import available_schedulers
from tiphys.config import Config, SchedulerSettings, VolcanoSettings
from tiphys.ports import SCHEDULERS, VOLCANO
from tiphys.runtimes.kubernetes_config import KubernetesConfig

KUBECONFIG = """\
current-context: here
contexts: [{name: here, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}]
users: [{name: u, user: {token: t}}]
"""


@pytest.fixture
def known(tmp_path: Path) -> KubernetesConfig:
    path = tmp_path / "kubeconfig"
    path.write_text(KUBECONFIG)
    return KubernetesConfig(kubeconfig=str(path))


def test_without_a_cluster_there_is_this_machine(tmp_path: Path) -> None:
    nowhere = KubernetesConfig(kubeconfig=str(tmp_path / "nothing"))

    assert available_schedulers(Config(kubernetes=nowhere)) == ["local"]


def test_volcano_is_offered_only_where_it_is_switched_on(known: KubernetesConfig) -> None:
    off = Config(kubernetes=known)
    on = Config(
        kubernetes=known, scheduler=SchedulerSettings(volcano=VolcanoSettings(enabled=True))
    )

    assert available_schedulers(off) == [each for each in SCHEDULERS if each != VOLCANO]
    assert available_schedulers(on) == list(SCHEDULERS)
