"""Owners of a store in PostgreSQL: the lock, the epoch, lost connections, doubtful commits."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest

from tests.integration.postgres.server import PATIENCE, PostgresServer, cut_sessions
from tests.integration.postgres.server import query as ask
from tiphys.errors import (
    ConfigError,
    StaleEpochError,
    StoreError,
    StoreLockedError,
    StoreUnavailableError,
    StoreVersionError,
)
from tiphys.store import Batch, EventRow, Store, WorkflowRow
from tiphys.store.postgres_schema import STEPS


def row(name: str) -> WorkflowRow:
    return WorkflowRow(uid=f"uid-{name}", name=name, namespace="n", created_at=1.0)


def test_of_two_data_directories_one_owns_the_store(shared: PostgresServer, tmp_path: Path) -> None:
    url = shared.database_of(tmp_path)
    with Store.open(tmp_path / "a", owner=True, url=url) as first:
        with pytest.raises(StoreLockedError, match="another server leads"):
            Store.open(tmp_path / "b", owner=True, url=url)
        assert first.epoch == 1

    with Store.open(tmp_path / "b", owner=True, url=url) as second:
        assert second.epoch == 2


def test_a_store_knows_whether_it_was_led_from_elsewhere(
    shared: PostgresServer, tmp_path: Path
) -> None:
    url = shared.database_of(tmp_path)
    moved = []
    for folder in ("a", "a", "b", "a"):
        with Store.open(tmp_path / folder, owner=True, url=url) as store:
            moved.append(store.moved)

    assert moved == [False, False, True, True]


def test_a_leader_whose_session_was_cut_goes_on(shared: PostgresServer, tmp_path: Path) -> None:
    url = shared.database_of(tmp_path)
    with Store.open(tmp_path, owner=True, url=url) as store:
        store.commit(Batch(submitted=[row("one")]))
        cut_sessions(url)

        store.commit(Batch(submitted=[row("two")]))

        assert store.epoch == 1
        assert [each.name for each in store.workflows()] == ["two", "one"]


def test_a_former_leader_writes_nothing_once_there_is_a_newer_one(
    shared: PostgresServer, tmp_path: Path
) -> None:
    url = shared.database_of(tmp_path)
    with Store.open(tmp_path / "a", owner=True, url=url) as former:
        cut_sessions(url)  # The lock goes with the session.
        with Store.open(tmp_path / "b", owner=True, url=url) as newer:
            with pytest.raises(StaleEpochError, match="newer owner"):
                former.commit(Batch(submitted=[row("one")]))

            assert newer.workflows() == []
            newer.commit(Batch(submitted=[row("one")]))


def test_a_server_that_is_away_is_unavailable_and_comes_back(
    own: PostgresServer, tmp_path: Path
) -> None:
    url = own.database_of(tmp_path)
    with Store.open(tmp_path, owner=True, url=url) as store:
        store.commit(Batch(submitted=[row("one")]))
        own.kill()
        batch = Batch(submitted=[row("two")])
        with pytest.raises(StoreUnavailableError):
            store.commit(batch)
        with pytest.raises(StoreUnavailableError):
            store.workflows()
        own.start()

        store.commit(batch)

        assert [each.name for each in store.workflows()] == ["two", "one"]


class Cutter:
    """A way to the server that passes bytes on, and can lose the answer to a commit."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._target = (parts.hostname or "", parts.port or 0)
        self._listener = socket.create_server(("127.0.0.1", 0))
        port = self._listener.getsockname()[1]
        self.url = f"postgresql://tiphys@127.0.0.1:{port}{parts.path}"
        self.armed = False
        """Whether the next COMMIT reaches the server but its answer does not come back."""
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._serve, args=(client,), daemon=True)
            thread.start()

    def _serve(self, client: socket.socket) -> None:
        server = socket.create_connection(self._target)
        lost = threading.Event()
        back = threading.Thread(target=self._back, args=(server, client, lost), daemon=True)
        back.start()
        with closing(server), closing(client):
            while data := client.recv(65536):
                if self.armed and b"COMMIT" in data:
                    self.armed = False
                    lost.set()
                server.sendall(data)
            if not lost.is_set():
                server.shutdown(socket.SHUT_WR)
            back.join(PATIENCE)

    @staticmethod
    def _back(server: socket.socket, client: socket.socket, lost: threading.Event) -> None:
        try:
            while data := server.recv(65536):
                if lost.is_set():
                    # It was committed: this is the answer. Nobody will hear of it.
                    client.shutdown(socket.SHUT_RDWR)
                    return
                client.sendall(data)
        except OSError:
            return

    def close(self) -> None:
        self._listener.close()


@contextmanager
def cutter(url: str) -> Iterator[Cutter]:
    made = Cutter(url)
    try:
        yield made
    finally:
        made.close()


def test_a_commit_whose_answer_was_lost_is_not_written_twice(
    shared: PostgresServer, tmp_path: Path
) -> None:
    url = shared.database_of(tmp_path)
    event = EventRow(uid="uid-one", at=1, kind="x")
    batch = Batch(submitted=[row("one")], events=[event])
    with cutter(url) as way, Store.open(tmp_path, owner=True, url=way.url) as store:
        way.armed = True
        with pytest.raises(StoreUnavailableError):
            store.commit(batch)
        written_then = ask(url, "SELECT count(*) FROM workflows")

        store.commit(Batch(submitted=[row("two")]))
        store.commit(batch)

        assert written_then == [(1,)]
        assert [each.name for each in store.workflows()] == ["two", "one"]
        assert len(store.events("uid-one")) == 1


def test_a_batch_that_the_server_never_saw_is_written_when_it_is_handed_in_again(
    shared: PostgresServer, tmp_path: Path
) -> None:
    url = shared.database_of(tmp_path)
    batch = Batch(submitted=[row("one")], events=[EventRow(uid="uid-one", at=1, kind="x")])
    with Store.open(tmp_path, owner=True, url=url) as store:
        # Another transaction holds the row that ours begins with, and then ours is cut.
        with psycopg.connect(url) as other:
            other.execute("SELECT * FROM owner FOR UPDATE")
            cutting = threading.Timer(0.5, _cut_waiting, (url,))
            cutting.start()
            with pytest.raises(StoreUnavailableError):
                store.commit(batch)
            cutting.join()

        store.commit(batch)

        assert len(store.events("uid-one")) == 1


def _cut_waiting(url: str) -> None:
    ask(url, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event_type='Lock'")


def test_tables_of_a_newer_program_are_refused_and_left_alone(
    shared: PostgresServer, tmp_path: Path
) -> None:
    url = shared.database_of(tmp_path)
    Store.open(tmp_path, owner=True, url=url).close()
    ask(url, f"UPDATE version SET version = {len(STEPS) + 1}")

    for owner in (True, False):
        with pytest.raises(StoreVersionError, match="newer Tiphys"):
            Store.open(tmp_path, owner=owner, url=url)

    assert ask(url, "SELECT epoch FROM owner") == [(1,)]


def test_a_reading_connection_cannot_write(shared: PostgresServer, tmp_path: Path) -> None:
    url = shared.database_of(tmp_path)
    with Store.open(tmp_path, owner=True, url=url) as store:
        readonly = pytest.raises(StoreError, match="read-only")
        with readonly, store._readers.borrow() as connection:
            connection.execute("UPDATE owner SET epoch = 99")

        assert store.epoch == 1


def test_commits_are_made_durable(shared: PostgresServer, tmp_path: Path) -> None:
    url = shared.database_of(tmp_path) + "?options=-c%20synchronous_commit%3Don"
    with Store.open(tmp_path, owner=True, url=url) as store, store._readers.borrow() as link:
        (found,) = link.execute("SHOW synchronous_commit").fetchone()

    assert found == "on"


def test_text_that_postgresql_cannot_hold_is_kept_with_marks(
    shared: PostgresServer, tmp_path: Path
) -> None:
    strange = row("one")
    strange.message, strange.annotations = "a\x00b\ud800", {"k": "x\x00y"}
    with Store.open(tmp_path, owner=True, url=shared.database_of(tmp_path)) as store:
        store.commit(Batch(submitted=[strange]))

        found = store.workflow("one")

    assert found.message == "a\ufffdb?"
    assert found.annotations == {"k": "x\x00y"}


def test_a_password_is_not_shown(tmp_path: Path) -> None:
    url = "postgresql://me:hunter2@127.0.0.1:1/db"
    with pytest.raises(StoreUnavailableError) as caught:
        Store.open(tmp_path, owner=True, url=url)

    assert "hunter2" not in str(caught.value)
    assert "postgresql://127.0.0.1:1/db" in str(caught.value)


def test_an_address_of_something_else_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="postgresql://"):
        Store.open(tmp_path, owner=True, url="mysql://x/y")
