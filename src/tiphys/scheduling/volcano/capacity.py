"""The capacity policy: what each queue deserves is configured; queues may form a tree.

Pure. A queue allocates up to its real capability, in itself and in all above it. It takes back
from queues that exceed what they deserve, its nearest relatives first, and never below their
guarantee. A queue without a deserved amount is best effort: its share is fixed at one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tiphys.scheduling.queue import ROOT, QueueState
from tiphys.scheduling.volcano.amounts import (
    BASIC,
    Amounts,
    add,
    capped,
    exceeds_somewhere,
    is_empty,
    largest,
    share,
    shared_names,
    subtract,
    total,
    within,
    within_on,
    within_somewhere,
)
from tiphys.scheduling.volcano.cluster import ClusterQueue, Job, Task
from tiphys.scheduling.volcano.quota import (
    Book,
    enter,
    flat_books,
    may_enqueue,
    real_capability,
)
from tiphys.scheduling.volcano.session import PERMIT, REJECT, Plugin, Session


def queue_share(allocated: Amounts, deserved: Amounts) -> float:
    """How much of its due a queue uses; one where it is due nothing."""
    if is_empty(deserved):
        return 1.0
    return max(share(allocated.get(name, 0.0), due) for name, due in deserved.items() if due)


def compare_shares(left: Book, right: Book) -> int:
    """Lower share first; among equals, those that are due something."""
    shares = (
        queue_share(left.allocated, left.deserved),
        queue_share(right.allocated, right.deserved),
    )
    if shares[0] != shares[1]:
        return -1 if shares[0] < shares[1] else 1
    return int(is_empty(left.deserved)) - int(is_empty(right.deserved))


def capacity(session: Session, *, hierarchy: bool = False) -> Plugin:
    """Return the capacity policy of ``session``."""
    books = tree_books(session) if hierarchy else _capped_books(session)
    return _Capacity(session, books, hierarchy=hierarchy).plugin()


def _capped_books(session: Session) -> dict[str, Book]:
    books = flat_books(session)
    for book in books.values():
        due = capped(book.queue.deserved, book.real_capability)
        book.deserved = largest(due, book.queue.guarantee)
    return books


def tree_books(session: Session) -> dict[str, Book]:
    """Open a book for each queue of a tree and count the jobs in all books above them."""
    queues = dict(session.queues)
    queues.setdefault(ROOT, ClusterQueue(name=ROOT))
    children: dict[str, list[str]] = {name: [] for name in queues}
    for queue in queues.values():
        if queue.name != ROOT:
            children[queue.parent or ROOT].append(queue.name)
    whole = session.total()
    root = queues[ROOT]
    books = {
        ROOT: Book(
            queue=root,
            deserved=dict(root.deserved) or whole,
            real_capability=whole,
            leaf=not children[ROOT],
        )
    }
    caps = {ROOT: root.capability or whole}
    _open_below(ROOT, queues, children, books, caps)
    for job in session.jobs.values():
        book = books[job.queue]
        for name in (job.queue, *book.ancestors):
            enter(books[name], job)
    return books


def _open_below(
    parent: str,
    queues: dict[str, ClusterQueue],
    children: dict[str, list[str]],
    books: dict[str, Book],
    caps: dict[str, Amounts],
) -> None:
    guarantees = total(queues[name].guarantee for name in children[parent])
    for name in children[parent]:
        queue = queues[name]
        own = {n: a for n, a in queue.capability.items() if a > 0 or n not in BASIC}
        caps[name] = {**caps[parent], **own}
        books[name] = Book(
            queue=queue,
            deserved=dict(queue.deserved),
            real_capability=real_capability(
                books[parent].real_capability, guarantees, queue.guarantee, caps[name]
            ),
            ancestors=(*books[parent].ancestors, parent),
            leaf=not children[name],
        )
        _open_below(name, queues, children, books, caps)


def common_level(left: Book, right: Book) -> int:
    """How deep the nearest common ancestor of two queues lies."""
    level = 0
    for depth, (mine, yours) in enumerate(zip(left.ancestors, right.ancestors, strict=False)):
        if mine != yours:
            break
        level = depth
    return level


class _Capacity:
    def __init__(self, session: Session, books: dict[str, Book], *, hierarchy: bool) -> None:
        self._session = session
        self.books = books
        self._hierarchy = hierarchy

    def plugin(self) -> Plugin:
        return Plugin(
            name="capacity",
            queue_order=self._order,
            victim_queue_order=self._victim_order if self._hierarchy else None,
            reclaimable=self._victims,
            preemptive=self._preemptive,
            allocatable=self._allocatable,
            enqueueable=self._enqueueable,
            on_allocate=self._allocate,
            on_deallocate=self._deallocate,
        )

    def _path(self, name: str) -> Iterator[Book]:
        book = self.books[name]
        yield book
        for ancestor in reversed(book.ancestors):
            yield self.books[ancestor]

    def _order(self, left: ClusterQueue, right: ClusterQueue) -> int:
        if left.priority != right.priority:
            return right.priority - left.priority
        mine, yours = self.books[left.name], self.books[right.name]
        if self._hierarchy:
            # Compare where the two paths part, not at the leaves.
            level = common_level(mine, yours) + 1
            mine, yours = self._at(mine, level), self._at(yours, level)
        return compare_shares(mine, yours)

    def _at(self, book: Book, level: int) -> Book:
        return self.books[book.ancestors[level]] if level < len(book.ancestors) else book

    def _victim_order(self, left: ClusterQueue, right: ClusterQueue, mine: ClusterQueue) -> int:
        own = self.books[mine.name]
        return common_level(self.books[right.name], own) - common_level(self.books[left.name], own)

    def _victims(self, reclaimer: Task, candidates: Sequence[Task]) -> list[Task]:
        left: dict[str, Amounts] = {}
        chosen = []
        for task in candidates:
            book = self.books[self._session.queue_of(task).name]
            allocated = left.setdefault(book.queue.name, book.allocated)
            if is_victim(task, reclaimer, book, allocated):
                left[book.queue.name] = subtract(allocated, task.request)
                chosen.append(task)
        return chosen

    def _preemptive(self, queue: ClusterQueue, task: Task) -> bool:
        """Within the cap everywhere, and within the due somewhere."""
        if queue.state is not QueueState.OPEN:
            return False
        book = self.books[queue.name]
        used = add(book.allocated, task.request)
        return within_on(used, book.real_capability, task.request) and may_take(
            used, book.deserved, task.request
        )

    def _allocatable(self, queue: ClusterQueue, task: Task) -> bool:
        if queue.state is not QueueState.OPEN or not self.books[queue.name].leaf:
            return False
        return all(
            within_on(add(book.allocated, task.request), book.real_capability, task.request)
            for book in self._path(queue.name)
        )

    def _enqueueable(self, job: Job) -> int:
        book = self.books[job.queue]
        if book.queue.state is not QueueState.OPEN or not book.leaf:
            return REJECT
        if job.min_resources is None:
            return PERMIT
        if not all(may_enqueue(step, job.min_resources) for step in self._path(job.queue)):
            return REJECT
        for step in self._path(job.queue):
            step.inqueue = add(step.inqueue, job.min_resources)
        return PERMIT

    def _allocate(self, task: Task) -> None:
        for book in self._path(self._session.queue_of(task).name):
            book.allocated = add(book.allocated, task.request)

    def _deallocate(self, task: Task) -> None:
        for book in self._path(self._session.queue_of(task).name):
            book.allocated = subtract(book.allocated, task.request)


def is_victim(task: Task, reclaimer: Task, book: Book, allocated: Amounts) -> bool:
    """Whether ``task`` may be taken from its queue, which now holds ``allocated``."""
    if not shared_names(task.request, reclaimer.request):
        return False
    if not within(book.queue.guarantee, subtract(allocated, task.request)):
        return False
    return over_due(task.request, allocated, book.deserved)


def over_due(
    request: Mapping[str, float], allocated: Mapping[str, float], deserved: Mapping[str, float]
) -> bool:
    """Whether a queue has more than it deserves of what a task holds, or deserves none of it."""
    if not shared_names(request, deserved):
        return True
    return exceeds_somewhere(allocated, deserved, request)


def may_take(
    used: Mapping[str, float], deserved: Mapping[str, float], asked: Mapping[str, float]
) -> bool:
    """Whether a queue that would use ``used`` stays within its due somewhere, and so may take."""
    return within_somewhere(used, deserved, asked)
