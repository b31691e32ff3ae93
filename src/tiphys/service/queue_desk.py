"""Where callers come with questions about queues, whoever schedules what waits in them.

``SchedulerQueues`` is the one interface; the embedded scheduler, Volcano and Kueue stand behind it.
An id is ``q-NAME`` for a queue of the embedded one, ``q-volcano:NAME`` and ``q-kueue:NAME`` for the
others': names belong to their schedulers, and two of the same name do not meet. Who waits, and how
many workflows there are, is ours to tell for all of them alike.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import msgspec

from tiphys.control.choice import has_fallen_back
from tiphys.control.host import Host
from tiphys.control.occupants import occupancy_of
from tiphys.control.task import attempt_id, priority_of, scheduler_of
from tiphys.engine.run import Run
from tiphys.errors import ClusterError, InvalidInputError, NotFoundError
from tiphys.ports import LOCAL, SCHEDULER_LABEL, SCHEDULERS
from tiphys.scheduling.admission import queue_of
from tiphys.scheduling.queue import DEFAULT
from tiphys.scheduling.reason import Paused, Starting
from tiphys.service.access import Identity
from tiphys.store import WorkflowFilter

PREFIX = "q-"
_UID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
AWAY = 3.0
"""Seconds after which a cluster counts as away where its queues are only listed along."""
ALONE = 10.0
"""Seconds for which it then is not asked along again."""
RUNS, ROWS = 50, 5
"""Of so many workflows so many waiting nodes are listed."""
_ELSEWHERE = (Starting.__name__, Paused.__name__)
Shown = dict[str, Any]


class SchedulerQueues(Protocol):
    """The queues of one scheduler."""

    @property
    def scheduler(self) -> str:
        """Whose they are: one of ``ports.SCHEDULERS``."""

    async def check(self, name: str) -> str:
        """Give the name of a queue that exists; raise NotFoundError for others."""

    async def enter(self, name: str, project: str) -> str:
        """Give the name of the queue that work of a project waits in; raise NotFoundError."""

    async def listed(self) -> list[Shown]:
        """Show all queues, parents before their children."""

    async def show(self, name: str) -> Shown:
        """Show a queue as it is defined."""

    async def make(self, given: Mapping[str, Any]) -> Shown:
        """Make a queue."""

    async def change(self, name: str, given: Mapping[str, Any]) -> Shown:
        """Change a queue, at once."""

    async def set_state(self, name: str, state: str) -> Shown:
        """Open or close a queue."""

    async def remove(self, name: str) -> None:
        """Remove a queue that nothing is in."""

    async def status(self, name: str) -> Shown:
        """Show how full a queue is."""


def name_of(key: str) -> str:
    """Give the name of the queue that an id stands for; a plain name will do."""
    return key.removeprefix(PREFIX).rpartition(":")[2]


class QueueDesk:
    """Finds the queues of an id, and tells who waits in them."""

    def __init__(self, host: Host, kinds: Sequence[SchedulerQueues]) -> None:
        self._host = host
        self._kinds = {each.scheduler: each for each in kinds}
        self._away: dict[str, float] = {}

    def of(self, scheduler: str) -> SchedulerQueues:
        """Give the queues of a scheduler; raise InvalidInputError where it has none here."""
        found = self._kinds.get(scheduler)
        if found is None:
            raise InvalidInputError(f"this server has no queues of {scheduler[:40]!r}")
        return found

    async def find(self, key: str) -> tuple[SchedulerQueues, str]:
        """Give whose queue an id names, and its name; raise NotFoundError where there is none."""
        scheduler, _, name = key.removeprefix(PREFIX).rpartition(":")
        try:
            queues = self.of(scheduler or LOCAL)
            return queues, await queues.check(name)
        except (NotFoundError, InvalidInputError):
            raise NotFoundError(f"there is no queue {key[:200]!r}") from None

    async def choose(self, key: str, scheduler: str, project: str = "") -> str:
        """Give the name of the queue that a project's work for ``scheduler`` is to wait in."""
        scheduler = scheduler or LOCAL
        whose = key.removeprefix(PREFIX).rpartition(":")[0]
        if whose not in ("", scheduler) and whose in self._kinds:
            raise NotFoundError(f"{key[:200]!r} is no queue of {scheduler}")
        if scheduler not in self._kinds:
            return name_of(key)  # Somebody else's: who runs it knows it.
        try:
            return await self._kinds[scheduler].enter(name_of(key), project)
        except NotFoundError:
            raise NotFoundError(f"there is no queue {key[:200]!r}") from None
        except ClusterError:
            return name_of(key)  # It cannot be asked now; the work waits until it can.

    async def listed(self, scheduler: str | None = None) -> list[Shown]:
        """Show all queues, or those of one scheduler.

        Asked for all, a cluster that is away has none to show: whoever looks does not wait for it,
        and it is left alone for a while.
        """
        if scheduler is not None:
            known = self._kinds.get(scheduler)
            return await known.listed() if known else []
        found: list[Shown] = []
        now = self._host.clock.now()
        for whose, queues in self._kinds.items():
            if self._away.get(whose, 0.0) > now:
                continue
            try:
                async with asyncio.timeout(AWAY):
                    found += await queues.listed()
            except (ClusterError, TimeoutError):
                self._away[whose] = now + ALONE
        return found

    # --- who is in them -----------------------------------------------------------------------

    def stats(self, scheduler: str, name: str) -> dict[str, int]:
        """Count the workflows of a queue; may take a while, so call it from a thread."""
        counts = self._counted(name, "" if scheduler == LOCAL else scheduler)
        if scheduler == LOCAL:
            # All less the few of others: the whole is counted fast, whatever their number.
            for other in SCHEDULERS:
                counts -= self._counted(name, other) if other != LOCAL else Counter()
        return {
            "waiting": counts.get("", 0) + counts.get("Pending", 0),
            "running": counts.get("Running", 0),
            "succeeded": counts.get("Succeeded", 0),
            "failed": counts.get("Failed", 0) + counts.get("Error", 0),
        }

    def _counted(self, name: str, scheduler: str) -> Counter[str]:
        labels = f"{SCHEDULER_LABEL}={scheduler}" if scheduler else ""
        wanted = WorkflowFilter(queue=name, label_selector=labels)
        return Counter(self._host.store.count_by_phase(wanted))

    def present(self, scheduler: str, name: str) -> dict[str, int]:
        """Count the workflows of which something waits or runs in a queue, where we know that."""
        if scheduler != LOCAL:
            return {}
        control = self._host.control
        occupancy = occupancy_of(control.scheduler, list(control.runs.values()))
        return {"waiting": occupancy.waiting(name), "running": occupancy.running(name)}

    def waiting(self, scheduler: str, name: str, identity: Identity) -> list[Shown]:
        """Tell who waits in a queue, the next ones first, as far as ``identity`` may know."""
        control = self._host.control
        works = control.scheduler.waiting_works() if scheduler == LOCAL else []
        lines = {str(work.id): work.queue for work in works}
        inside = {work.workflow for work in works if work.queue == name}
        runs = [
            run
            for run in list(control.runs.values())
            if identity.sees(run.namespace)
            and (run.uid in inside or place_of(run) == (scheduler, name))
        ]
        runs.sort(key=lambda run: -priority_of(run))  # Among equals the oldest, as they stand.
        found = []
        for run in runs[:RUNS]:
            own = place_of(run)[1]
            rows = [
                row
                for row in self.explain(run.uid, identity)
                if _in_line(row) and lines.get(_attempt(run, row), own) == name
            ]
            found += [{"workflow": run.uid, **row} for row in rows[:ROWS]]
        return found

    def explain(self, uid: str, identity: Identity) -> list[Shown]:
        """Say why nodes of a workflow wait, without naming what ``identity`` must not know of."""
        rows = self._host.control.explain(uid)
        if not identity.project:
            return rows

        def known(match: re.Match[str]) -> str:
            run = self._host.control.runs.get(match[0])
            seen = run is not None and identity.sees(run.namespace)
            return match[0] if seen else "another project's"

        text = _UID.sub(known, msgspec.json.encode(rows).decode())
        plain: list[Shown] = msgspec.json.decode(text)
        return plain


def place_of(run: Run) -> tuple[str, str]:
    """Give whose queue a run waits in, and which."""
    if has_fallen_back(run.annotations):
        return LOCAL, DEFAULT
    return scheduler_of(run), queue_of(run.labels, run.annotations)


def _attempt(run: Run, row: Mapping[str, Any]) -> str:
    node = run.nodes.get(row["node"])
    return "" if node is None else attempt_id(run, node.ours.attempt)


def _in_line(row: Mapping[str, Any]) -> bool:
    """Whether a node stands in the queue: one that is let in only starts, a pause asks a person."""
    return bool(row["node"]) and row["data"]["type"] not in _ELSEWHERE
