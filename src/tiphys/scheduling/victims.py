"""Whom to stop: the choice of running work that makes room for waiting work.

Pure but for trial: the ledger is changed while trying and restored before returning. Three rules:

- priority: within its queue, waiting work may stop strictly less important work (or newer work
  of the same priority, where the queue says so);
- reclaim: a queue within what it deserves takes back from queues above what they deserve,
  nearest relatives first, never below their guarantee, never from queues that are not reclaimable;
- service level: work about to miss its queue's service level may stop less important work of its
  own queue, and of reclaimable queues of lower priority.

Candidates go in order until the newcomer fits; then, in reverse, each that need not go is spared.
A gang loses its surplus first; below its minimum it goes whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tiphys.scheduling.ledger import Account, Ledger, Needs, obstacle
from tiphys.scheduling.plan import Rule
from tiphys.scheduling.proportion import entitlements
from tiphys.scheduling.queue import Preempt
from tiphys.scheduling.resource import UNCHARGED
from tiphys.scheduling.volcano import capacity
from tiphys.scheduling.volcano.amounts import shared_names, within, within_on
from tiphys.scheduling.work import Gang, Work

Dues = Mapping[Account, Mapping[str, float]]


@dataclass(frozen=True, slots=True)
class Runner:
    """Running work, as far as it may be stopped."""

    work: Work
    account: Account
    needs: Needs
    started_at: float


@dataclass(frozen=True, slots=True)
class Unit:
    """Runners that stop together: one, or a gang that would fall below its minimum."""

    runners: tuple[Runner, ...]

    @property
    def first(self) -> Runner:
        """The one that stands for all."""
        return self.runners[0]

    def needs(self) -> dict[str, int]:
        """What they hold together."""
        if len(self.runners) == 1:
            return dict(self.runners[0].needs)
        held: dict[str, int] = {}
        for runner in self.runners:
            for name, amount in runner.needs:
                held[name] = held.get(name, 0) + amount
        return held


@dataclass(frozen=True, slots=True)
class Newcomer:
    """Waiting work that looks for room."""

    work: Work
    account: Account
    needs: Needs
    urgent: bool = False


def units(runners: Iterable[Runner], gangs: Mapping[str, Gang]) -> list[Unit]:
    """Group runners into what stops together: a gang's surplus one by one, its minimum whole."""
    found: list[Unit] = []
    members: dict[str, list[Runner]] = {}
    for runner in runners:
        if runner.work.group in gangs:
            members.setdefault(runner.work.group, []).append(runner)
        else:
            found.append(Unit((runner,)))
    for name, together in members.items():
        together.sort(key=lambda r: (r.work.priority, -r.started_at, r.work.id))
        surplus = max(0, len(together) - gangs[name].min_member)
        found += [Unit((runner,)) for runner in together[:surplus]]
        if together[surplus:]:
            found.append(Unit(tuple(together[surplus:])))
    return found


def choose(
    ledger: Ledger, newcomer: Newcomer, running: Sequence[Unit]
) -> tuple[tuple[Runner, ...], Rule] | None:
    """Choose whom to stop and by which rule; None where no rule makes enough room."""
    if not newcomer.work.may_preempt or not newcomer.account.open:
        return None
    for rule, candidates in _by_rule(ledger, newcomer, running):
        chosen = _enough(ledger, newcomer, candidates, rule)
        if chosen:
            return chosen, rule
    return None


def _by_rule(
    ledger: Ledger, newcomer: Newcomer, units: Sequence[Unit]
) -> Iterable[tuple[Rule, list[Unit]]]:
    own = [unit for unit in units if unit.first.account is newcomer.account]
    others = [unit for unit in units if unit.first.account is not newcomer.account]
    if newcomer.account.queue.preempt is not Preempt.NEVER:
        yield Rule.PRIORITY, _least_first([u for u in own if _beats(newcomer, u)])
    if newcomer.account.queue.reclaim and others:
        yield Rule.RECLAIM, _reclaimable(ledger, newcomer, others)
    if newcomer.urgent:
        lower = [u for u in own if u.first.work.priority < newcomer.work.priority]
        foreign = [u for u in others if _yields_to_urgent(newcomer, u)]
        yield Rule.SLA, [*_least_first(lower), *_least_first(foreign)]


def _beats(newcomer: Newcomer, unit: Unit) -> bool:
    mine, theirs = newcomer.work, unit.first.work
    if theirs.priority < mine.priority:
        return True
    if newcomer.account.queue.preempt is not Preempt.LOWER_OR_NEWER:
        return False
    return theirs.priority == mine.priority and mine.created_at < theirs.created_at


def _yields_to_urgent(newcomer: Newcomer, unit: Unit) -> bool:
    theirs = unit.first.account.queue
    return (
        theirs.reclaimable
        and theirs.priority < newcomer.account.queue.priority
        and unit.first.work.priority <= newcomer.work.priority
    )


def _least_first(units: Iterable[Unit]) -> list[Unit]:
    return sorted(
        units,
        key=lambda u: (u.first.work.priority, -u.first.started_at, u.first.work.id),
    )


def _reclaimable(ledger: Ledger, newcomer: Newcomer, units: Sequence[Unit]) -> list[Unit]:
    """Units of other queues in the order in which they are taken back."""
    due = entitlements(ledger)
    entitled: dict[Account, bool] = {}
    found = []
    for unit in units:
        account = unit.first.account
        if account not in entitled:
            entitled[account] = _entitled(newcomer, account, due) and all(
                step.queue.reclaimable for step in account.path
            )
        if entitled[account] and _over_due(newcomer, unit, due):
            found.append(unit)
    return sorted(found, key=lambda unit: _reclaim_order(newcomer, unit))


def _reclaim_order(newcomer: Newcomer, unit: Unit) -> tuple[object, ...]:
    """Nearest relatives, lowest queue priority, largest share, least important, youngest."""
    account = unit.first.account
    distance = sum(step not in newcomer.account.path for step in account.path)
    return (
        distance,
        account.queue.priority,
        -account.share(),
        unit.first.work.priority,
        -unit.first.started_at,
        unit.first.work.id,
    )


def _entitled(newcomer: Newcomer, victim: Account, due: Dues) -> bool:
    """Whether the newcomer's queues stay within their due, up to what both have in common.

    What is taken from a near relative stays with the common ancestor, and is none of its business.
    """
    asked = dict(newcomer.needs)
    for step in newcomer.account.path:
        if step in victim.path:
            break
        used = {name: step.used.get(name, 0) + amount - 1e-6 for name, amount in asked.items()}
        fits = capacity.may_take if _configured(step) else within_on
        if not fits(used, due.get(step, {}), asked):
            return False
    return True


def _over_due(newcomer: Newcomer, unit: Unit, due: Dues) -> bool:
    """Whether the victim's branch has more than its due, of something that is asked for."""
    held = unit.needs()
    if not shared_names(held, dict(newcomer.needs)):
        return False
    for step in unit.first.account.path:
        if step in newcomer.account.path:
            break
        owed = due.get(step, {})
        if _configured(step):
            if not capacity.over_due(held, step.used, owed):
                return False
        elif within({n: a for n, a in step.used.items() if n not in UNCHARGED}, owed):
            return False
    return True


def _configured(account: Account) -> bool:
    """Whether what the queue is due was configured, for itself or a sibling."""
    parent = account.parent
    return parent is not None and any(c.queue.deserved.items for c in parent.children)


def _enough(
    ledger: Ledger, newcomer: Newcomer, candidates: Sequence[Unit], rule: Rule
) -> tuple[Runner, ...]:
    """Try candidates in order; give those that must go, none where that is not enough."""
    path = newcomer.account.path
    gone: list[Unit] = []
    due = entitlements(ledger) if rule is Rule.RECLAIM else {}
    for unit in candidates:
        if rule is Rule.RECLAIM and not _over_due(newcomer, unit, due):
            continue
        if rule is not Rule.PRIORITY and not _above_guarantee(newcomer, unit):
            continue
        _release(ledger, unit)
        gone.append(unit)
        if obstacle(path, newcomer.needs) is None:
            break
    fits = obstacle(path, newcomer.needs) is None
    kept = _spare(ledger, newcomer, gone) if fits else gone
    for unit in kept:
        _charge(ledger, unit)
    return tuple(runner for unit in kept for runner in unit.runners) if fits else ()


def _spare(ledger: Ledger, newcomer: Newcomer, gone: list[Unit]) -> list[Unit]:
    kept = list(gone)
    for unit in reversed(gone[:-1]):
        _charge(ledger, unit)
        if obstacle(newcomer.account.path, newcomer.needs) is None:
            kept.remove(unit)
        else:
            _release(ledger, unit)
    return kept


def _above_guarantee(newcomer: Newcomer, unit: Unit) -> bool:
    account = unit.first.account
    if account is newcomer.account:
        return True
    taken = unit.needs()
    return all(
        step.used.get(name, 0) - amount >= step.guarantee.get(name, 0)
        for step in account.path
        if step not in newcomer.account.path
        for name, amount in taken.items()
        if name in step.guarantee
    )


def _release(ledger: Ledger, unit: Unit) -> None:
    for runner in unit.runners:
        ledger.release(runner.account.path, runner.needs)


def _charge(ledger: Ledger, unit: Unit) -> None:
    for runner in unit.runners:
        ledger.charge(runner.account.path, runner.needs)
