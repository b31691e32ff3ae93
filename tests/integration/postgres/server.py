"""A real PostgreSQL server of the tests' own, in a temporary folder, on a loopback port.

It is started from the programs on this machine (Debian keeps them out of the PATH), by a user who
is not root, with everything that makes it durable switched on. Ends only what it started.
"""

from __future__ import annotations

import functools
import hashlib
import os
import pwd
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest

PATIENCE = 60.0
_USERS = ("postgres", "nobody")


@functools.cache
def programs() -> Path | None:
    """Find the folder of PostgreSQL's programs; the newest where there are several."""
    found = shutil.which("initdb")
    if found and shutil.which("postgres"):
        return Path(found).resolve().parent
    places = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=_major)
    return places[-1].parent if places else None


def _major(path: Path) -> int:
    name = path.parents[1].name
    return int(name) if name.isdigit() else 0


def missing() -> str:
    """Say why there can be no server here; "" where there can."""
    if programs() is None:
        return "PostgreSQL is not installed (Debian: apt-get install postgresql)"
    if os.getuid() == 0 and _user() is None:
        return "PostgreSQL does not run as root, and there is no other user to run it"
    return ""


def _user() -> pwd.struct_passwd | None:
    """Give the user who is to run it where we are root."""
    for name in _USERS:
        with suppress(KeyError):
            return pwd.getpwnam(name)
    return None


class PostgresServer:
    """One cluster; it may be killed and started again."""

    def __init__(self) -> None:
        # Not in the folders of pytest: each run makes them inaccessible to others again.
        self._folder = Path(tempfile.mkdtemp(prefix="tiphys-postgres-"))
        self._folder.chmod(0o711)
        self._data = self._folder / "cluster"
        self._port = _free_port()
        self._log = self._folder / "postgres.log"
        self._process: subprocess.Popen[bytes] | None = None
        self._make()

    def _make(self) -> None:
        self._data.mkdir(mode=0o700)
        if os.getuid() == 0:
            user = _user()
            assert user is not None
            os.chown(self._data, user.pw_uid, user.pw_gid)
        self._run("initdb", "-D", str(self._data), "-U", "tiphys", "-A", "trust", "-E", "UTF8")

    def _command(self, program: str, *words: str) -> list[str]:
        found = programs()
        assert found is not None
        return [str(found / program), *words]

    def _identity(self) -> dict[str, int]:
        user = _user() if os.getuid() == 0 else None
        if user is None:
            return {}
        return {"user": user.pw_uid, "group": user.pw_gid}

    def _run(self, program: str, *words: str) -> None:
        process = self._spawn(program, *words)
        assert process.wait(PATIENCE) == 0, self._said()

    def _spawn(self, program: str, *words: str) -> subprocess.Popen[bytes]:
        identity = self._identity()
        with self._log.open("ab") as log:
            process: subprocess.Popen[bytes] = subprocess.Popen(
                self._command(program, *words),
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd="/",
                extra_groups=[] if identity else None,
                **identity,  # type: ignore[call-overload]
            )
        return process

    def start(self) -> PostgresServer:
        """Start it and wait until it takes connections."""
        words = ["-D", str(self._data), "-p", str(self._port), "-k", "", "-h", "127.0.0.1"]
        self._process = self._spawn("postgres", *words, "-c", "max_connections=200")
        end = time.monotonic() + PATIENCE
        while True:
            try:
                psycopg.connect(self.url("postgres"), connect_timeout=5).close()
            except psycopg.OperationalError:
                assert self._process.poll() is None, self._said()
                assert time.monotonic() < end, self._said()
                time.sleep(0.05)
            else:
                return self

    def _said(self) -> str:
        return self._log.read_text(errors="replace")[-4000:]

    def kill(self) -> None:
        """End it as hard as it can be ended: no checkpoint, no word to anybody."""
        assert self._process is not None
        # SIGQUIT is its own word for a crash: its children end as well, at once.
        self._process.send_signal(signal.SIGQUIT)
        self._process.wait(PATIENCE)

    def stop(self) -> None:
        """End it."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
            self._process.wait(PATIENCE)
        shutil.rmtree(self._folder, ignore_errors=True)

    def url(self, database: str) -> str:
        """Give the address of a database."""
        return f"postgresql://tiphys@127.0.0.1:{self._port}/{database}"

    def database(self, name: str) -> str:
        """Make a database unless it is there; give its address."""
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            query = "SELECT 1 FROM pg_database WHERE datname = %s"
            if connection.execute(query, (name,)).fetchone() is None:
                connection.execute(f'CREATE DATABASE "{name}"'.encode())
        return self.url(name)

    def database_of(self, folder: Path) -> str:
        """Give the address of the database that stands for a folder."""
        return self.database("t" + hashlib.sha256(str(folder).encode()).hexdigest()[:20])


def served() -> Iterator[PostgresServer]:
    """Give a server for a fixture; skip where there can be none."""
    if why := missing():
        pytest.skip(why)
    server = PostgresServer()
    try:
        yield server.start()
    finally:
        server.stop()


def query(url: str, text: str) -> list[tuple[object, ...]]:
    """Ask a database itself."""
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(text.encode())
        return cursor.fetchall() if cursor.description else []


def cut_sessions(url: str) -> None:
    """Have the server end every other session of the database, and wait until they are gone."""
    others = "WHERE datname = current_database() AND pid <> pg_backend_pid()"
    cut = query(url, f"SELECT pid, pg_terminate_backend(pid) FROM pg_stat_activity {others}")
    pids = {pid for pid, _ in cut}
    end = time.monotonic() + PATIENCE
    while pids & {pid for (pid,) in query(url, f"SELECT pid FROM pg_stat_activity {others}")}:
        assert time.monotonic() < end
        time.sleep(0.02)


def _free_port() -> int:
    """Give a port that the system does not hand out: it must still be free after a crash."""
    while True:
        port = random.randrange(15000, 30000)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
