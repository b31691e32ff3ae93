"""``/api/v1/schedulers``: where this server can have work run, for forms that let people choose.

Tells what is set up and asks nobody: whether a cluster answers is seen when work goes there.
"""

from __future__ import annotations

import os

from pydantic import BaseModel, Field
from starlette.responses import Response

from tiphys.api.deps import Context, Who
from tiphys.api.document import answers, routes
from tiphys.api.envelope import answer
from tiphys.api.shapes import Envelope
from tiphys.config import Config
from tiphys.errors import TiphysError
from tiphys.ports import LOCAL, SCHEDULERS, VOLCANO

router = routes("/schedulers", "workflows")


class SchedulerChoice(BaseModel):
    """What a workflow may name as its scheduler."""

    default: str = Field(description="Of workflows that name none.")
    available: list[str] = Field(description="Those that are set up; local always is.")


@router.get("", summary="Where work can run", responses=answers(Envelope[SchedulerChoice]))
def list_schedulers(context: Context, who: Who) -> Response:
    """Tell which schedulers this server is set up for, and which one it takes by itself."""
    config = context.config
    return answer({"default": config.scheduler.default, "available": available_schedulers(config)})


def available_schedulers(config: Config) -> list[str]:
    """List the schedulers that are set up; local always is."""
    if not knows_cluster(config):
        return [LOCAL]
    off = () if config.scheduler.volcano.enabled else (VOLCANO,)
    return [each for each in SCHEDULERS if each not in off]


def knows_cluster(config: Config) -> bool:
    """Whether a cluster can be named; reads files only."""
    from tiphys.kube.access import find_access  # noqa: PLC0415 - seldom needed

    given = config.kubernetes
    try:
        find_access(os.environ, kubeconfig=given.kubeconfig, context=given.context)
    except (TiphysError, OSError, ValueError):
        return False
    return True
