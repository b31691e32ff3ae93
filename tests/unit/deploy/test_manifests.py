"""What is written down twice in deploy/ is the same, and fits what the programs expect."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tiphys.config import Config
from tiphys.scheduling.kueue_manifest import FLAVOR
from tiphys.spec.shape import fields_of

DEPLOY = Path(__file__).resolve().parents[3] / "deploy"
CHART = DEPLOY / "helm/tiphys"


def read(path: Path) -> list[Any]:
    return [thing for thing in yaml.safe_load_all(path.read_text()) if thing]


def test_the_chart_grants_what_the_plain_manifests_grant() -> None:
    for name in ("tiphys", "argo-workflow"):
        assert read(CHART / f"rules/{name}.yaml") == [_role(name)["rules"]], name


def test_the_chart_grants_for_queues_what_the_plain_manifest_grants() -> None:
    (role, _) = read(DEPLOY / "kubernetes/rbac-queues.yaml")

    assert read(CHART / "rules/queues.yaml") == [role["rules"]]


def _role(name: str) -> Any:
    return next(
        thing
        for thing in read(DEPLOY / "kubernetes/rbac.yaml")
        if thing["kind"] == "Role" and thing["metadata"]["name"] == name
    )


def test_the_chart_has_the_same_rules_for_pods() -> None:
    assert read(CHART / "rules/policy.yaml") == read(DEPLOY / "kubernetes/policy.yaml")


def test_no_role_may_do_everything() -> None:
    for role in (_role("tiphys"), _role("argo-workflow")):
        for rule in role["rules"]:
            assert "*" not in (*rule["verbs"], *rule["resources"], *rule["apiGroups"])


def test_the_settings_of_the_manifests_are_settings() -> None:
    (config, *_) = read(DEPLOY / "kubernetes/server.yaml")
    plain = yaml.safe_load(config["data"]["tiphys.yaml"])
    (values,) = read(CHART / "values.yaml")

    known = set(fields_of(Config))
    assert set(plain) <= known
    assert set(values["config"]) <= known


def test_kubernetes_does_not_set_the_port_of_the_server() -> None:
    (*_, plain) = read(DEPLOY / "kubernetes/server.yaml")

    # A Service named tiphys would become TIPHYS_PORT=tcp://10.… in every pod beside it.
    assert plain["spec"]["template"]["spec"]["enableServiceLinks"] is False
    assert "enableServiceLinks: false" in (CHART / "templates/server.yaml").read_text()


def test_queues_for_kueue_have_the_names_of_the_presets() -> None:
    kueue, volcano = read(DEPLOY / "kueue-queues.yaml"), read(DEPLOY / "queues.yaml")

    presets = _names(volcano, "Queue")
    assert presets == _names(kueue, "ClusterQueue") == _names(kueue, "LocalQueue")
    flavors = {
        flavor["name"]
        for thing in kueue
        for group in thing.get("spec", {}).get("resourceGroups", ())
        for flavor in group["flavors"]
    }
    assert flavors == set(_names(kueue, "ResourceFlavor")) == {FLAVOR}


def _names(things: list[Any], kind: str) -> list[str]:
    return [thing["metadata"]["name"] for thing in things if thing["kind"] == kind]


def test_dashboards_are_read_and_lie_without_overlapping() -> None:
    for path in (CHART / "dashboards").glob("*.json"):
        panels = json.loads(path.read_text())["panels"]
        cells = [
            (x, y)
            for place in (panel["gridPos"] for panel in panels)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        ]
        assert len(cells) == len(set(cells)), path.name
        assert len({panel["id"] for panel in panels}) == len(panels)


def test_queues_are_shown_by_depth_wait_preemptions_and_service_level() -> None:
    text = (CHART / "dashboards/queues.json").read_text()

    named = set(re.findall(r"\b(?:queue|volcano)_[a-z_]+", text))
    assert {
        "queue_depth",
        "queue_pending_seconds",
        "queue_preemptions_total",
        "queue_sla_seconds",
    } <= named


def test_the_sandbox_script_is_sound() -> None:
    program = shutil.which("shellcheck")
    if program is None:
        pytest.skip("shellcheck is not installed")

    done = subprocess.run(
        [program, DEPLOY / "sandbox/bootstrap-kind.sh"], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stdout
