"""The dashboards ask for numbers that a server really has."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tests.contract.api_server import ApiServer

DASHBOARDS = Path(__file__).resolve().parents[2] / "deploy/helm/tiphys/dashboards"
SUFFIX = re.compile(r"_(?:bucket|count|sum)$")
NAME = re.compile(r"\b((?:queue|workflow|tiphys|volcano|schedule)_[a-z_]+)\b(?!\s*[=!]~?)")


def test_every_metric_of_the_dashboards_is_one_of_the_server(tmp_path: Path) -> None:
    with ApiServer(tmp_path) as server:
        told = server.ask("GET", "/metrics").raw.decode()
    there = set(re.findall(r"^# TYPE (\S+)", told, re.MULTILINE))

    for path in DASHBOARDS.glob("*.json"):
        named = {
            name
            for panel in json.loads(path.read_text())["panels"]
            for target in panel["targets"]
            for name in NAME.findall(_without_labels(target["expr"]))
        }
        assert named, path.name
        assert {SUFFIX.sub("", name) for name in named} <= there, path.name


def _without_labels(expression: str) -> str:
    """Leave out what stands in braces, and the labels of ``by``."""
    return re.sub(r"\{[^}]*\}|by \([^)]*\)", "", expression)
