"""A ``resource`` template acts in the namespace of its workflow and in no other."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tiphys.errors import RuntimeFailure
from tiphys.ports import Task
from tiphys.runtimes.kubernetes_resource import Action
from tiphys.spec import model

MANIFEST = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: theirs, namespace: other}
"""


class Untouched:
    """A cluster that nobody may ask for anything."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"{name} was called")


@pytest.mark.parametrize("action", ["create", "apply", "get", "delete", "replace", "patch"])
def test_an_object_of_another_namespace_is_refused_before_the_cluster_is_asked(
    action: str,
) -> None:
    template = model.Template(name="a", resource=model.ResourceTemplate(action=action))
    task = Task(
        id="u.1",
        workflow="w",
        namespace="mine",
        workflow_uid="u",
        node_id="n",
        node_name="n",
        template=template,
    )
    client: Any = Untouched()

    with pytest.raises(RuntimeFailure, match="for namespace other, the workflow's is mine"):
        asyncio.run(Action(client, task, "mine", MANIFEST).run())
