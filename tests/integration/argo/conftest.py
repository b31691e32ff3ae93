"""A server, and real clients to try on it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.argo_server import ArgoServer, serving
from tests.integration.argo.cache import clients_python, command_path


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ArgoServer]:
    with serving(tmp_path_factory.mktemp("argo-clients") / "data") as server:
        yield server


@pytest.fixture(scope="session")
def python() -> Path:
    """Give an interpreter that has Hera and the SDK."""
    try:
        return clients_python()
    except RuntimeError as error:
        pytest.skip(f"Hera and Argo's SDK cannot be installed here: {error}")


@pytest.fixture(scope="session")
def argo() -> Path:
    """Give the real ``argo`` command."""
    path = command_path()
    if not path.exists():
        pytest.skip(
            "the argo command is not built here: python -m tests.integration.argo.build_command"
        )
    return path
