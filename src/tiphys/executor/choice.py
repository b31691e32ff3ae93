"""Which kind of sandbox this machine allows: the best that works when it is tried.

``overlay`` copies on write. Where that cannot be had, ``read-only`` shows the host's files as they
are and opens what a task needs (``opening``). ``TIPHYS_SANDBOX`` asks for one of the two alone.
An ordinary user becomes root of a namespace for it, from which there is no way back: a child tries
first, so that without any sandbox tasks run as the user that everybody expects.
"""

from __future__ import annotations

import os
from typing import NamedTuple

import msgspec

from tiphys.executor.place import Place
from tiphys.executor.sandbox import KINDS, Sandbox, is_rootless
from tiphys.executor.tree import remove_tree

BASES = ("", "/var/tmp", "/dev/shm")
"""Where views may lie: "" is the data directory. An overlay cannot carry another one's layer."""


class Choice(NamedTuple):
    """What was found: a kind, or none, where its views lie, and why it is not a better one."""

    kind: str
    base: str
    why: str


def choose(place: Place) -> tuple[Sandbox | None, str]:
    """Return the best sandbox that works here, and why it is not a better one."""
    asked = os.environ.get("TIPHYS_SANDBOX", "")
    if asked not in ("", *KINDS):
        return None, f"TIPHYS_SANDBOX is {asked!r}, not one of {', '.join(KINDS)}"
    kinds = (asked,) if asked else KINDS
    if not is_rootless():
        return _try_all(place, kinds)
    found = _ask_child(place, kinds)
    if not found.kind:
        return None, found.why
    sandbox = Sandbox(place.data, found.kind)
    failed = sandbox.probe(place.use_slots(found.base))
    return (None, failed) if failed else (sandbox, found.why)


def _try_all(place: Place, kinds: tuple[str, ...]) -> tuple[Sandbox | None, str]:
    first = ""
    try:
        sandbox = Sandbox(place.data, kinds[0])
        for kind in kinds:
            sandbox.kind = kind
            for base in BASES:
                folder = place.use_slots(base)
                why = sandbox.probe(folder)
                if not why:
                    return sandbox, first
                first = first or why
                remove_tree(str(folder))
    except OSError as error:
        return None, first or str(error)
    return None, first


def _ask_child(place: Place, kinds: tuple[str, ...]) -> Choice:
    reader, writer = os.pipe2(os.O_CLOEXEC)
    pid = os.fork()
    if pid == 0:
        try:
            sandbox, why = _try_all(place, kinds)
            answer = Choice(sandbox.kind if sandbox else "", place.base, why)
            os.write(writer, msgspec.msgpack.encode(answer))
        except Exception:
            from traceback import print_exc  # noqa: PLC0415 - rarely needed, slow to import

            print_exc()
        finally:
            # Whatever went wrong: there must not be a second executor.
            os._exit(0)
    os.close(writer)
    with open(reader, "rb") as file:
        answer_bytes = file.read()
    os.waitpid(pid, 0)
    if not answer_bytes:
        return Choice("", "", "the trial of a sandbox broke down")
    return msgspec.msgpack.decode(answer_bytes, type=Choice)
