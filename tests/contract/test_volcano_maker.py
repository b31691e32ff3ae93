"""Making a flow on a cluster where things of its names may be there already."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from tests.contract.kube_server import Server, Told, serving
from tiphys.dispatch.volcano_making import Maker
from tiphys.dispatch.volcano_object import write_templates
from tiphys.errors import ClusterError, RuntimeFailure
from tiphys.kube.access import Access
from tiphys.kube.client import Client
from tiphys.ports import VOLCANO, Dispatch
from tiphys.runtimes.kubernetes_config import KubernetesPolicy
from tiphys.spec.parse import parse_text
from tiphys.testing.volcano import flow, step, task, template, text

Json = dict[str, Any]
TAKEN = Told(409, b'{"message": "taken", "reason": "AlreadyExists"}')
MISSING = Told(404, b'{"message": "no such thing"}')
FLOW = {"metadata": {"name": "f", "uid": "1", "labels": {"workflow-id": "u"}}}


def order(*, known: bool = False, **more: Any) -> Dispatch:
    bundle = parse_text(text([flow("f", [step("a")]), template("a", task("t", "true", **more))]))
    bundle.raise_errors()
    workflow = bundle.workflows[0].value
    return Dispatch(
        uid="u", name="f", namespace="n", scheduler=VOLCANO, workflow=workflow, known=known
    )


def told(thing: Json) -> Told:
    return Told(body=json.dumps(thing).encode())


def there(owner: str, **changes: Any) -> Json:
    """Give the template of the flow as it may be on the cluster."""
    (thing,) = write_templates(order(), "n", owner)
    thing["metadata"] |= {"uid": "t", "resourceVersion": "7"}
    thing["spec"] |= changes
    return thing


def make(
    given: Dispatch, *answers: Told, used: bool = False, policy: KubernetesPolicy | None = None
) -> tuple[Json, Server]:
    async def run(address: str) -> Json:
        client = Client(Access(server=address))
        try:
            maker = Maker(client, "n", "me", policy or KubernetesPolicy())
            return await maker.make(given, lambda _: used)
        finally:
            await client.close()

    with serving(*answers) as server:
        return asyncio.run(run(server.address)), server


def test_templates_are_made_before_the_flow_that_then_owns_them() -> None:
    made, server = make(order(), told({}), told({}), told(FLOW), told(there("me")), told({}))

    assert made == FLOW
    assert [(each[0], each[1].rpartition("/n/")[2]) for each in server.asked] == [
        ("POST", "jobtemplates"),
        ("POST", "jobflows"),
        ("GET", "jobflows/f"),
        ("GET", "jobtemplates/a"),
        ("PATCH", "jobtemplates/a"),
    ]
    (owner,) = json.loads(server.asked[-1][3])["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"]) == ("JobFlow", "1")


def test_somebody_elses_template_that_says_the_same_is_used_and_stays_theirs() -> None:
    same = told(there("somebody"))

    made, server = make(order(), TAKEN, same, told({}), told(FLOW), same)

    assert made == FLOW
    assert {each[0] for each in server.asked} == {"POST", "GET"}


def test_a_template_of_ours_that_nobody_needs_is_replaced() -> None:
    old = told(there("me", maxRetry=9))

    _, server = make(order(), TAKEN, old, told({}), told({}), told(FLOW), old, told({}))

    method, _, _, body = server.asked[2]
    assert method == "PUT"
    assert json.loads(body)["spec"]["maxRetry"] == 3
    assert json.loads(body)["metadata"]["resourceVersion"] == "7"


@pytest.mark.parametrize(("owner", "used"), [("somebody", False), ("me", True)])
def test_a_template_that_others_need_otherwise_is_left_alone(owner: str, used: bool) -> None:
    with pytest.raises(ClusterError, match="another JobTemplate a exists"):
        make(order(), TAKEN, told(there(owner, maxRetry=9)), used=used)


def test_a_flow_of_the_same_name_that_is_not_ours_is_not_taken_for_ours() -> None:
    other = {"metadata": {"name": "f", "uid": "2", "labels": {}}}

    with pytest.raises(ClusterError, match="exists on the cluster and is not ours"):
        make(order(), told({}), TAKEN, told(other))


def test_a_flow_that_was_seen_and_is_gone_is_not_made_again() -> None:
    with pytest.raises(ClusterError, match="was deleted from the cluster"):
        make(order(known=True), MISSING)


def test_nothing_is_made_of_a_flow_with_pods_that_are_not_allowed() -> None:
    with pytest.raises(RuntimeFailure, match="hostNetwork"):
        make(order(pod={"hostNetwork": True}))
