"""The server keeps what its OpenAPI document says, whatever it is sent."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.contract.api_server import ADMIN, ApiServer, shell, steps
from tests.integration.api import schemathesis

CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
)
# One seed, so that a change is judged by what it changed. Others are for whoever looks for more.
SEED = os.environ.get("TIPHYS_FUZZ_SEED", "1")
EXAMPLES = os.environ.get("TIPHYS_FUZZ_EXAMPLES", "10")
TEMPLATE = """\
apiVersion: argoproj.io/v1alpha1
kind: {kind}
metadata: {{name: nightly}}
spec: {spec}
"""
SPEC = '{entrypoint: main, templates: [{name: main, container: {image: a, command: ["true"]}}]}'


@pytest.mark.slow
@pytest.mark.timeout(max(300, 30 * int(EXAMPLES)))
def test_generated_requests_meet_no_5xx_and_nothing_undocumented(tmp_path: Path) -> None:
    try:
        command = schemathesis.command()
    except RuntimeError as error:
        pytest.skip(f"schemathesis cannot be installed here: {error}")
    with ApiServer(tmp_path, "--rate-limit", "0") as server:
        workflow = server.submit(steps(shell("a", "echo hi")))
        node = server.wait(workflow)["nodes"][-1]["id"]
        document = tmp_path / "openapi.json"
        document.write_bytes(server.ask("GET", "/openapi.json").raw)
        _keep_one_of_each(server)
        (tmp_path / "schemathesis.toml").write_text(
            f'[parameters]\n"path.workflow_id" = "{workflow}"\n"path.node_id" = "{node}"\n'
            f'"query.a" = "{workflow}"\n"query.b" = "{workflow}"\n'
            '"path.project_id" = "default"\n"path.name" = "nightly"\n"path.queue_id" = "q-spare"\n'
            '"path.queue" = "spare"\n'
        )

        done = subprocess.run(
            [
                str(command),
                "run",
                str(document),
                f"--url=http://127.0.0.1:{server.port}",
                f"--header=Authorization: Bearer {ADMIN}",
                f"--max-examples={EXAMPLES}",
                f"--seed={SEED}",
                "--exclude-method=DELETE",  # Of the one of each that there is.
                f"--checks={','.join(CHECKS)}",
                "--phases=examples,coverage,fuzzing",
                "--continue-on-failure",
                "--request-timeout=60",  # A busy machine is no mistake.
                "--no-color",
            ],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=max(250, 25 * int(EXAMPLES)),
            check=False,
        )

        assert done.returncode == 0, done.stdout[-5000:]
        assert "internal" not in server.said


def _keep_one_of_each(server: ApiServer) -> None:
    """Make what the paths name, so that requests reach more than "not found"."""
    cron = f'{{schedule: "0 3 * * *", workflowSpec: {SPEC}}}'
    schedule = TEMPLATE.format(kind="CronWorkflow", spec=cron)
    template = TEMPLATE.format(kind="WorkflowTemplate", spec=SPEC)
    shared = TEMPLATE.format(kind="ClusterWorkflowTemplate", spec=SPEC)
    answers = [
        server.post("/schedules", {"project_id": "default", "schedule_yaml": schedule}),
        server.post("/templates", {"project_id": "default", "template_yaml": template}),
        server.post("/cluster-templates", {"template_yaml": shared}),
        server.post("/queues", {"name": "spare"}),
    ]
    assert [each.status for each in answers] == [201] * 4, [each.raw for each in answers]
