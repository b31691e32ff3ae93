"""Artifact garbage collection: artifacts go when their workflow has ended, or is deleted.

A workflow whose files speak of ``artifactGC`` gets a *mark* in the transaction that takes it in, as
Argo puts a finalizer on it; the mark goes when nothing is left to delete. So a crash at any instant
forgets nothing: the next host finds the mark and goes on, and to delete twice does no harm.

Artifacts that cannot be deleted are told (an event, a condition of the workflow, a note) and never
stop anything, with one exception: a workflow is not deleted while artifacts that should go with it
are still there, unless ``forceFinalizerRemoval`` or the person who deletes it says so. As in Argo a
collection that failed is not tried again by itself; deleting the workflow tries again.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from tiphys.control.record import Ledger, node_row
from tiphys.engine.node import Node, NodeType
from tiphys.errors import ConflictError, NotFoundError
from tiphys.spec import model
from tiphys.store import EventRow, ObjectRow, Store, WorkflowRow
from tiphys.store.row import FINISHED
from tiphys.wire.node import decode_node

if TYPE_CHECKING:
    from tiphys.artifacts import Collected
    from tiphys.control.artifact import Artifacts
    from tiphys.engine.run import Run

KIND = "ArtifactGC"
COMPLETION = "OnWorkflowCompletion"
DELETION = "OnWorkflowDeletion"
_TOGETHER = 20
"""Artifacts that are deleted between two commits."""
_PATIENCE = 2.0
"""Seconds that a collection gets to come to its end when the host goes."""
_TOLD = 5
_MOST_TEXT = 2000
_SIGN = b'"artifactGC"'
T = TypeVar("T")


class Mark(msgspec.Struct, omit_defaults=True):
    """What is still to be done for one workflow."""

    processed: bool = False
    """Its end was dealt with; what is left waits for its deletion."""
    deleting: bool = False
    """It is to be deleted as soon as its artifacts are."""
    abandon: bool = False
    """It is to be deleted whether or not they can be."""


class _Work(msgspec.Struct):
    """The nodes of one workflow, and what went wrong with their artifacts."""

    row: WorkflowRow
    nodes: list[Node]
    failures: list[Collected] = msgspec.field(default_factory=list)
    untried: int = 0
    """Artifacts that nobody tried to delete after all before them had failed."""

    @property
    def policy(self) -> model.WorkflowLevelArtifactGC | None:
        return msgspec.json.decode(self.row.spec, type=model.WorkflowSpec).artifact_gc


class Garbage:
    """Deletes artifacts for one host; a watcher of its loop, and on the loop's thread."""

    def __init__(
        self,
        store: Store,
        ledger: Ledger,
        artifacts: Artifacts,
        *,
        settle: Callable[[], Awaitable[None]],
        note: Callable[[str], None],
    ) -> None:
        self._store, self._ledger, self._artifacts = store, ledger, artifacts
        self._settle, self._note = settle, note
        self._marks = {row.name: _read(row) for row in store.objects(KIND)}
        self._left = tuple(self._marks)
        """Workflows that an earlier host has marked."""
        self._jobs: dict[str, asyncio.Task[None]] = {}

    # --- control.loop.Watcher -------------------------------------------------------------

    def workflow(self, run: Run) -> None:
        """Begin with a run that has just ended."""
        mark = self._marks.get(run.uid)
        if run.ended and mark is not None and not mark.processed:
            self._begin(run.uid, self._complete(run.uid, list(run.nodes.values())))

    def nodes(self, run: Run, nodes: Sequence[Node]) -> None:
        """See nothing."""

    def note(self, text: str) -> None:
        """Hear nothing."""

    # --- of the host ----------------------------------------------------------------------

    def promise(self, row: WorkflowRow, *, at: float) -> None:
        """Mark a workflow that is taken in, or retried, if anything of it may have to go."""
        if _SIGN in row.spec or _SIGN in row.library:
            self._marks[row.uid] = Mark()
            self._keep(row, at)

    def resume(self, forget: Callable[[WorkflowRow, bool], Coroutine[Any, Any, None]]) -> None:
        """Go on with what an earlier host left."""
        for uid in self._left:
            mark = self._marks[uid]
            try:
                row = self._store.workflow(uid)
            except NotFoundError:
                self.drop(uid)
                continue
            if mark.deleting:
                self._begin(uid, forget(row, mark.abandon))
            elif row.phase in FINISHED and not mark.processed:
                self._begin(uid, self._complete(uid))

    async def finished(self, uid: str) -> None:
        """Wait until nothing of a workflow is being deleted."""
        job = self._jobs.get(uid)
        if job is not None and job is not asyncio.current_task():
            await asyncio.wait({job})

    async def release(self, row: WorkflowRow, *, abandon: bool, at: float) -> None:
        """Delete what goes with a workflow. Raises ConflictError where the workflow must stay."""
        await self.finished(row.uid)
        mark = self._marks.get(row.uid)
        if mark is None:
            return
        mark.deleting, mark.abandon = True, abandon
        self._keep(row, at)
        await self._settle()
        work = await self._load(row.uid)
        await self._collect(work, (COMPLETION, DELETION))
        if not work.failures:
            return
        text = self._tell(work, at)
        if abandon or (work.policy is not None and work.policy.force_finalizer_removal):
            return
        mark.deleting = False
        self._keep(row, at)
        await self._settle()
        raise ConflictError(f"workflow {row.name} is not deleted: {text}")

    def drop(self, uid: str) -> None:
        """Forget the mark of a workflow, with the next commit."""
        if self._marks.pop(uid, None) is not None:
            self._ledger.forget(KIND, "", uid)

    def hurry(self) -> None:
        """Break off: somebody wants this process to end. The next host goes on."""
        for uid, job in self._jobs.items():
            self._note(f"artifacts of workflow {uid} are left to the next tiphys to collect")
            job.cancel()

    async def close(self) -> None:
        """Let collections come to their end if they can soon; the next host goes on with others."""
        if self._jobs:
            await asyncio.wait(self._jobs.values(), timeout=_PATIENCE)
        jobs = list(self._jobs.values())
        for job in jobs:
            job.cancel()
        await asyncio.gather(*jobs, return_exceptions=True)

    # --- one workflow ---------------------------------------------------------------------

    def _begin(self, uid: str, work: Coroutine[Any, Any, None]) -> None:
        async def guarded() -> None:
            try:
                await work
            except Exception as error:  # Whatever it is, the loop and its workflows go on.
                self._note(f"artifacts of workflow {uid} are not collected: {error}")
            finally:
                self._jobs.pop(uid, None)

        self._jobs[uid] = asyncio.get_running_loop().create_task(guarded())

    async def _complete(self, uid: str, nodes: list[Node] | None = None) -> None:
        """Deal with the end of a workflow."""
        work = await self._load(uid, nodes)
        await self._collect(work, (COMPLETION,))
        if work.failures:
            self._tell(work, work.row.finished_at or 0.0)
        mark = self._marks.get(uid)
        if mark is not None:
            mark.processed = True
            if await asyncio.to_thread(_is_over, work):
                self.drop(uid)
            else:
                self._keep(work.row, work.row.finished_at or 0.0)
        await self._settle()

    async def _load(self, uid: str, nodes: list[Node] | None = None) -> _Work:
        def read() -> _Work:
            row = self._store.workflow(uid)
            stored = (decode_node(each.body) for each in self._store.nodes(uid))
            return _Work(row, list(stored) if nodes is None else nodes)

        return await asyncio.to_thread(read)

    async def _collect(self, work: _Work, moments: Sequence[str]) -> None:
        """Delete what is due, a bounded part at a time; each part is on record before the next."""
        due = await asyncio.to_thread(_due, work, moments)
        for start in range(0, len(due), _TOGETHER):
            part = due[start : start + _TOGETHER]
            artifacts = [artifact for _, artifact in part]
            report = await _apart(
                partial(self._artifacts.collect, artifacts, namespace=work.row.namespace)
            )
            work.failures += [each for each in report if not each.deleted]
            if len(work.failures) == start + len(part):
                # Not one could be deleted so far: the storage is away, and each takes its time.
                work.untried = len(due) - len(work.failures)
                return
            gone = [pair for pair, each in zip(part, report, strict=True) if each.deleted]
            for node, artifact in gone:
                _strike(node, artifact)
            changed = {node.id: node for node, _ in gone}
            self._ledger.amend(node_row(work.row.uid, node) for node in changed.values())
            await self._settle()

    def _tell(self, work: _Work, at: float) -> str:
        """Let people know what could not be deleted; give it as text."""
        told = [f"{each.name} ({each.key}): {each.message}" for each in work.failures[:_TOLD]]
        more = len(work.failures) - len(told) + work.untried
        if more:
            told.append(f"and {more} more")
        text = f"artifacts could not be deleted: {'; '.join(told)}"[:_MOST_TEXT]
        from tiphys.wire.argo import GC_ERROR  # noqa: PLC0415 - seldom, and large

        if work.row.annotations.get(GC_ERROR) == text:
            return text  # Whoever tries again and again need not be told each time.
        self._ledger.annotate(work.row, {GC_ERROR: text})
        self._ledger.note(EventRow(uid=work.row.uid, at=at, kind="ArtifactGCFailed", text=text))
        self._note(f"workflow {work.row.name}: {text}")
        return text

    def _keep(self, row: WorkflowRow, at: float) -> None:
        body = msgspec.json.encode(self._marks[row.uid])
        self._ledger.keep(ObjectRow(kind=KIND, namespace="", name=row.uid, body=body, at=at))


async def _apart(work: Callable[[], T]) -> T:
    """Do something slow in a thread that nobody waits for at the end of the process."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def tell(set_it: Callable[[Any], None], value: object) -> None:
        if not done.done():
            set_it(value)

    def run() -> None:
        with suppress(RuntimeError):  # The loop is closed: nobody listens any more.
            try:
                value = work()
            except Exception as error:
                loop.call_soon_threadsafe(tell, done.set_exception, error)
            else:
                loop.call_soon_threadsafe(tell, done.set_result, value)

    threading.Thread(target=run, name="garbage", daemon=True).start()
    return await done


def _read(row: ObjectRow) -> Mark:
    try:
        return msgspec.json.decode(row.body, type=Mark)
    except msgspec.MsgspecError:
        return Mark()  # To look once more is the safe way.


def _artifacts_of(node: Node) -> Iterable[model.Artifact]:
    """Give what a node itself has made; steps and the like only hand on what others made."""
    if node.type is not NodeType.POD or node.outputs is None:
        return ()
    return node.outputs.artifacts


def _due(work: _Work, moments: Sequence[str]) -> list[tuple[Node, model.Artifact]]:
    from tiphys.artifacts import is_due  # noqa: PLC0415 - only where there is garbage at all

    policy = work.policy
    return [
        (node, artifact)
        for node in work.nodes
        for artifact in _artifacts_of(node)
        if any(is_due(artifact, policy, moment) for moment in moments)
    ]


def _is_over(work: _Work) -> bool:
    """Tell whether nothing is left to be deleted, now or later."""
    return not _due(work, (COMPLETION, DELETION))


def _strike(node: Node, gone: model.Artifact) -> None:
    """Note on a node that one of its artifacts is deleted."""
    assert node.outputs is not None
    replace = msgspec.structs.replace
    artifacts = tuple(
        replace(each, deleted=True) if each is gone else each for each in node.outputs.artifacts
    )
    node.outputs = replace(node.outputs, artifacts=artifacts)
