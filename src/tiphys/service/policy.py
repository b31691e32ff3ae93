"""What a workflow may ask of the server's machine, decided on the spec that really runs.

The runtime refuses the same when it comes to a node; here the submission is refused, with the path.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from tiphys.engine.jobpod import pod_template, read_job
from tiphys.errors import Problem, SpecError
from tiphys.spec import model
from tiphys.spec.model.volcano import JobSpec


class Policy(Protocol):
    """The two settings that open doors (``config.Config`` has them)."""

    @property
    def allow_host_path(self) -> bool:
        """Whether folders of the machine may be mounted."""

    @property
    def allow_privileged(self) -> bool:
        """Whether containers may be privileged."""


def check_policy(spec: model.WorkflowSpec, policy: Policy) -> None:
    """Raise SpecError with all that is not allowed."""
    problems = [
        Problem(code="policy_denied", message=f"{what} is not allowed on this server", path=path)
        for path, what in _wishes(spec, policy)
    ]
    if problems:
        raise SpecError(problems)


def _wishes(spec: model.WorkflowSpec, policy: Policy) -> Iterator[tuple[str, str]]:
    if spec.host_network:
        yield "spec.hostNetwork", "hostNetwork"
    if not policy.allow_host_path:
        yield from _host_paths(spec.volumes, "spec.volumes")
    for path, template in _templates(spec):
        if not policy.allow_host_path:
            yield from _host_paths(template.volumes, f"{path}.volumes")
        if not policy.allow_privileged:
            yield from _privileged(template, path)


def _templates(spec: model.WorkflowSpec) -> Iterator[tuple[str, model.Template]]:
    """Give all templates, and those of the pods that a Volcano Job has inside of one."""
    for number, template in enumerate(spec.templates):
        path = f"spec.templates[{number}]"
        yield path, template
        if template.volcano_job is not None:
            for index, task in enumerate(read_job(template.volcano_job).tasks):
                pod = pod_template(template.name, JobSpec(), task, 0, template.name)
                yield f"{path}.volcanoJob.tasks[{index}].template", pod


def _host_paths(volumes: Sequence[model.Volume], path: str) -> Iterator[tuple[str, str]]:
    for number, volume in enumerate(volumes):
        if volume.host_path is not None:
            yield f"{path}[{number}].hostPath", "hostPath"


def _privileged(template: model.Template, path: str) -> Iterator[tuple[str, str]]:
    named: list[tuple[str, model.Container]] = []
    if template.container is not None:
        named.append(("container", template.container))
    if template.script is not None:
        named.append(("script", template.script))
    if template.container_set is not None:
        each = template.container_set.containers
        named += [(f"containerSet.containers[{n}]", c) for n, c in enumerate(each)]
    named += [(f"sidecars[{n}]", c) for n, c in enumerate(template.sidecars)]
    named += [(f"initContainers[{n}]", c) for n, c in enumerate(template.init_containers)]
    for where, container in named:
        security = container.security_context
        if security is not None and security.privileged:
            yield f"{path}.{where}.securityContext.privileged", "privileged"
