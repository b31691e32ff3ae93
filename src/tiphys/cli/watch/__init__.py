"""What a person sees while workflows run: a live tree, plain lines, or nothing.

Each is a watcher of the control loop (``control.local.run_order``): told of changes after they are
on record, on the loop's own thread, so every call must be short.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

from tiphys.cli.text import Paint, wants_colour
from tiphys.config import RunOptions
from tiphys.engine.node import Node
from tiphys.engine.run import Run

if TYPE_CHECKING:
    from tiphys.control.local import Finished


class Watch(Protocol):
    """A watcher that is opened before the runs begin and sums them up after they ended."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

    def workflow(self, run: Run) -> None:
        """See that a run began or its own fields changed."""

    def nodes(self, run: Run, nodes: Sequence[Node]) -> None:
        """See that nodes changed."""

    def note(self, text: str) -> None:
        """See something that a person should know."""

    def summarize(self, finished: Sequence[Finished]) -> None:
        """Tell how it all ended."""


def choose_watch(options: RunOptions, *, quiet: bool, data_on_stdout: bool) -> Watch:
    """Give the live tree on a terminal, else plain lines; ``quiet``: only what went wrong."""
    terminal = sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb"
    paint = Paint(wants_colour(os.environ, terminal=sys.stderr.isatty()))
    log = (sys.stderr if data_on_stdout else sys.stdout) if options.log else None
    if terminal and not quiet:
        from tiphys.cli.watch.live import LiveWatch  # noqa: PLC0415

        return LiveWatch(sys.stderr, log, paint, options.data)
    from tiphys.cli.watch.plain import PlainWatch  # noqa: PLC0415

    return PlainWatch(sys.stderr, log, paint, options.data, quiet=quiet)
