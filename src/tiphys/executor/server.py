"""The executor's loop: one Unix socket, one selector, no waiting anywhere else.

Takes requests, passes them to the supervisor, sends its events to the newest client. Events without
a client wait in the journal: the next client asks with ``Attach``. Ends by itself when nothing runs
and nobody is connected for a while, so that no process is left behind; at once when somebody of
another version comes, who needs another executor.
"""

from __future__ import annotations

import gc
import os
import selectors
import signal
import socket
import sys
from contextlib import suppress
from pathlib import Path
from time import monotonic

import msgspec

from tiphys.executor import files, linux, protocol, survivors
from tiphys.executor.choice import choose
from tiphys.executor.claim import Claim
from tiphys.executor.committer import Committer
from tiphys.executor.group import Groups
from tiphys.executor.journal import Epoch, Journal
from tiphys.executor.leftover import end_leftovers
from tiphys.executor.news import News
from tiphys.executor.place import Place, identity
from tiphys.executor.rooms import Rooms
from tiphys.executor.slots import Slots
from tiphys.executor.supervisor import Supervisor

FIRST_CLIENT = 5.0
"""Seconds for which a new executor waits at least."""


class _Client:
    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.frames = protocol.Frames()
        self.out = bytearray()
        self.welcome = False
        self.epoch = 0
        self.deaf = False
        """Whether it has hung up; what it said before that is still heard."""


class Server:
    """One executor for one data directory."""

    def __init__(self, claim: Claim, place: Place, linger: float, *, sandboxes: bool) -> None:
        self._claim = claim
        self._place = place
        self._linger = linger
        # Whoever started this one is on the way.
        self._patience = max(linger, FIRST_CLIENT)
        self._selector = selectors.DefaultSelector()
        self._journal = Journal(place.journal, survivors.boot_id())
        groups = Groups(_group_name(place.data))
        end_leftovers(self._journal, groups)
        # Before any thread: a process with threads cannot become root of its own namespace.
        self._sandbox, self._why = choose(place) if sandboxes else (None, "not wanted")
        self._committer = Committer(self._journal)
        self._news = News()
        slots = Slots(self._sandbox, place.slots) if self._sandbox else None
        self.supervisor = Supervisor(
            self._journal,
            self._committer,
            slots,
            Rooms(place.rooms),
            groups,
            self._news.add,
        )
        self.supervisor.between = self._between_starts
        self.supervisor.withdraw = self._news.withdraw
        self._news.has_begun = self.supervisor.has_begun
        self._clients: dict[int, _Client] = {}
        self._listener = _listen(place)
        self._chld_read, self._chld_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._lonely_since: float | None = monotonic()
        self._ending = False

    def run(self) -> None:
        """Serve until there is nothing to do."""
        signal.set_wakeup_fd(self._chld_write, warn_on_full_buffer=False)
        # Handlers, not SIG_IGN: what is ignored here would be ignored in every task.
        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda *_: None)
        _heed_signals()
        register = self._selector.register
        register(self._listener, selectors.EVENT_READ, self._accept)
        register(self._chld_read, selectors.EVENT_READ, self._signalled)
        register(self._committer.wake_fd, selectors.EVENT_READ, self._committer.collect)
        register(self.supervisor.relay.descriptor, selectors.EVENT_READ, self._relay)
        self.supervisor.record_lost()
        self.supervisor.warm_up()
        while not self._ending:
            self._committer.kick()
            self._send_news()
            self.supervisor.rest()
            for key, mask in self._selector.select(self._timeout()):
                if isinstance(key.data, _Client):
                    self._serve(key.data, mask)
                else:
                    key.data()
            self.supervisor.run_timers()
            self._check_loneliness()
        self._close()

    def _timeout(self) -> float | None:
        news = self._news.patience(self.supervisor.count)
        waits = [self.supervisor.next_timer(), self._committer.patience, news]
        if self._lonely_since is not None:
            waits.append(max(0.0, self._lonely_since + self._patience - monotonic()))
        return min((wait for wait in waits if wait is not None), default=None)

    def _check_loneliness(self) -> None:
        if self._clients or not self.supervisor.idle:
            self._lonely_since = None
        elif self._lonely_since is None:
            self._lonely_since = monotonic()
        elif monotonic() - self._lonely_since >= self._patience:
            self._leave()

    def _leave(self) -> None:
        """End, unless somebody came at the last moment."""
        self._clear_address()
        self._ending = True
        while self._accept():
            self._ending = False
        if not self._ending:
            self._selector.unregister(self._listener)
            self._listener.close()
            self._listener = _listen(self._place)
            self._selector.register(self._listener, selectors.EVENT_READ, self._accept)

    def _clear_address(self) -> None:
        if self._claim.holds:
            self._place.clear_address()

    def _signalled(self) -> None:
        with suppress(BlockingIOError):
            os.read(self._chld_read, 4096)
        self.supervisor.reap()

    def _relay(self) -> None:
        if self.supervisor.relay.begin():
            self._selector.unregister(self.supervisor.relay.descriptor)

    def _close(self) -> None:
        self._listener.close()
        if self._committer.close():
            with suppress(OSError):
                self._journal.end()
        self.supervisor.close(at_home=bool(self._place.base) or self._claim.holds)
        self._journal.close()

    # --- clients --------------------------------------------------------------------------

    def _accept(self) -> bool:
        """Take one who waits; tell whether there was one."""
        try:
            sock, _ = self._listener.accept()
        except OSError:
            # Gone again, or too many open files: it will come back.
            return False
        sock.setblocking(False)
        client = _Client(sock)
        self._clients[sock.fileno()] = client
        self._selector.register(sock, selectors.EVENT_READ, client)
        return True

    def _drop(self, client: _Client) -> None:
        if self._clients.pop(client.sock.fileno(), None) is not None:
            self._selector.unregister(client.sock)
            client.sock.close()

    def _serve(self, client: _Client, mask: int) -> None:
        if mask & selectors.EVENT_WRITE:
            self._flush(client)
        if not mask & selectors.EVENT_READ or client.sock.fileno() < 0:
            return
        try:
            data = client.sock.recv(protocol.CHUNK)
            if not data:
                self._drop(client)
                return
            for body in client.frames.feed(data):
                self._handle(client, protocol.request_decoder().decode(body))
        except BlockingIOError:
            return
        except (OSError, ValueError, msgspec.MsgspecError):
            self._drop(client)

    def _handle(self, client: _Client, request: protocol.Request) -> None:
        if isinstance(request, protocol.Hello):
            self._greet(client, request)
            return
        if not client.welcome or client.epoch < self._journal.epoch:
            raise ValueError("not welcome")
        match request:
            case protocol.Start(attempts=attempts):
                self.supervisor.start(attempts)
            case protocol.Attach(ids=ids, are_ours=ours):
                for name in ids:
                    self.supervisor.attend(name, is_ours=ours)
            case protocol.Stop(ids=ids, grace=grace):
                self.supervisor.stop(ids, grace)
            case protocol.Ack(ids=ids):
                self.supervisor.forget(ids)
            case protocol.Keep(ids=ids):
                self.supervisor.keep(ids)
            case protocol.Probe():
                self.supervisor.probe(request)

    def _greet(self, client: _Client, hello: protocol.Hello) -> None:
        if hello.epoch < self._journal.epoch:
            reason = f"stale epoch {hello.epoch}: {self._journal.epoch} has taken over"
            self._send(client, protocol.Refused(reason))
            self._drop(client)
            return
        if hello.version != protocol.VERSION:
            self._refuse_stranger(client, hello)
            return
        for other in list(self._clients.values()):
            if other is not client and other.welcome:
                self._drop(other)
        if hello.epoch > self._journal.epoch:
            self._journal.note(Epoch(hello.epoch))
            self._committer.note(Epoch(hello.epoch))
        client.welcome, client.epoch = True, hello.epoch
        self._patience = self._linger
        kind = self._sandbox.kind if self._sandbox else ""
        self._send(client, protocol.Welcome(protocol.VERSION, os.getpid(), kind, self._why))
        self.supervisor.warm_up()

    def _refuse_stranger(self, client: _Client, hello: protocol.Hello) -> None:
        """Make room for an executor of the client's version, unless tasks run here.

        Whoever is still connected has been replaced by this one, and what is on its way to the disk
        gets there before the end.
        """
        count = self.supervisor.count
        reason = (
            f"it is of another version ({protocol.VERSION}, not {hello.version})"
            f" and still runs {count} tasks: wait for them, or end process {os.getpid()} with them"
        )
        self._send(client, protocol.Refused(reason, leaves=not count))
        self._drop(client)
        if not count:
            self._clear_address()
            self._ending = True

    def _between_starts(self) -> None:
        """Let the server go on with what has ended while we still start what it sent before."""
        self.supervisor.reap()
        if self._news.is_flock:
            self._send_news()

    def _send_news(self) -> None:
        if self._news.patience(self.supervisor.count) != 0.0:
            return
        news = self._news.take()
        if not news:
            return
        batch = protocol.Batch(news)
        for client in list(self._clients.values()):
            if client.welcome:
                self._send(client, batch)

    def _send(self, client: _Client, reply: protocol.Reply) -> None:
        if client.deaf:
            return
        client.out += protocol.frame(reply)
        self._flush(client)

    def _flush(self, client: _Client) -> None:
        try:
            sent = client.sock.send(client.out)
            del client.out[:sent]
        except BlockingIOError:
            pass
        except OSError:
            client.deaf = True
            client.out.clear()
        mask = selectors.EVENT_READ | (selectors.EVENT_WRITE if client.out else 0)
        if self._selector.get_key(client.sock).events != mask:
            self._selector.modify(client.sock, mask, client)


def _group_name(data: Path) -> str:
    """Return a name that the next executor of the same data directory finds again."""
    return f"tiphys-{identity(data)}"


def _heed_signals() -> None:
    """Undo what whoever started us ignores: a shell in the background ignores SIGQUIT, and every
    task would inherit that. Python's own two are put right when a task begins."""
    for number in signal.valid_signals() - {signal.SIGPIPE, signal.SIGXFSZ}:
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)


def _listen(place: Place) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
    address = place.make_address()
    with suppress(FileNotFoundError):
        os.unlink(address)
    listener.bind(address)
    os.chmod(address, 0o600)
    listener.listen(8)
    listener.setblocking(False)
    return listener


def serve(place: Place, linger: float, *, sandboxes: bool = True, listens: int = -1) -> int:
    """Be the executor of ``place``; return at once where another one is.

    The descriptor ``listens`` is closed when clients can connect.
    """
    os.umask(0o022)
    os.chdir("/")
    place.make_folder()
    claim = Claim.take(place)
    if claim is None:
        return 0
    linux.become_subreaper()
    files.raise_limit()
    files.keep_to_ourselves()
    os.umask(0)
    sys.setswitchinterval(0.001)
    gc.freeze()  # What is there now stays to the end.
    server = Server(claim, place, linger, sandboxes=sandboxes)
    if listens >= 0:
        os.close(listens)
    server.run()
    return 0
