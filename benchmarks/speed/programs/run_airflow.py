"""Runs the tasks as one DAG run of Airflow with its LocalExecutor.

    run_airflow.py WIDTH DEPTH

All of Airflow is started from nothing in the working directory (``airflow standalone``), which
takes half a minute; the work begins with the trigger. Its own database says when it has ended.
"""

from __future__ import annotations

import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

from told import AT_ONCE, Stopwatch, shape, tell

DAG = """
from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG

with DAG("bench", schedule=None, max_active_tasks={at_once}) as dag:
    before = []
    for layer in range({depth}):
        tasks = [
            BashOperator(task_id=f"t{{layer}}x{{index}}", bash_command="/bin/true")
            for index in range({width})
        ]
        for each in tasks:
            each.set_upstream(before)
        before = tasks
"""
FIRST = 300.0
"""Seconds that Airflow may take until it has read the DAG."""
BIN = Path(sys.executable).parent


def free_port() -> str:
    """Give a port that is free."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


def settings(home: Path, port: str) -> dict[str, str]:
    """Give the environment of all of Airflow's processes."""
    return {
        **os.environ,
        "PATH": f"{BIN}:{os.environ['PATH']}",
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__DAGS_FOLDER": str(home / "dags"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__EXECUTOR": "LocalExecutor",
        "AIRFLOW__CORE__PARALLELISM": str(AT_ONCE),
        "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "False",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS": "True",
        "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"http://127.0.0.1:{port}/execution/",
        "AIRFLOW__API__HOST": "127.0.0.1",
        "AIRFLOW__API__PORT": port,
        "AIRFLOW__API__BASE_URL": f"http://127.0.0.1:{port}",
        "AIRFLOW__API__WORKERS": "1",
        "AIRFLOW__LOGGING__WORKER_LOG_SERVER_PORT": free_port(),
        "AIRFLOW__LOGGING__TRIGGER_LOG_SERVER_PORT": free_port(),
        "AIRFLOW__USAGE_DATA_COLLECTION__ENABLED": "False",
    }


def ask(database: Path, question: str) -> str:
    """Ask Airflow's database; "" where it cannot say yet."""
    try:
        connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
        try:
            row = connection.execute(question).fetchone()
        finally:
            connection.close()
    except sqlite3.Error:
        return ""
    return str(row[0]) if row else ""


def wait_for_api(port: str) -> None:
    """Wait until tasks can report: those that cannot are failed."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    end = time.monotonic() + FIRST
    while time.monotonic() < end:
        try:
            opener.open(f"http://127.0.0.1:{port}/api/v2/monitor/health", timeout=5).close()
        except OSError:
            time.sleep(0.2)
        else:
            return
    sys.exit("the API server does not answer")


def wait(database: Path, question: str, wanted: tuple[str, ...], limit: float) -> str:
    """Wait for an answer."""
    end = time.monotonic() + limit
    while time.monotonic() < end:
        found = ask(database, question)
        if found in wanted:
            return found
        time.sleep(0.05)
    sys.exit(f"waited in vain for {wanted}")


def main() -> None:
    """Run it."""
    watch = Stopwatch()
    width, depth = shape()
    home = Path.cwd()
    (home / "dags").mkdir()
    text = DAG.format(width=width, depth=depth, at_once=AT_ONCE)
    (home / "dags/bench.py").write_text(text)
    database = home / "airflow.db"
    port = free_port()
    environment = settings(home, port)
    with (home / "log").open("wb") as log:
        airflow = subprocess.Popen(
            [str(BIN / "airflow"), "standalone"],
            env=environment,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        wait(database, "SELECT 1 FROM serialized_dag WHERE dag_id = 'bench'", ("1",), FIRST)
        wait_for_api(port)
        trigger = [str(BIN / "airflow"), "dags", "trigger", "bench"]
        subprocess.run(trigger, env=environment, check=True, stdout=subprocess.DEVNULL)
        tell(server=watch.seconds())
        # The trigger itself is a slow command; what counts begins when the run is there.
        watch = Stopwatch()
        question = "SELECT state FROM dag_run WHERE dag_id = 'bench'"
        state = wait(database, question, ("success", "failed"), 3600)
        watch.tell()
        if state != "success":
            lines = (home / "log").read_text(errors="replace").splitlines()
            told = [line for line in lines if "rror" in line and "# Errors" not in line]
            sys.exit("the DAG run failed: " + "; ".join(line[-160:] for line in told[:4]))
    finally:
        watch = Stopwatch()
        os.killpg(airflow.pid, signal.SIGTERM)
        airflow.wait()
        tell(server=watch.seconds())


if __name__ == "__main__":
    main()
