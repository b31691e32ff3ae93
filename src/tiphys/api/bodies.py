"""The bodies of requests to ``/api/v1``, checked by pydantic. Unknown fields are mistakes.

They are flat, so that their schemas stand in the OpenAPI document where they are used.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator
from pydantic.alias_generators import to_camel

from tiphys.core.priority import PRIORITY_CLASSES
from tiphys.core.quantity import bytes_of, cpu_millis
from tiphys.errors import InvalidInputError
from tiphys.service.access import LONGEST, Role

EXAMPLE_YAML = """\
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata:
  generateName: hello-
spec:
  entrypoint: main
  arguments:
    parameters:
      - {name: who, value: world}
  templates:
    - name: main
      inputs:
        parameters:
          - {name: who, value: "{{workflow.parameters.who}}"}
      container:
        image: alpine
        command: [echo, "hello {{inputs.parameters.who}}"]
"""
_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?")
_QUEUE_NAMES = "must be 1 to 63 of a-z, 0-9, '-' and '.', and not root"
Parameters = Annotated[dict[str, str], Field(max_length=1000)]
Amount = str | int | float
Amounts = Annotated[dict[str, Amount], Field(max_length=100, examples=[{"cpu": "4"}])]


class Strict(BaseModel):
    """A body: unknown fields are mistakes."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Submit(Strict):
    """A workflow to run."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "name": "hello",
                    "project_id": "default",
                    "workflow_yaml": EXAMPLE_YAML,
                    "parameters": {"who": "Tiphys"},
                    "priority": "high",
                }
            ]
        }
    )

    name: str = Field(description="Letters a-z, digits, '-' and '.'; need not be unique.")
    project_id: str = Field(min_length=1, max_length=63)
    workflow_yaml: str = Field(
        min_length=1,
        description="An Argo Workflow; templates, config maps and secrets may stand beside it.",
    )
    scheduler: Literal["local", "k8s-native", "argo-default", "volcano", "kueue"] | None = Field(
        None,
        description="Where its tasks run: on this machine, or on a cluster. "
        "As the server is configured, if not given: local, unless somebody has changed that.",
    )
    queue_id: str | None = Field(None, description="The default queue, if not given.")
    description: str = Field("", max_length=10_000)
    priority: int | Literal["critical", "high", "normal", "low"] | None = Field(
        None, description="What the workflow says itself, if not given; else normal."
    )
    parameters: Parameters = Field(default_factory=dict)
    generate_name: bool = Field(False, description="Whether the name gets a suffix at any rate.")
    labels: Annotated[dict[str, str], Field(max_length=100)] = Field(default_factory=dict)
    annotations: Annotated[dict[str, str], Field(max_length=100)] = Field(default_factory=dict)
    entrypoint: str = Field("", max_length=200, description="The template to begin with.")
    estimated_cpu: str | None = Field(None, description="For people; such as 500m.")
    estimated_memory: str | None = Field(None, description="For people; such as 1Gi.")

    @field_validator("name")
    @classmethod
    def _check_name(cls, value: str) -> str:
        if not _NAME.fullmatch(value):
            raise ValueError("must be 1 to 63 of a-z, 0-9, '-' and '.', no sign at either end")
        return value

    @field_validator("labels", "annotations")
    @classmethod
    def _check_names(cls, value: dict[str, str], info: Any) -> dict[str, str]:
        if any(key.startswith("tiphys.dev/") for key in value):
            raise ValueError(f"{info.field_name} of tiphys.dev/ are the server's own")
        return value

    @field_validator("estimated_cpu", "estimated_memory")
    @classmethod
    def _check_amount(cls, value: str | None, info: Any) -> str | None:
        try:
            if value is not None:
                (cpu_millis if info.field_name == "estimated_cpu" else bytes_of)(value)
        except InvalidInputError as error:
            raise ValueError(str(error)) from None
        return value

    def priority_number(self) -> int | None:
        """Give the priority as a number."""
        return PRIORITY_CLASSES[self.priority] if isinstance(self.priority, str) else self.priority


class Stop(Strict):
    """How a workflow is ended early."""

    message: str = Field("", max_length=1000)


class Resume(Strict):
    """What goes on."""

    node_selector: str = Field("", max_length=1000, examples=["displayName=approve"])
    parameters: Parameters = Field(default_factory=dict)
    message: str = Field("", max_length=1000)


class Retry(Strict):
    """How a failed workflow is run again."""

    restart_successful: bool = False
    node_selector: str = Field("", max_length=1000, examples=["templateName=flaky"])
    parameters: Parameters = Field(default_factory=dict)


class Resubmit(Strict):
    """How a workflow is run once more."""

    memoized: bool = False
    parameters: Parameters = Field(default_factory=dict)


class Nothing(Strict):
    """No fields."""


class Lint(Strict):
    """A text to look over."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"workflow_yaml": EXAMPLE_YAML}]})

    workflow_yaml: str = Field(min_length=1)
    project_id: str | None = None
    strict: bool = True


class Simulate(Strict):
    """A workflow to play through; all templates that it needs stand in the text."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"workflow_yaml": EXAMPLE_YAML, "default_seconds": 30}]}
    )

    workflow_yaml: str = Field(min_length=1)
    parameters: Parameters = Field(default_factory=dict)
    project_id: str | None = Field(
        None,
        description="Whose history counts; if not given, the token's own or the default one's.",
    )
    default_seconds: float = Field(
        60.0, gt=0, le=1e9, description="What a task takes whose template never ran in the project."
    )
    idle: bool = Field(False, description="Whether to leave out what waits and runs now.")
    queue_id: str | None = Field(None, description="What the workflow says itself, if not given.")
    priority: int | Literal["critical", "high", "normal", "low"] | None = Field(
        None, description="What the workflow says itself, if not given."
    )

    def priority_number(self) -> int | None:
        """Give the priority as a number."""
        return PRIORITY_CLASSES[self.priority] if isinstance(self.priority, str) else self.priority


class TemplateText(Strict):
    """A WorkflowTemplate or ClusterWorkflowTemplate as YAML."""

    template_yaml: str = Field(min_length=1)
    project_id: str | None = Field(None, description="Of a WorkflowTemplate.")


class QueueChange(Strict):
    """What of a queue is to change."""

    description: str | None = Field(None, max_length=10_000)
    priority: int | None = Field(None, ge=1, le=1_000_000, description="The weight of its share.")
    quota_cpu: Amount | None = None
    quota_memory: Amount | None = None
    quota: Amounts | None = Field(None, description="Further resources, such as nvidia.com/gpu.")
    max_parallel: int | None = Field(None, ge=1, description="Workflows at once.")
    parent: str | None = None
    guarantee: Amounts | None = None
    capability: Amounts | None = None
    borrowing_limit: Amounts | None = None
    lending_limit: Amounts | None = None
    reclaimable: bool | None = None
    preemption: Literal["Never", "LowerPriority", "LowerOrNewerEqualPriority"] | None = None
    sla_seconds: float | None = Field(None, gt=0)

    def given(self) -> dict[str, Any]:
        """Give the fields that were set."""
        return self.model_dump(exclude_none=True)


class NewQueue(QueueChange):
    """A queue to make."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"name": "batch", "quota_cpu": "2", "quota_memory": "4Gi"}]}
    )

    name: str
    scheduler: Literal["local", "volcano", "kueue"] = "local"

    @field_validator("name")
    @classmethod
    def _check_queue_name(cls, value: str) -> str:
        if not _is_queue_name(value):
            raise ValueError(_QUEUE_NAMES)
        return value


class QueuePlan(Strict):
    """A queue in the words of a queue plan."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        json_schema_extra={"examples": [{"weight": 3, "capability": {"cpu": "4"}, "fair": True}]},
    )

    preset: str | None = Field(None, description="Begin from interactive, batch or analytics.")
    parent: str | None = None
    weight: int | None = Field(None, ge=1, le=1_000_000, description="Its share among siblings.")
    priority: int | None = Field(None, ge=-1_000_000, le=1_000_000, description="Served first.")
    capability: Amounts | None = None
    deserved: Amounts | None = None
    guarantee: Amounts | None = None
    borrowing_limit: Amounts | None = None
    lending_limit: Amounts | None = None
    max_parallel: int | None = Field(None, ge=1, description="Workflows at once.")
    reclaimable: bool | None = None
    reclaim: bool | None = Field(None, description="Whether it takes back what it is due.")
    preempt: Literal["Never", "LowerPriority", "LowerOrNewerEqualPriority"] | None = None
    sla_seconds: float | None = Field(None, gt=0)
    strict: bool | None = Field(None, description="Strictly first in, first out.")
    fair: bool | None = Field(None, description="Workflows take turns by share.")
    state: Literal["Open", "Closed"] | None = None

    def given(self) -> dict[str, Any]:
        """Give the plan."""
        return self.model_dump(exclude_none=True, by_alias=True)


def _is_queue_name(value: str) -> bool:
    return value != "root" and bool(_NAME.fullmatch(value))


def check_queue_name(value: str) -> None:
    """Raise where a queue cannot have a name."""
    if not _is_queue_name(value):
        raise InvalidInputError(f"the name of a queue {_QUEUE_NAMES}")


class NewProject(Strict):
    """A project to make."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"id": "training", "name": "Model training"}]}
    )

    id: str
    name: str = Field("", max_length=200)
    description: str = Field("", max_length=10_000)


class NewToken(Strict):
    """A token to make."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"name": "ci", "role": "member", "project_id": "training"}]}
    )

    name: str = Field(min_length=1, max_length=200)
    role: Literal["admin", "member", "viewer"]
    project_id: str | None = Field(None, description="None: all projects; for admins of all only.")
    expires_in: float | None = Field(None, gt=0, le=LONGEST, description="Seconds.")

    @field_validator("name")
    @classmethod
    def _check_name(cls, value: str) -> str:
        if value.isspace() or not value.isprintable():
            raise ValueError("must be text that can be seen, on one line")
        return value

    def role_value(self) -> Role:
        """Give the role."""
        return Role(self.role)
