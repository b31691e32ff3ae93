"""``tiphys backup`` beside a server that works, and what is made of the copy."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.contract.api_server import ApiServer, flow
from tests.contract.test_api_retention import wait_for


def _tiphys(server: ApiServer, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tiphys", *words],
        env=server.environment,
        cwd=server.folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_a_copy_made_beside_a_server_is_a_store_for_another(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two" / "data").mkdir(parents=True)
    copy = tmp_path / "two" / "data" / "tiphys.db"
    with ApiServer(tmp_path / "one") as server:
        done = server.submit(flow("echo hello"))
        server.wait(done)
        begun = tmp_path / "begun"
        under_way = server.submit(flow(f"touch {begun}; sleep 600"))
        wait_for(begun.exists, "the task")
        made = _tiphys(server, "backup", str(copy))
        again = _tiphys(server, "backup", str(copy))
        server.post(f"/workflows/{under_way}/terminate", {})
        server.wait(under_way)

    assert made.returncode == 0, made.stderr
    assert made.stdout == f"{copy}: {copy.stat().st_size} bytes\n"
    assert again.returncode == 1
    assert "--force" in again.stderr
    with ApiServer(tmp_path / "two") as server:
        assert server.get(f"/workflows/{done}").data["status"] == "succeeded"
        lost = server.wait(under_way)
        assert lost["status"] == "error"
        assert "another data directory" in lost["nodes"][0]["message"]


def test_a_copy_put_back_after_restarts_goes_on_in_the_same_data_directory(tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    with ApiServer(tmp_path) as server:
        done = server.submit(flow("echo hello"))
        server.wait(done)
        made = _tiphys(server, "backup", str(copy))
        for _ in range(2):  # The executor meets owners that the copy knows nothing of.
            server.restart()
            server.wait(server.submit(flow("true")))
    assert made.returncode == 0, made.stderr
    for name in ("tiphys.db", "tiphys.db-wal", "tiphys.db-shm"):
        (tmp_path / "data" / name).unlink(missing_ok=True)
    copy.rename(tmp_path / "data" / "tiphys.db")

    with ApiServer(tmp_path) as server:
        assert [each["id"] for each in server.get("/workflows").data] == [done]
        server.wait(server.submit(flow("true")), "succeeded")
