"""Ids and names are Argo's to the letter."""

from __future__ import annotations

import pytest

from tiphys.core.name import (
    fnv1a32,
    is_dns1123_label,
    is_dns1123_subdomain,
    node_id,
    pod_name,
)


@pytest.mark.parametrize(
    ("text", "value"), [("", 0x811C9DC5), ("a", 0xE40C292C), ("foobar", 0xBF9CF968)]
)
def test_the_hash_is_fnv1a(text: str, value: int) -> None:
    assert fnv1a32(text) == value


def test_the_root_has_the_workflow_s_name_as_its_id() -> None:
    assert node_id("wf", "wf") == "wf"
    assert node_id("wf", "wf.a") == f"wf-{fnv1a32('wf.a')}"


def test_a_pod_name_holds_the_template_and_the_hash_of_the_node() -> None:
    assert pod_name("wf", "wf.a", "main") == f"wf-main-{fnv1a32('wf.a')}"
    assert pod_name("wf", "wf.a", "") == f"wf-{fnv1a32('wf.a')}"
    assert pod_name("wf", "wf", "main") == "wf"
    assert pod_name("wf", "wf.a", "main", "wf-1", version="v1") == "wf-1"


def test_a_long_prefix_is_cut_so_that_the_pod_name_fits() -> None:
    name = pod_name("w" * 63, "node", "t" * 250)

    assert name == f"{'w' * 63}-{'t' * 178}-{fnv1a32('node')}"
    assert len(name) <= 253


@pytest.mark.parametrize("text", ["a", "a-b", "0a"])
def test_a_good_label_is_accepted(text: str) -> None:
    assert is_dns1123_label(text)


@pytest.mark.parametrize("text", ["", "A", "-a", "a-", "a.b", "a_b", "a" * 64, "a\n"])
def test_a_bad_label_is_refused(text: str) -> None:
    assert not is_dns1123_label(text)


def test_a_subdomain_may_have_dots() -> None:
    assert is_dns1123_subdomain("a.b")
    assert not is_dns1123_subdomain("a..b")
    assert not is_dns1123_subdomain("a" * 254)
