"""The embedded batch scheduler: a pure function from what waits and runs to a plan.

``Scheduler`` is the incremental heart that the control loop and the simulator drive. It knows no
clock, disk, thread or process: time arrives as an argument, decisions leave as a ``Plan``.
"""

from tiphys.scheduling.plan import Plan, Preemption, Rule
from tiphys.scheduling.queue import Preempt, Queue, QueueState, QueueTree
from tiphys.scheduling.reason import NoSuchQueue, Reason, Refusal, Unplaceable, Wait
from tiphys.scheduling.resource import NOTHING, Resources, clamp
from tiphys.scheduling.scheduler import Scheduler
from tiphys.scheduling.work import Gang, Work, WorkId

__all__ = [
    "NOTHING",
    "Gang",
    "NoSuchQueue",
    "Plan",
    "Preempt",
    "Preemption",
    "Queue",
    "QueueState",
    "QueueTree",
    "Reason",
    "Refusal",
    "Resources",
    "Rule",
    "Scheduler",
    "Unplaceable",
    "Wait",
    "Work",
    "WorkId",
    "clamp",
]
