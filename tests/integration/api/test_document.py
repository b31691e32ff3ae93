"""The server keeps what its OpenAPI document says, whatever it is sent."""

from __future__ import annotations

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


@pytest.mark.slow
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
        (tmp_path / "schemathesis.toml").write_text(
            f'[parameters]\n"path.workflow_id" = "{workflow}"\n"path.node_id" = "{node}"\n'
            f'"query.a" = "{workflow}"\n"query.b" = "{workflow}"\n'
        )

        done = subprocess.run(
            [
                str(command),
                "run",
                str(document),
                f"--url=http://127.0.0.1:{server.port}",
                f"--header=Authorization: Bearer {ADMIN}",
                "--max-examples=10",
                "--exclude-method=DELETE",  # Of the one workflow there is.
                f"--checks={','.join(CHECKS)}",
                "--phases=examples,coverage,fuzzing",
                "--continue-on-failure",
                "--no-color",
            ],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=250,
            check=False,
        )

        assert done.returncode == 0, done.stdout[-5000:]
        assert "internal" not in server.said
