# mypy: ignore-errors
"""What Argo's SDK does, in an environment of its own: ``python sdk_client.py WHAT``.

Reads HOST and TOKEN from the environment and prints what came of it as JSON. Not imported by tests.
"""

import json
import os
import sys

import argo_workflows
from argo_workflows.api import info_service_api, workflow_service_api
from argo_workflows.exceptions import NotFoundException
from argo_workflows.model import io_argoproj_workflow_v1alpha1_workflow_create_request as create

HOST, TOKEN = os.environ["HOST"], os.environ["TOKEN"]


def sdk_runs_a_workflow():
    configuration = argo_workflows.Configuration(
        host=f"{HOST}/argo", api_key={"BearerToken": f"Bearer {TOKEN}"}
    )
    # The SDK refuses what Argo itself answers (a null finishedAt) unless it is told not to look.
    loose = {"_check_return_type": False}
    client = argo_workflows.ApiClient(configuration)
    workflows = workflow_service_api.WorkflowServiceApi(client)
    manifest = {
        "metadata": {"generateName": "sdk-"},
        "spec": {
            "entrypoint": "main",
            "templates": [
                {"name": "main", "container": {"image": "busybox", "command": ["echo", "hi"]}}
            ],
        },
    }
    request = create.IoArgoprojWorkflowV1alpha1WorkflowCreateRequest(
        workflow=manifest, _check_type=False
    )
    name = workflows.create_workflow("default", request, **loose)["metadata"]["name"]
    log = workflows.workflow_logs(
        "default", name, log_options_container="main", log_options_follow=True, **loose
    )
    found = workflows.get_workflow("default", name, **loose)
    listed = workflows.list_workflows("default", list_options_limit="1", **loose)
    try:
        workflows.get_workflow("default", "nobody", **loose)
        missing = 200
    except NotFoundException as error:
        missing = error.status
    version = info_service_api.InfoServiceApi(client).get_version()
    workflows.delete_workflow("default", name, **loose)
    return {
        "phase": found["status"]["phase"],
        "log": log["result"]["content"],
        "listed": len(listed["items"]),
        "missing": missing,
        "version": version.version,
    }


if __name__ == "__main__":
    print(json.dumps(globals()[sys.argv[1]]()))  # noqa: T201 - this is what it is for
