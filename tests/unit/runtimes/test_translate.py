"""Tasks of one template are translated by a pattern, and become what they would be without it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest

from tiphys.errors import RuntimeFailure
from tiphys.ports import Task
from tiphys.runtimes import staging
from tiphys.runtimes.config import LocalConfig
from tiphys.runtimes.translate import MOST_PATTERNS, Translator
from tiphys.spec import model


class Maps:
    """Config maps that may change between two tasks."""

    def __init__(self) -> None:
        self.data: dict[str, str] = {"key": "first"}

    def config_map(self, _: str, __: str) -> Mapping[str, str] | None:
        return self.data

    def secret(self, _: str, __: str) -> Mapping[str, bytes] | None:
        return None


def translator(folder: Path, maps: Maps | None = None) -> Translator:
    return Translator(folder, LocalConfig(max_processes=7), maps or Maps())


def task(number: int, template: model.Template, name: str = "wf[0].a", **more: object) -> Task:
    given = Task(
        id=f"uid.{number}",
        workflow="wf",
        namespace="argo",
        workflow_uid="uid",
        node_id=f"wf-{number}",
        node_name=f"{name}({number}:x)",
        template=template,
    )
    return msgspec.structs.replace(given, **more)


def template(text: str) -> model.Template:
    return msgspec.json.decode(text, type=model.Template)


ENV = '{"name":"leaf","container":{"image":"i","command":["sh","-c","$(A) $(B)"],"env":[%s]}}'
TEMPLATES = {
    "plain": '{"name":"leaf","container":{"image":"i","command":["/bin/true"]}}',
    "own words for Argo's names": ENV
    % '{"name":"HOSTNAME","value":"mine"},{"name":"A","value":"$(HOSTNAME)!"}',
    "an attempt's id of its own": ENV % '{"name":"TIPHYS_ATTEMPT_ID","value":"stolen"}',
    "a value that is read": ENV
    % '{"name":"B","valueFrom":{"configMapKeyRef":{"name":"m","key":"key"}}}',
    "a field of the pod": ENV
    % '{"name":"B","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}}',
    "all of a map": '{"name":"leaf","container":{"image":"i","command":["true"],'
    '"envFrom":[{"configMapRef":{"name":"m"}}]}}',
    "limits, a user, a deadline, outputs": '{"name":"leaf","activeDeadlineSeconds":"9",'
    '"container":{"image":"i","command":["true"],"workingDir":"/w","resources":{"limits":'
    '{"memory":"1Gi","cpu":"2"}},"securityContext":{"runAsUser":4}},"outputs":{"parameters":'
    '[{"name":"o","valueFrom":{"path":"/tmp/o"}}]}}',
    "a script": '{"name":"leaf","script":{"image":"i","command":["sh"],"source":"exit 0"}}',
    "a sidecar": '{"name":"leaf","container":{"image":"i","command":["true"]},'
    '"sidecars":[{"name":"s","image":"i","command":["true"]}]}',
    "an interpreter": '{"name":"leaf","container":{"image":"i","command":["python","-V"]}}',
    "an input": '{"name":"leaf","container":{"image":"i","command":["true"]},"inputs":'
    '{"artifacts":[{"name":"a","path":"/in","raw":{"data":"x"}}]}}',
}


@pytest.mark.parametrize("isolation", ["process", "sandbox"])
@pytest.mark.parametrize("text", TEMPLATES.values(), ids=TEMPLATES)
def test_a_later_task_of_a_template_is_what_it_would_be_alone(
    tmp_path: Path, text: str, isolation: str
) -> None:
    maps, given = Maps(), template(text)
    ours = translator(tmp_path, maps)
    ours.translate(task(1, given), isolation)
    maps.data = {"key": "second"}
    later = task(2, given, "wf[1].b", deadline=5.0)

    plan = ours.translate(later, isolation)

    alone = translator(tmp_path, maps).translate(later, isolation)
    assert plan == alone


def test_a_patch_is_not_passed_over_for_a_template_that_is_known(tmp_path: Path) -> None:
    ours, given = translator(tmp_path), template(TEMPLATES["plain"])
    ours.translate(task(1, given), "sandbox")
    patch = '{"containers":[{"name":"main","env":[{"name":"P","value":"1"}]}]}'

    patched = ours.translate(task(2, given, pod_spec_patch=patch), "sandbox")
    after = ours.translate(task(3, given), "sandbox")

    assert patched.attempt.containers[0].env["P"] == "1"
    assert "P" not in after.attempt.containers[0].env


def test_a_name_that_is_no_text_is_told_for_each_task(tmp_path: Path) -> None:
    ours, given = translator(tmp_path), template(TEMPLATES["plain"])
    ours.translate(task(1, given), "sandbox")

    with pytest.raises(RuntimeFailure, match="half of one"):
        ours.translate(task(2, given, node_id="\ud800"), "sandbox")


def test_many_templates_do_not_fill_the_memory(tmp_path: Path) -> None:
    ours = translator(tmp_path)

    for number in range(MOST_PATTERNS * 3):
        ours.translate(task(number, template(TEMPLATES["plain"])), "sandbox")

    assert len(ours._patterns) <= MOST_PATTERNS


def test_a_task_whose_only_file_is_missing_claims_no_place(tmp_path: Path) -> None:
    given = template(TEMPLATES["an input"])
    plan = translator(tmp_path).translate(task(1, given), "process")
    was_placed = plan.placed

    staging._drop_mounts(plan, {str(load.destination) for load in plan.loads})

    assert was_placed
    assert not plan.placed
