"""What the scheduler wants done: a plan.

Plain data: the control loop turns starts and preemptions into commands and feeds the outcome back
as events. A started work is already accounted as running when the plan is handed out.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

from tiphys.scheduling.work import WorkId


class Rule(StrEnum):
    """The rule by which running work may be stopped for waiting work."""

    PRIORITY = "PriorityInQueue"
    RECLAIM = "ReclaimAcrossQueues"
    SLA = "ServiceLevel"


class Preemption(msgspec.Struct, frozen=True):
    """Running work that must stop, for whom, and by which rule."""

    victim: WorkId
    beneficiary: WorkId
    rule: Rule

    @property
    def text(self) -> str:
        """The preemption in words."""
        return self.told(self.victim, self.beneficiary)

    def told(self, victim: str, beneficiary: str) -> str:
        """The preemption in words, with names that people know."""
        why = {
            Rule.PRIORITY: "it has a higher priority in the same queue",
            Rule.RECLAIM: "its queue is owed what the victim's queue borrowed",
            Rule.SLA: "it is about to miss the service level of its queue",
        }[self.rule]
        return f"{victim} stops for {beneficiary}: {why}"


class Plan(msgspec.Struct, frozen=True):
    """Decisions of one round, in the order they were taken."""

    starts: tuple[WorkId, ...] = ()
    preempts: tuple[Preemption, ...] = ()
    admitted: tuple[str, ...] = ()
    """Workflows whose declared maximum is held from now on."""

    def __bool__(self) -> bool:
        return bool(self.starts or self.preempts or self.admitted)
