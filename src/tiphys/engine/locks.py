"""What a run asks of locks and of the memory of outputs. Who gets a lock is decided outside
(``control.locks``), for locks are shared by all runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tiphys.engine.command import AcquireLocks, LockName, ReadMemo, SaveMemo
from tiphys.engine.shield import unshield

if TYPE_CHECKING:
    from tiphys.engine.node import Node
    from tiphys.engine.run import Run
    from tiphys.spec import model


NO_DATABASE = "no database is configured for locks: use a ConfigMap, or a mutex without `database`"


def lock_names(run: Run, wanted: model.Synchronization) -> tuple[LockName, ...] | str:
    """Give the locks that are wanted, or what is wrong with them."""
    found = []
    for mutex in (*wanted.mutexes, *((wanted.mutex,) if wanted.mutex else ())):
        if mutex.database:
            return NO_DATABASE
        namespace = unshield(mutex.namespace) or run.namespace
        found.append(LockName(key=f"{namespace}/Mutex/{unshield(mutex.name)}"))
    for semaphore in (*wanted.semaphores, *((wanted.semaphore,) if wanted.semaphore else ())):
        name = _semaphore(run, semaphore)
        if isinstance(name, str):
            return name
        found.append(name)
    return tuple(found)


def _semaphore(run: Run, semaphore: model.SemaphoreRef) -> LockName | str:
    ref = semaphore.config_map_key_ref
    if ref is None:
        return NO_DATABASE
    namespace = unshield(semaphore.namespace) or run.namespace
    name, key = unshield(ref.name), unshield(ref.key)
    text = run.library.config_value(name, key, namespace=namespace)
    if text is None and (namespace, name) not in run.library.config_maps:
        return f"there is no ConfigMap '{name}' in namespace '{namespace}'"
    if text is None:
        return f"ConfigMap '{name}' in namespace '{namespace}' has no key '{key}'"
    if not text.strip().isdigit():
        return f"the limit of semaphore {name}/{key} must be a number, got '{text}'"
    return LockName(key=f"{namespace}/ConfigMap/{name}/{key}", limit=int(text))


def acquire(run: Run, node: Node, names: tuple[LockName, ...]) -> None:
    """Ask for all locks of ``node``; granted or not comes back as an event."""
    run.locked.add(node.id)
    run.emit(
        AcquireLocks(
            holder=node.id,
            locks=names,
            priority=run.spec.priority or 0,
            held=node.ours.locked,
        )
    )


def read_memo(run: Run, node: Node, memo: model.Memoize, max_age: float | None) -> None:
    """Ask the memory of outputs."""
    assert memo.cache is not None
    run.emit(
        ReadMemo(
            node=node.id,
            cache=unshield(memo.cache.config_map.name),
            key=unshield(memo.key),
            max_age=max_age,
        )
    )


def save_memo(run: Run, node: Node) -> None:
    """Remember the outputs of a node that succeeded and was not itself remembered."""
    memo = node.memoization_status
    if memo is not None and not memo.hit:
        run.emit(SaveMemo(node=node.id, cache=memo.cache_name, key=memo.key, outputs=node.outputs))
