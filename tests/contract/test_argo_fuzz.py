"""Whatever is sent to the Argo Server's API, it answers in its clients' shape and never breaks."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.contract.argo_server import ArgoServer, flow
from tiphys.api.argo import entries
from tiphys.api.argo.feed import Feed

NAMES = (
    "listOptions.labelSelector",
    "listOptions.fieldSelector",
    "listOptions.limit",
    "listOptions.continue",
    "listOptions.resourceVersion",
    "nameFilter",
    "namePrefix",
    "namePattern",
    "createdAfter",
    "finishedBefore",
    "fields",
    "uid",
    "namespace",
    "podName",
    "grep",
    "selector",
    "logOptions.container",
    "logOptions.tailLines",
    "logOptions.sinceSeconds",
    "logOptions.sinceTime",
    "logOptions.timestamps",
)
VALUES = st.one_of(
    st.sampled_from(
        ["", "0", "-1", "²", "1e9", "9" * 40, "a=b", "metadata.name=x", "1@nan", "true", "..", "("]
    ),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=6,
)
KEYS = (
    "workflow",
    "template",
    "createOptions",
    "serverDryRun",
    "resourceKind",
    "resourceName",
    "submitOptions",
    "parameters",
    "nodeFieldSelector",
    "phase",
    "outputParameters",
    "message",
    "metadata",
    "spec",
)
BODIES = st.dictionaries(
    st.sampled_from(KEYS), JSON | st.dictionaries(st.sampled_from(KEYS), JSON, max_size=3)
)
LOOKS = [p for m, p, _ in entries(Feed()) if m == "GET" and "workflow-events" not in p]
CHANGES = [(m, p) for m, p, _ in entries(Feed()) if m in {"POST", "PUT"}]
RELAXED = settings(
    max_examples=120,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@pytest.fixture(scope="module")
def target(server: ArgoServer) -> str:
    name = server.submit({**flow(), "metadata": {"name": "target"}})
    server.ended(name)
    return name


def filled(path: str, name: str) -> str:
    for part in ("{name}", "{pod}", "{node}", "{id}", "{uid}"):
        path = path.replace(part, name)
    named = {"{namespace}": "default", "{artifact}": "a", "{place}": "workflows", "{way}": "inputs"}
    for part, value in named.items():
        path = path.replace(part, value)
    return path


@given(path=st.sampled_from(LOOKS), query=st.dictionaries(st.sampled_from(NAMES), VALUES))
@RELAXED
def test_no_question_breaks_it(
    server: ArgoServer, target: str, path: str, query: dict[str, str]
) -> None:
    dotted = {key.replace(".", "__"): value for key, value in query.items()}

    answer = server.ask("GET", filled(path, target), **dotted)

    assert answer.status < 500 or answer.status == 501, answer.body
    if answer.status != 200:
        assert set(answer.json) == {"code", "message"}


@given(route=st.sampled_from(CHANGES), body=BODIES)
@RELAXED
def test_no_request_breaks_it(
    server: ArgoServer, target: str, route: tuple[str, str], body: dict[str, Any]
) -> None:
    method, path = route

    answer = server.ask(method, filled(path, target), body)

    assert answer.status < 500 or answer.status == 501, answer.body
    if answer.status != 200:
        assert set(answer.json) == {"code", "message"}


@pytest.mark.parametrize("text", [b'{"message": "\\ud800"}', b'{"a": NaN}', b'{"a": 1e999}'])
def test_json_that_is_none_is_refused_or_harmless(
    server: ArgoServer, target: str, text: bytes
) -> None:
    answer = server.ask("PUT", f"/api/v1/workflows/default/{target}/stop", text)

    assert answer.status == 400
