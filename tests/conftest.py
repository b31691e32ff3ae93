"""What holds for all tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

# How long an example takes is the machine's affair, and no property of what is tested.
settings.register_profile("no deadline", deadline=None)
settings.load_profile("no deadline")

HERE = Path(__file__).parent
FOREIGN = tuple(HERE / name for name in ("cluster", "ui", "integration/temporal"))
"""Tests that drive a whole cluster, a browser or a Temporal server, none of which is ours. On a
machine with too much to do these fall behind; such a test may try twice more, and the summary says
which did (``R``)."""


RERUNS = int(os.environ.get("TIPHYS_RERUNS", "2"))
"""0 shows the first failure of a test that passes at a later try."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if any(folder in item.path.parents for folder in FOREIGN):
            item.add_marker(pytest.mark.flaky(reruns=RERUNS, reruns_delay=5))
