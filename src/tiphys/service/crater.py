"""What a server that is configured for Volcano does about it as long as it is up.

Makes the queues and priority classes that ship where the cluster has none of the name, and answers
``tiphys queue --scheduler volcano`` at the door. A cluster that is away or says no is told of, and
is no reason not to start.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from types import TracebackType
from typing import Any

from tiphys.config import Config
from tiphys.control.door import Handler
from tiphys.control.queues import OPS
from tiphys.control.volcano_queues import VolcanoQueues, perform_volcano
from tiphys.errors import ClusterError
from tiphys.ports import VOLCANO

PAUSE = 30.0
"""Seconds until a cluster that was away is asked again."""


class Crater:
    """The cluster's Volcano, as a server sees it."""

    def __init__(self, config: Config, say: Callable[[str], None]) -> None:
        self.queues = VolcanoQueues(config.kubernetes)
        self._presets, self._say = config.scheduler.volcano.presets, say
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Crater:
        """Begin to make what ships."""
        if self._presets:
            self._task = asyncio.create_task(self._ensure())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Hang up."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
        await self.queues.close()

    async def _ensure(self) -> None:
        told = ""
        while True:
            try:
                made = await self.queues.ensure_presets()
            except ClusterError as error:
                if error.status == 403:
                    self._say(f"queues and priority classes are not made: {error}")
                    return
                if str(error) != told:
                    told = str(error)
                    self._say(f"queues and priority classes are not made yet: {error}")
            else:
                if made:
                    self._say(f"made on the cluster: {', '.join(made)}")
                return
            await asyncio.sleep(PAUSE)

    def handlers(self) -> Mapping[str, Handler]:
        """Give what is answered at the door."""

        def handler(op: str) -> Handler:
            async def handle(request: Mapping[str, Any]) -> Any:
                return await perform_volcano(self.queues, op, request)

            return handle

        return {f"{VOLCANO}-{op}": handler(op) for op in OPS}
