"""The Argo Server's API over a real port: workflows and lists, and the traps of its clients."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.argo_server import COMPLETED, NS, PHASE, ArgoServer, flow, names_of, shell
from tiphys.api.argo.fields import Fields

# --- workflows ----------------------------------------------------------------------------------


def test_a_created_workflow_runs_and_is_shown_in_argos_shape(server: ArgoServer) -> None:
    created = server.ask("POST", NS, {"workflow": flow(prefix="made-")})

    assert created.status == 200
    meta = created.json["metadata"]
    assert meta["name"].startswith("made-")
    assert meta["namespace"] == "default"
    done = server.ended(meta["name"])
    assert done["status"]["phase"] == "Succeeded"
    assert done["metadata"]["labels"][PHASE] == "Succeeded"
    assert done["metadata"]["labels"][COMPLETED] == "true"
    (node,) = done["status"]["nodes"].values()
    assert (node["id"], node["type"], node["phase"]) == (meta["name"], "Pod", "Succeeded")


def test_latest_is_the_newest_workflow(server: ArgoServer) -> None:
    name = server.submit(flow(prefix="newest-"))

    assert server.ask("GET", f"{NS}/@latest").json["metadata"]["name"] == name


def test_a_name_that_is_taken_is_a_conflict(server: ArgoServer) -> None:
    server.submit({**flow(), "metadata": {"name": "twin"}})

    answer = server.ask("POST", NS, {"workflow": {**flow(), "metadata": {"name": "twin"}}})

    assert (answer.status, answer.json["code"]) == (409, 6)
    assert "twin" in answer.json["message"]


def test_a_text_that_yaml_would_misread_arrives_as_it_was_sent(server: ArgoServer) -> None:
    odd = "a\u2028b \U0001f600 \x7f \u0085 {{'x'}}"
    name = server.submit(flow(prefix="odd-", annotations={"odd": odd}))

    assert server.ask("GET", f"{NS}/{name}").json["metadata"]["annotations"]["odd"] == odd


@pytest.mark.parametrize(
    ("body", "status", "code", "word"),
    [
        (b"{", 400, 3, "body"),
        (b'{"workflow": {}, "workflow": {}}', 400, 3, "twice"),
        (b"\xff", 400, 3, "UTF-8"),
        (b"[" * 100_000, 400, 3, "deep"),
        (b"[]", 400, 3, "object"),
        (b"{}", 400, 3, "workflow"),
        (b" " * (2 * 1024 * 1024 + 1), 413, 3, "bytes"),
        ({"workflow": {"kind": "Pod"}}, 400, 3, "Pod"),
        ({"workflow": flow(namespace="other")}, 400, 3, "namespace"),
        ({"workflow": {**flow(), "spec": {"entrypoint": "no"}}}, 400, 3, "no"),
        ({"workflow": {**flow(), "spec": {"templates": 3}}}, 400, 3, "templates"),
    ],
)
def test_what_cannot_be_used_is_refused_in_argos_words(
    server: ArgoServer, body: Any, status: int, code: int, word: str
) -> None:
    answer = server.ask("POST", NS, body)

    assert (answer.status, answer.json["code"]) == (status, code)
    assert word in answer.json["message"]


def test_a_dry_run_leaves_nothing_behind(server: ArgoServer) -> None:
    request = {"workflow": flow(prefix="dry-"), "createOptions": {"dryRun": ["All"]}}
    plain = server.ask("POST", NS, request)
    named = server.ask("POST", NS, {"workflow": flow(prefix="dry-"), "serverDryRun": True})

    assert plain.json["metadata"].get("name") is None
    assert named.json["metadata"]["name"].startswith("dry-")
    assert server.ask("GET", f"{NS}/{named.json['metadata']['name']}").status == 404


def test_lint_gives_a_sound_workflow_back_and_tells_what_is_wrong_with_another(
    server: ArgoServer,
) -> None:
    wrong = {**flow(), "spec": {"entrypoint": "none", "templates": [shell("true")]}}

    assert server.ask("POST", f"{NS}/lint", {"workflow": flow()}).json["spec"] == flow()["spec"]
    answer = server.ask("POST", f"{NS}/lint", {"workflow": wrong})
    assert answer.status == 400
    assert "none" in answer.json["message"]


def test_delete_answers_with_an_empty_object_and_ends_what_runs(server: ArgoServer) -> None:
    name = server.submit(flow(shell("sleep 100")))

    answer = server.ask("DELETE", f"{NS}/{name}")

    assert (answer.status, answer.json) == (200, {})
    gone = server.ask("GET", f"{NS}/{name}")
    assert (gone.status, gone.json["code"]) == (404, 5)


def test_a_privileged_container_is_refused(server: ArgoServer) -> None:
    template = shell("true")
    template["container"]["securityContext"] = {"privileged": True}

    answer = server.ask("POST", NS, {"workflow": flow(template)})

    assert (answer.status, answer.json["code"]) == (403, 7)


# --- lists --------------------------------------------------------------------------------------


def test_lists_go_by_labels_and_the_phase_is_one(server: ArgoServer) -> None:
    good = server.submit(flow(prefix="lab-", labels={"lab": "list"}))
    bad = server.submit(flow(shell("exit 1"), prefix="lab-", labels={"lab": "list"}))
    server.ended(good)
    server.ended(bad)

    def listed(selector: str) -> list[str]:
        return names_of(server.ask("GET", NS, listOptions__labelSelector=selector))

    assert listed("lab=list") == [bad, good]
    assert listed(f"lab=list,{PHASE} in (Failed,Error)") == [bad]
    assert listed(f"lab=list,{COMPLETED}!=true") == []
    assert server.ask("GET", NS, listOptions__labelSelector="a b").json["code"] == 3


def test_pages_join_into_the_whole_list_even_if_more_workflows_come(server: ArgoServer) -> None:
    made = [server.submit(flow(prefix="page-", labels={"lab": "page"})) for _ in range(5)]
    query = {"listOptions__labelSelector": "lab=page", "listOptions__limit": "2"}

    first = server.ask("GET", NS, **query)
    server.submit(flow(prefix="page-", labels={"lab": "page"}))
    seen = names_of(first)
    token = first.json["metadata"]["continue"]
    while token:
        page = server.ask("GET", NS, listOptions__continue=token, **query)
        seen += names_of(page)
        token = page.json["metadata"].get("continue")

    assert seen == made[::-1]


def test_an_empty_namespace_in_the_path_means_all_of_them(server: ArgoServer) -> None:
    here = server.submit(flow(prefix="all-", labels={"lab": "all"}))
    there = server.submit(flow(prefix="all-", labels={"lab": "all"}), "yonder")

    answer = server.ask("GET", "/api/v1/workflows/", listOptions__labelSelector="lab=all")

    assert names_of(answer) == [there, here]


@pytest.mark.parametrize(
    ("how", "name", "found"),
    [("Exact", "nick-a", 1), ("Prefix", "nick-", 2), ("Contains", "ick", 2), ("Exact", "nick", 0)],
)
def test_names_are_found_whole_or_in_part(
    server: ArgoServer, how: str, name: str, found: int
) -> None:
    for each in ("nick-a", "nick-b"):
        server.ask("POST", NS, {"workflow": {**flow(), "metadata": {"name": each}}})

    selector = f"metadata.name={name}"
    answer = server.ask("GET", NS, listOptions__fieldSelector=selector, nameFilter=how)

    assert len(names_of(answer)) == found


def test_a_list_counts_what_is_left_where_that_is_asked_for(server: ArgoServer) -> None:
    for _ in range(3):
        server.submit(flow(labels={"lab": "count"}))

    answer = server.ask(
        "GET",
        NS,
        listOptions__labelSelector="lab=count",
        listOptions__limit="1",
        listOptions__fieldSelector="ext.showRemainingItemCount=true",
    )

    assert answer.json["metadata"]["remainingItemCount"] == 2


def test_only_the_wanted_fields_are_sent(server: ArgoServer) -> None:
    name = server.submit(flow(labels={"lab": "fields"}))
    server.ended(name)

    wanted = server.ask("GET", f"{NS}/{name}", fields="metadata.name,status.phase").json
    without = server.ask("GET", f"{NS}/{name}", fields="-status,spec").json
    fields = "metadata,items.metadata.name"
    listed = server.ask("GET", NS, listOptions__labelSelector="lab=fields", fields=fields).json

    assert wanted == {"metadata": {"name": name}, "status": {"phase": "Succeeded"}}
    assert set(without) == {"apiVersion", "kind", "metadata"}
    assert listed["items"] == [{"metadata": {"name": name}}]


def test_fields_name_whole_words() -> None:
    value = {"status": {"phase": "x", "phases": "y"}, "items": [{"a": 1, "b": 2}]}

    assert Fields.parse("status.phase,items.a").clean(value) == {
        "status": {"phase": "x"},
        "items": [{"a": 1}],
    }
    assert Fields.parse("-status.phase,items.a").clean(value) == {
        "status": {"phases": "y"},
        "items": [{"b": 2}],
    }
