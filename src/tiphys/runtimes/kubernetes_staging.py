"""Before a Job and after its pod: inputs are brought and packed, outputs unpacked and saved.

Slow and synchronous, for worker threads; talks to artifact storage, never to the cluster.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec

from tiphys.ports import Task
from tiphys.runtimes import kubernetes_helper as helper
from tiphys.runtimes.kubernetes_attempt import PodAttempt
from tiphys.runtimes.kubernetes_job import Order
from tiphys.runtimes.remains import tidy
from tiphys.runtimes.staging import ArtifactStore, Collector, stage
from tiphys.runtimes.translate import Load, Plan
from tiphys.spec import model

PACKED_INPUTS, PACKED_OUTPUTS, OUTPUTS = "inputs.tgz", "outputs.tgz", "outputs"


def prepare(attempt: PodAttempt, artifacts: ArtifactStore | None) -> Order:
    """Bring the inputs here and pack them, where there is anything to be brought to the pod."""
    folder = attempt.folder
    folder.mkdir(parents=True, exist_ok=True)
    plan = attempt.plan()
    plan.loads = [
        Load(artifact, folder / "inputs" / str(number))
        for number, artifact in enumerate(attempt.template.inputs.artifacts)
        if artifact.path
    ]
    stage(plan, artifacts)
    # An optional input that is nowhere was left out.
    there = {load.destination.name: load for load in plan.loads if load.destination.exists()}
    order = Order(
        task=attempt.task,
        template=attempt.template,
        inputs=tuple((name, load.artifact.path) for name, load in there.items()),
        wanted=attempt.wanted,
    )
    if order.is_plain:
        return order
    script = attempt.template.script
    source = script.source.encode("utf-8", "surrogateescape") if script is not None else None
    packed = folder / PACKED_INPUTS
    files = {name: load.destination for name, load in there.items()}
    helper.pack_inputs(packed, attempt.wanted, source, files)
    return replace(order, files=helper.inline(packed))


def collect(
    attempt: PodAttempt, exit_code: str, artifacts: ArtifactStore | None, *, fetched: bool
) -> tuple[model.Outputs, list[str]]:
    """Save what the pod left; give the outputs, and what went wrong."""
    task, place = attempt.task, attempt.folder / OUTPUTS
    outputs = model.Outputs(exit_code=exit_code)
    if task.capture_result:
        outputs = msgspec.structs.replace(outputs, result=_result(place / "result"))
    plan = attempt.plan()
    plan.archives = task.archive_logs or (
        artifacts is not None and artifacts.archives_logs(task.namespace, task.artifact_repository)
    )
    if not attempt.wanted and not plan.archives:
        return outputs, []
    view = helper.PodView(attempt.wanted, place)
    saved, problems = Collector(plan, artifacts, view=view).collect()
    if attempt.wanted and not fetched:
        problems = ["the pod's files could not be read", *problems]
    saved = msgspec.structs.replace(outputs, parameters=saved.parameters, artifacts=saved.artifacts)
    return saved, problems


def _result(path: Path) -> str:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return ""
    return data[-helper.RESULT_BYTES :].removesuffix(b"\n").decode("utf-8", "replace")


def clear(folder: Path) -> None:
    """Leave only the logs of an attempt."""
    tidy(str(folder))
    for name in (PACKED_INPUTS, PACKED_OUTPUTS):
        (folder / name).unlink(missing_ok=True)
    for path in (folder / OUTPUTS).glob("*"):
        path.unlink(missing_ok=True)


def manifest_of(task: Task, folder: Path, artifacts: ArtifactStore | None) -> str:
    """Give the manifest of a ``resource`` template, from an artifact if it lies there."""
    resource = task.template.resource
    assert resource is not None
    if resource.manifest_from is None:
        return resource.manifest
    wanted = resource.manifest_from.artifact
    given = [each for each in task.template.inputs.artifacts if each.name == wanted.name]
    plan: Plan = PodAttempt(task, task.template, folder, "").plan()
    target = folder / "inputs" / "manifest"
    plan.loads = [Load(given[0] if given else wanted, target)]
    stage(plan, artifacts)
    return target.read_text()
