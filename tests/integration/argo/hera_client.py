# mypy: ignore-errors
"""What Hera does, in an environment of its own: ``python hera_client.py WHAT``.

Reads HOST and TOKEN from the environment and prints what came of it as JSON. Not imported by tests.
"""

import asyncio
import json
import os
import sys

from hera import exceptions
from hera.events.models.io.argoproj.workflow.v1alpha1 import Item
from hera.events.service import EventsService
from hera.workflows import (
    Artifact,
    ClusterWorkflowTemplate,
    Container,
    CronWorkflow,
    Steps,
    Workflow,
    WorkflowsService,
    WorkflowTemplate,
    models,
)
from hera.workflows.async_service import AsyncWorkflowsService
from hera.workflows.models.sync import CreateSyncLimitRequest, UpdateSyncLimitRequest

HOST, TOKEN = os.environ["HOST"], os.environ["TOKEN"]


def service(token=TOKEN):
    return WorkflowsService(host=f"{HOST}/argo/", token=token, namespace="default")


def one_step(text, **more):
    kept = [Artifact(name="kept", path="/tmp/tiphys-hera")]
    with Workflow(
        namespace="default", entrypoint="main", workflows_service=service(), **more
    ) as workflow:
        say = Container(
            name="say", image="busybox", command=["sh", "-c"], args=[text], outputs=kept
        )
        with Steps(name="main"):
            say(name="a")
    return workflow


def hera_runs_a_workflow():
    workflow = one_step("echo kept > /tmp/tiphys-hera", generate_name="hera-")
    workflow.lint()
    done = workflow.create(wait=True, poll_interval=1)
    name = done.metadata.name
    found = service().get_workflow(name)
    (pod,) = [node for node in found.status.nodes.values() if node.type == "Pod"]
    kept = service().get_output_artifact(
        name=name, node_id=pod.id, artifact_name="kept", namespace="default"
    )
    return {"phase": found.status.phase, "kept": str(kept)[:12], "name": name}


def hera_lists_and_steers():
    one_step("sleep 100; touch /tmp/tiphys-hera", name="steered", labels={"by": "hera"}).create()
    listed = service().list_workflows(label_selector="by=hera").items
    service().suspend_workflow("steered", _request("WorkflowSuspendRequest"))
    service().resume_workflow("steered", _request("WorkflowResumeRequest"))
    service().stop_workflow("steered", models.WorkflowStopRequest(message="enough"))
    again = service().resubmit_workflow("steered", models.WorkflowResubmitRequest())
    service().terminate_workflow(again.metadata.name, _request("WorkflowTerminateRequest"))
    service().delete_workflow("steered")
    return {"listed": [each.metadata.name for each in listed], "again": again.metadata.name}


def _request(name):
    return getattr(models, name)()


def hera_keeps_templates():
    made = []
    for kind in (WorkflowTemplate, ClusterWorkflowTemplate):
        with kind(name="hera-kept", entrypoint="main", workflows_service=service()) as template:
            Container(name="main", image="busybox", command=["true"])
        if kind is WorkflowTemplate:
            template.namespace = "default"
        template.update()  # There is none yet: it is created.
        made.append(template.update().metadata.name)
    run = service().submit_workflow(
        models.WorkflowSubmitRequest(
            resource_kind="WorkflowTemplate",
            resource_name="hera-kept",
            submit_options=models.SubmitOpts(labels="a=b"),
        )
    )
    service().delete_workflow_template("hera-kept")
    service().delete_cluster_workflow_template("hera-kept")
    return {"made": made, "labels": run.metadata.labels}


def hera_keeps_cron_workflows():
    with CronWorkflow(
        name="hera-tick",
        namespace="default",
        entrypoint="main",
        schedules=["0 0 1 1 *"],
        workflows_service=service(),
    ) as cron:
        Container(name="main", image="busybox", command=["true"])
    cron.lint()
    cron.update()  # There is none yet: it is created.
    cron.schedules = ["0 0 1 2 *"]
    updated = cron.update()
    name = {"name": "hera-tick", "namespace": "default"}
    request = models.CronWorkflowSuspendRequest(**name)
    suspended = service().suspend_cron_workflow("hera-tick", request).spec.suspend
    request = models.CronWorkflowResumeRequest(**name)
    resumed = service().resume_cron_workflow("hera-tick", request).spec.suspend
    listed = [each.metadata.name for each in service().list_cron_workflows().items]
    service().delete_cron_workflow("hera-tick")
    return {
        "schedules": updated.spec.schedules,
        "suspended": [suspended, bool(resumed)],
        "listed": "hera-tick" in listed,
    }


def hera_understands_refusals():
    def refused(call):
        try:
            call()
        except exceptions.HeraException as error:
            return type(error).__name__
        return "nothing"

    one_step("true", name="taken").create()
    return {
        "missing": refused(lambda: service().get_workflow("nobody")),
        "stranger": refused(lambda: service("nobody's-token").list_workflows()),
        "taken": refused(lambda: one_step("true", name="taken").create()),
        "wrong": refused(lambda: one_step("true", generate_name="UPPER-").create()),
        "sources": refused(lambda: events().list_event_sources()),
    }


def events():
    return EventsService(host=f"{HOST}/argo/", token=TOKEN, namespace="default")


def hera_sets_limits_and_sends_events():
    # Of the answers Hera itself throws away what is in them.
    names = {"cm_name": "of-hera", "namespace": "default"}
    for key in ("turns", "gone"):
        service().create_sync_limit(CreateSyncLimitRequest(key=key, limit=2, **names))
    service().update_sync_limit("turns", UpdateSyncLimitRequest(key="turns", limit=3, **names))
    service().get_sync_limit("turns", cm_name="of-hera")
    service().delete_sync_limit("gone", cm_name="of-hera")
    events().receive_event("any", Item(__root__={"hello": "world"}))
    return {"said": "done"}


def hera_reads_the_rest():
    one_step("echo said; touch /tmp/tiphys-hera", name="told").create(wait=True, poll_interval=1)
    uid = service().get_workflow("told").metadata.uid
    return {
        "archived": service().get_archived_workflow(uid).metadata.name,
        "keys": service().list_archived_workflow_label_keys().items,
        "version": service().get_version().version,
        "who": service().get_user_info().subject,
        "info": service().get_info().managed_namespace,
    }


def hera_waits_without_blocking():
    async def main():
        async with AsyncWorkflowsService(
            host=f"{HOST}/argo/", token=TOKEN, namespace="default"
        ) as client:
            with Workflow(
                generate_name="async-",
                namespace="default",
                entrypoint="main",
                workflows_service=client,
            ) as workflow:
                Container(name="main", image="busybox", command=["true"])
            done = await workflow.async_create(wait=True, poll_interval=1)
            return {"phase": str(done.status.phase)}

    return asyncio.run(main())


if __name__ == "__main__":
    print(json.dumps(globals()[sys.argv[1]]()))  # noqa: T201 - this is what it is for
