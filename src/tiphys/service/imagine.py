"""Simulations for strangers: in a process of their own, which is ended when it takes too long.

A workflow of a few lines can keep the engine busy for minutes, and the server has one loop.
``python -m tiphys.service.imagine`` is the other side: a request on stdin, the outcome on stdout.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from tiphys.errors import InvalidInputError, Problem, SpecError, TiphysError

if TYPE_CHECKING:
    from tiphys.scheduling import QueueTree
    from tiphys.simulate.task import Task
    from tiphys.spec.library import Library

PATIENCE = 30.0
AT_ONCE = 2


class Imagination:
    """Plays workflows through, few at a time."""

    def __init__(self, capacity: Mapping[str, int]) -> None:
        self._capacity = dict(capacity)
        self._turns = asyncio.Semaphore(AT_ONCE)

    async def simulate(
        self,
        text: str,
        parameters: Mapping[str, str],
        seconds: float,
        present: Mapping[str, Any] | None = None,
    ) -> Any:
        """Give report and bars; raise SpecError for a text that cannot be used.

        ``present`` is what ``service.present`` tells of the server: its queues, what is in them
        (with ``queue`` and ``priority`` where they are not the workflow's own, and
        ``known_seconds`` where templates of its project ran before);
        with what ``kept_jobs`` gives, flows may be made of templates that the server keeps.
        """
        request = {
            "capacity": self._capacity,
            "text": text,
            "parameters": dict(parameters),
            "seconds": seconds,
            "present": dict(present or {}),
        }
        async with self._turns:
            answer = await _ask(json.dumps(request).encode())
        if "problems" in answer:
            raise SpecError([Problem(**each) for each in answer["problems"]])
        if "error" in answer:
            raise InvalidInputError(answer["error"])
        return answer["data"]


async def _ask(request: bytes) -> dict[str, Any]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        __name__,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        out, _ = await asyncio.wait_for(process.communicate(request), PATIENCE)
    except TimeoutError:
        raise InvalidInputError(f"the simulation took more than {PATIENCE:g} s") from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        raise InvalidInputError("the simulation came to no end: the workflow is too large")
    answer: dict[str, Any] = json.loads(out)
    return answer


def kept_jobs(library: Library) -> dict[str, Any]:
    """Give the JobTemplates that a library holds, as a request can carry them."""
    kept = [msgspec.to_builtins(each) for each in library.job_templates.values()]
    return {"namespace": library.namespace, "job_templates": kept}


def _library(present: Mapping[str, Any]) -> Library | None:
    if not present.get("job_templates"):
        return None
    from tiphys.spec.library import Library  # noqa: PLC0415
    from tiphys.spec.model.volcano import JobTemplate  # noqa: PLC0415

    own = present["namespace"]
    found = [msgspec.convert(each, JobTemplate) for each in present["job_templates"]]
    return Library(namespace=own, job_templates={(own, t.metadata.name): t for t in found})


def _played(request: Mapping[str, Any]) -> dict[str, Any]:
    from tiphys.scheduling import Resources  # noqa: PLC0415
    from tiphys.simulate.command import Load, simulate  # noqa: PLC0415

    present = request["present"]
    load = Load(
        files=[("workflow.yaml", request["text"].encode())],
        parameters=request["parameters"],
        default_seconds=request["seconds"],
        known_seconds=present.get("known_seconds", {}),
        queue=present.get("queue", ""),
        priority=present.get("priority"),
        library=_library(present),
        present=[_task(each) for each in present.get("tasks", ())],
    )
    try:
        queues = _queues(present.get("queues", {}))
        return {"data": simulate(Resources(request["capacity"]), load, queues).to_dict()}
    except SpecError as error:
        return {"problems": [_plain(each) for each in error.problems if not each.warning]}
    except TiphysError as error:
        return {"error": str(error)}


def _task(each: Mapping[str, Any]) -> Task:
    from tiphys.scheduling import Resources  # noqa: PLC0415
    from tiphys.simulate.task import Task  # noqa: PLC0415

    seconds = each["seconds"]
    return Task(**{**each, "requests": Resources(each["requests"]), "expected_seconds": seconds})


def _queues(specs: Mapping[str, Any]) -> QueueTree | None:
    from tiphys.scheduling.queue_file import read_queue, tree_of  # noqa: PLC0415

    return tree_of([read_queue(name, spec) for name, spec in specs.items()]) if specs else None


def _plain(problem: Problem) -> dict[str, Any]:
    names = ("code", "message", "path", "line", "column", "file", "hint")
    return {name: getattr(problem, name) for name in names}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(_played(json.load(sys.stdin))))
