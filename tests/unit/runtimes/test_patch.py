"""What of a podSpecPatch has a meaning without pods."""

from __future__ import annotations

import pytest

from tiphys.errors import RuntimeFailure
from tiphys.runtimes.environment import resource_field
from tiphys.runtimes.patch import apply
from tiphys.spec import model

TEMPLATE = model.Template(
    name="t",
    container=model.Container(
        command=("x",),
        env=(model.EnvVar(name="A", value="1"), model.EnvVar(name="B", value="2")),
        resources=model.ResourceRequirements(limits={"cpu": "1", "memory": "1Gi"}),
    ),
)


def test_limits_and_variables_of_main_are_merged() -> None:
    text = (
        '{"containers": [{"name": "main", "resources": {"limits": {"memory": "2Gi"}},'
        ' "env": [{"name": "B", "value": "3"}]}], "nodeSelector": {"a": "b"}}'
    )

    patched = apply(TEMPLATE, text).container

    assert patched is not None
    assert patched.resources.limits == {"cpu": "1", "memory": "2Gi"}
    assert [(v.name, v.value) for v in patched.env] == [("A", "1"), ("B", "3")]


def test_the_templates_own_patch_comes_last() -> None:
    own = model.Template(
        name="t",
        container=model.Container(command=("x",)),
        pod_spec_patch="containers:\n- name: main\n  resources: {limits: {cpu: 2}}\n",
    )

    patched = apply(own, "containers: [{name: main, resources: {limits: {cpu: 1}}}]").container

    assert patched is not None
    assert patched.resources.limits == {"cpu": "2"}


def test_null_takes_a_limit_away() -> None:
    text = "containers: [{name: main, resources: {limits: {memory: null}, requests: {cpu: null}}}]"

    patched = apply(TEMPLATE, text).container

    assert patched is not None
    assert (patched.resources.limits, patched.resources.requests) == ({"cpu": "1"}, {})


def test_keys_and_values_are_text_whatever_they_look_like() -> None:
    text = "note: 2001-99-99\ncontainers: [{name: main, resources: {limits: {1: 2}}}]"

    patched = apply(TEMPLATE, text).container

    assert patched is not None
    assert patched.resources.limits == {"cpu": "1", "memory": "1Gi", "1": "2"}


def test_a_patch_may_set_the_deadline() -> None:
    assert apply(TEMPLATE, "activeDeadlineSeconds: 5").active_deadline_seconds == "5"


@pytest.mark.parametrize(
    "text",
    [
        "containers: 5",
        "[1]",
        "{",
        "containers: [{env: 1, name: main}]",
        "containers: [[name]]",
        "[" * 3000,
        "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [{f'*a{n - 1}, ' * 9}]\n" for n in range(1, 12)),
    ],
)
def test_a_patch_that_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(RuntimeFailure, match="PodSpecPatch"):
        apply(TEMPLATE, text)


@pytest.mark.parametrize(
    ("resource", "divisor", "expected"),
    [
        ("limits.cpu", None, "2"),
        ("limits.cpu", "1m", "1500"),
        ("limits.memory", None, "67108864"),
        ("limits.memory", "1Mi", "64"),
        ("requests.memory", "1Mi", "33"),
    ],
)
def test_amounts_are_divided_and_rounded_up(
    resource: str, divisor: str | None, expected: str
) -> None:
    given = model.ResourceRequirements(
        limits={"cpu": "1500m", "memory": "64Mi"}, requests={"memory": "33000Ki"}
    )

    field = model.ResourceFieldSelector(resource=resource, divisor=divisor)

    assert resource_field(field, given) == expected
