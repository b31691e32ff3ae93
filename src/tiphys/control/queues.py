"""The queues in force, and changing them while workflows run.

Queues come from the settings and from the store, where ``tiphys queue`` keeps them; a stored queue
takes the place of one of the settings. ``Queues`` is what a host has of them; without a host the
command line uses it over a store of its own. Nothing here looks at the clock or the environment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from tiphys.control.door import Handler
from tiphys.engine.run import Run
from tiphys.errors import ConflictError, InvalidInputError, NotFoundError
from tiphys.scheduling import Queue, QueueState, QueueTree, Resources, Scheduler
from tiphys.scheduling.preset import fit
from tiphys.scheduling.queue import DEFAULT, ROOT
from tiphys.scheduling.queue_file import amounts_dict, queue_dict, read_queue, tree_of
from tiphys.store import Batch, ObjectRow, Store, WorkflowFilter
from tiphys.store.row import UNFINISHED
from tiphys.store.sqlite import NAME

if TYPE_CHECKING:
    from tiphys.control.occupants import Scene
    from tiphys.scheduling.occupancy import Occupancy

KIND = "Queue"
LOOKS = frozenset({"queue-list", "queue-get"})
OPS = (*sorted(LOOKS), "queue-save", "queue-state", "queue-delete")
"""What can be asked for at the door."""
_ALL = WorkflowFilter()
_NO_NAMES = frozenset({"", ROOT})


class Shelf(Protocol):
    """What of a store is needed; ``Store`` is one."""

    def objects(self, kind: str | None = None) -> list[ObjectRow]:
        """List objects."""

    def count_workflows(self, wanted: WorkflowFilter = ...) -> int:
        """Count workflows."""


def stored_queues(rows: Iterable[ObjectRow]) -> list[Queue]:
    """Read the queues among stored objects."""
    found = []
    for row in rows:
        if row.kind == KIND:
            found.append(read_queue(row.name, msgspec.json.decode(row.body)))
    return found


def queue_row(queue: Queue, at: float) -> ObjectRow:
    """Write a queue as it is stored."""
    body = msgspec.json.encode(queue_dict(queue))
    return ObjectRow(kind=KIND, namespace="", name=queue.name, body=body, at=at)


class Queues:
    """The queues in force."""

    def __init__(self, shelf: Shelf, configured: Sequence[Queue], capacity: Resources) -> None:
        self._shelf = shelf
        self._configured = {queue.name: queue for queue in configured}
        self._stored = {queue.name: queue for queue in stored_queues(shelf.objects(KIND))}
        self._capacity = capacity

    def tree(self) -> tuple[QueueTree, str]:
        """Give the tree fitted to the machine, and the warning where quotas had to shrink."""
        return fit(self._whole(), self._capacity)

    def _whole(self) -> QueueTree:
        return tree_of(self._configured.values(), self._stored.values())

    def get(self, name: str) -> Queue:
        """Find a queue as it was defined."""
        found = self._whole().queues.get(name) if name != ROOT else None
        if found is None:
            raise NotFoundError(f"there is no queue {name[:200]!r}")
        return found

    def source(self, name: str) -> str:
        """Where a queue comes from: ``store``, ``config`` or ``built-in``."""
        if name in self._stored:
            return "store"
        return "config" if name in self._configured else "built-in"

    # -- changes -----------------------------------------------------------------------------

    def save(self, queue: Queue, *, new: bool, scene: Scene | None = None) -> None:
        """Check and take over a queue; ``new`` refuses a name that exists."""
        if queue.name in _NO_NAMES:
            raise InvalidInputError(f"{queue.name!r} is no name for a queue")
        if new and (queue.name in self._stored or queue.name in self._configured):
            raise ConflictError(f"queue {queue.name} exists already (an update changes it)")
        after = {**self._stored, queue.name: queue}
        tree = tree_of(self._configured.values(), after.values())
        self._check_parent(queue, tree, scene)
        self._stored = after

    def _check_parent(self, queue: Queue, tree: QueueTree, scene: Scene | None) -> None:
        """A queue with work cannot become a branch: only leaves take work."""
        parent = queue.parent
        was_leaf = parent in self._whole().leaves()
        if was_leaf and (who := self._who_is_in(parent, scene)):
            raise ConflictError(f"queue {parent} has {who} and cannot have queues below it")
        if parent == DEFAULT and tree.children.get(DEFAULT):
            raise InvalidInputError(f"queue {DEFAULT} takes work and cannot have queues below it")

    def remove(self, name: str, scene: Scene | None = None) -> bool:
        """Forget a stored queue; tell whether one of the settings takes its place again."""
        self.get(name)
        if name not in self._stored:
            where = "the configuration" if name in self._configured else "Tiphys itself"
            raise ConflictError(f"queue {name} comes from {where} and cannot be deleted")
        if who := self._who_is_in(name, scene):
            raise ConflictError(f"queue {name} has {who}")
        children = self._whole().children[name]
        if children and name not in self._configured:
            raise ConflictError(f"queue {name} has queues below it: {', '.join(children)}")
        after = {key: queue for key, queue in self._stored.items() if key != name}
        tree_of(self._configured.values(), after.values())
        self._stored = after
        return name in self._configured

    def _who_is_in(self, name: str, scene: Scene | None) -> str:
        """Say how many unfinished workflows are in a queue; "" where there are none."""
        live = self._shelf.count_workflows(WorkflowFilter(queue=name, phases=UNFINISHED))
        if live:
            return f"{live} unfinished workflow{'s' * (live > 1)}"
        others = len(scene.present(name)) if scene is not None else 0
        return f"work of {others} unfinished workflow{'s' * (others > 1)}" if others else ""

    # -- what people see ---------------------------------------------------------------------

    def shown(self, name: str, scene: Scene | None = None) -> dict[str, Any]:
        """Give a queue with its state and numbers as plain data."""
        if scene is None:
            return self._shown(name, None, None)
        return self._shown(name, scene.scheduler, scene.occupancy())

    def _shown(
        self, name: str, scheduler: Scheduler | None, occupancy: Occupancy | None
    ) -> dict[str, Any]:
        tree, _ = self.tree()
        queue = tree.queues[self.get(name).name]
        state = tree.effective_state(name)
        shown: dict[str, Any] = {
            **queue_dict(self.get(name)),
            "parent": queue.parent,
            "weight": queue.weight,
            "priority": queue.priority,
            "state": self.get(name).state.value,
            "effective": state.value,
            "source": self.source(name),
            "workflows": self._counted(name) if occupancy is None else _present(occupancy, name),
            "children": list(tree.children[name]),
        }
        if scheduler is not None and name in scheduler.queues.queues:
            shown["used"] = amounts_dict(scheduler.used(name))
            shown["largest"] = amounts_dict(scheduler.largest(name))
        return shown

    def _counted(self, name: str) -> dict[str, int]:
        """Count workflows as they are stored: without a host nobody can tell more."""
        count = self._shelf.count_workflows
        return {
            "waiting": count(WorkflowFilter(queue=name, phases=("", "Pending"))),
            "running": count(WorkflowFilter(queue=name, phases=("Running",))),
        }

    def listed(self, scene: Scene | None = None) -> list[dict[str, Any]]:
        """Give all queues, parents before their children."""
        tree = self._whole()
        names: list[str] = []
        stack = list(reversed(tree.children[ROOT]))
        while stack:
            name = stack.pop()
            names.append(name)
            stack += reversed(tree.children[name])
        scheduler = scene.scheduler if scene is not None else None
        occupancy = scene.occupancy() if scene is not None else None
        return [self._shown(name, scheduler, occupancy) for name in names]


def _present(occupancy: Occupancy, name: str) -> dict[str, int]:
    return {"waiting": occupancy.waiting(name), "running": occupancy.running(name)}


def perform_queue(
    queues: Queues,
    op: str,
    arguments: Mapping[str, Any],
    *,
    keep: Callable[[Queue], None],
    forget: Callable[[str], None],
    scene: Scene | None = None,
) -> Any:
    """Do one thing that ``tiphys queue`` asks for; ``keep`` and ``forget`` put it on record.

    ``queue-list``; ``queue-get`` name; ``queue-save`` queue, new; ``queue-state`` name, state;
    ``queue-delete`` name. The scene tells who is in them; who has a scheduler tells it of changes.
    """
    match op:
        case "queue-list":
            return queues.listed(scene)
        case "queue-get":
            return queues.shown(str(arguments["name"]), scene)
        case "queue-save":
            spec = dict(arguments["queue"])
            queue = read_queue(str(spec["name"]), spec)
            queues.save(queue, new=bool(arguments.get("new")), scene=scene)
            keep(queue)
        case "queue-state":
            before = queues.get(str(arguments["name"]))
            queue = msgspec.structs.replace(before, state=QueueState(arguments["state"]))
            queues.save(queue, new=False, scene=scene)
            keep(queue)
        case "queue-delete":
            name = str(arguments["name"])
            shown = queues.shown(name)
            queues.remove(name, scene)
            forget(name)
            return shown
        case _:
            raise InvalidInputError(f"{op!r} is nothing that can be done to a queue")
    return {**queues.shown(queue.name, scene), "warning": queues.tree()[1]}


class Office(Protocol):
    """What a host does with queues that change."""

    @property
    def scheduler(self) -> Scheduler:
        """Decides what starts."""

    def runs(self) -> Iterable[Run]:
        """Give the workflows that are under way."""

    def keep(self, row: ObjectRow) -> None:
        """Put an object on record, with the next commit."""

    def forget(self, kind: str, namespace: str, name: str) -> None:
        """Remove an object, with the next commit."""

    def queues_changed(self, tree: QueueTree) -> None:
        """Let the scheduler and its gate follow, and plan anew."""

    async def settle(self) -> None:
        """Wait until all is on record."""

    def now(self) -> float:
        """Tell the time."""


def queue_handlers(queues: Queues, office: Office) -> dict[str, Handler]:
    """Give what a host answers about queues at its door."""
    from tiphys.control.occupants import Scene  # noqa: PLC0415 - a run of its own hears no question

    def handler(op: str) -> Handler:
        async def handle(request: Mapping[str, Any]) -> Any:
            answer = perform_queue(
                queues,
                op,
                request,
                keep=lambda queue: office.keep(queue_row(queue, office.now())),
                forget=lambda name: office.forget(KIND, "", name),
                scene=Scene(office.runs, office.scheduler),
            )
            if op not in LOOKS:
                office.queues_changed(queues.tree()[0])
                await office.settle()
            return answer

        return handle

    return {op: handler(op) for op in OPS}


class _Empty:
    """Stands for a store that was never made: looking at queues must not make it."""

    def objects(self, kind: str | None = None) -> list[ObjectRow]:
        """List nothing."""
        del kind
        return []

    def count_workflows(self, wanted: WorkflowFilter = _ALL) -> int:
        """Count nothing."""
        del wanted
        return 0


def queues_in_force(
    data: Path, configured: Sequence[Queue], capacity: Resources, url: str = ""
) -> tuple[QueueTree, str]:
    """Give the tree of the settings and the store of ``data``, and the warning of ``fit``."""
    if not url and not (data / NAME).exists():
        return Queues(_Empty(), configured, capacity).tree()
    with Store.open(data, owner=False, url=url) as store:
        return Queues(store, configured, capacity).tree()


def perform_alone(
    data: Path,
    configured: Sequence[Queue],
    capacity: Resources,
    op: str,
    arguments: Mapping[str, Any],
    *,
    now: float,
) -> Any:
    """Do the same without a host, over the store of ``data``."""
    if op in LOOKS:
        if not (data / NAME).exists():
            return _look(_Empty(), configured, capacity, op, arguments)
        with Store.open(data, owner=False) as store:
            return _look(store, configured, capacity, op, arguments)
    from tiphys.control.occupants import Scene, stored_runs  # noqa: PLC0415 - as above

    with Store.open(data, owner=True) as store:
        return perform_queue(
            Queues(store, configured, capacity),
            op,
            arguments,
            keep=lambda queue: _commit(store, Batch(objects=[queue_row(queue, now)])),
            forget=lambda name: _commit(store, Batch(objects_removed=[(KIND, "", name)])),
            scene=Scene(lambda: stored_runs(store.unfinished())),
        )


def _look(
    shelf: Shelf,
    configured: Sequence[Queue],
    capacity: Resources,
    op: str,
    arguments: Mapping[str, Any],
) -> Any:
    def changes(_: object) -> None:
        raise AssertionError("looking changes nothing")

    queues = Queues(shelf, configured, capacity)
    return perform_queue(queues, op, arguments, keep=changes, forget=changes)


def _commit(store: Store, batch: Batch) -> None:
    store.commit(batch)
