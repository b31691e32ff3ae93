"""What the controller keeps of the cluster, and what it reads from it once."""

from __future__ import annotations

from typing import Any

from tiphys.kube.watch import Changed, Gone, Listed
from tiphys.kueue.controller import Key, Shelf, podset_limit


def thing(name: str, owner: str = "flow") -> dict[str, Any]:
    return {"metadata": {"namespace": "n", "name": name, "owner": owner}}


def owner_of(each: dict[str, Any]) -> Key:
    return "n", each["metadata"]["owner"]


def test_things_are_found_by_the_workflow_that_they_belong_to() -> None:
    shelf = Shelf(owner_of)

    shelf.hear(Listed([thing("a"), thing("b", "other")]))

    assert [each["metadata"]["name"] for each in shelf.of(("n", "flow"))] == ["a"]


def test_a_change_tells_which_workflow_it_is_about() -> None:
    shelf = Shelf(owner_of)

    assert shelf.hear(Changed(thing("a"))) == {("n", "flow")}
    assert shelf.hear(Gone(thing("a"))) == {("n", "flow")}
    assert shelf.of(("n", "flow")) == []


def test_what_moves_to_another_workflow_is_news_for_both() -> None:
    shelf = Shelf(owner_of)
    shelf.hear(Changed(thing("a")))

    assert shelf.hear(Changed(thing("a", "other"))) == {("n", "flow"), ("n", "other")}


def test_what_is_missing_from_a_new_list_is_gone() -> None:
    shelf = Shelf(owner_of)
    shelf.hear(Listed([thing("a"), thing("b")]))

    touched = shelf.hear(Listed([thing("b")]))

    assert touched == {("n", "flow")}
    assert shelf.get(("n", "a")) is None


def test_the_number_of_podsets_is_what_the_clusters_definition_allows() -> None:
    podsets = {"properties": {"podSets": {"maxItems": 18}}}
    schema = {"openAPIV3Schema": {"properties": {"spec": podsets}}}

    assert podset_limit({"spec": {"versions": [{"name": "v1beta2", "schema": schema}]}}) == 18
    assert podset_limit({"spec": {"versions": [{"name": "v1beta2", "schema": {}}]}}) == 8
