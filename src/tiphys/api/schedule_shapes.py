"""What ``/api/v1/schedules`` takes and gives, for requests and for the OpenAPI document."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from tiphys.api.bodies import Parameters, Strict

EXAMPLE = """\
apiVersion: argoproj.io/v1alpha1
kind: CronWorkflow
metadata:
  name: nightly
spec:
  schedules: ["30 2 * * *"]
  timezone: Europe/Berlin
  concurrencyPolicy: Forbid
  startingDeadlineSeconds: 3600
  workflowSpec:
    entrypoint: main
    templates:
      - name: main
        container:
          image: alpine
          command: [echo, "{{workflow.scheduledTime}}"]
"""
Instant = Annotated[AwareDatetime, Field(strict=False)]


class NewSchedule(Strict):
    """A CronWorkflow as YAML or JSON."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"project_id": "default", "schedule_yaml": EXAMPLE}]}
    )

    schedule_yaml: str = Field(min_length=1)
    project_id: str = Field(min_length=1, max_length=63)


class ScheduleText(Strict):
    """A CronWorkflow as YAML or JSON, in the place of the one there is."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"schedule_yaml": EXAMPLE}]})

    schedule_yaml: str = Field(min_length=1)


class ScheduleChange(Strict):
    """What of a schedule is to change."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"schedules": ["0 3 * * *"], "timezone": "Asia/Tokyo"}]}
    )

    schedules: list[str] | None = Field(None, min_length=1, max_length=100)
    timezone: str | None = Field(None, max_length=100)
    suspend: bool | None = None
    concurrency_policy: Literal["Allow", "Forbid", "Replace"] | None = None
    starting_deadline_seconds: int | None = Field(None, ge=0, le=2**31)
    successful_jobs_history_limit: int | None = Field(None, ge=0, le=2**31 - 1)
    failed_jobs_history_limit: int | None = Field(None, ge=0, le=2**31 - 1)
    when: str | None = Field(None, max_length=10_000)
    stop_expression: str | None = Field(None, max_length=10_000, description="Empty: none.")

    def given(self) -> dict[str, Any]:
        """Give the fields that were set."""
        return self.model_dump(exclude_none=True)


class RunNow(Strict):
    """How a schedule's workflow is run out of turn."""

    parameters: Parameters = Field(default_factory=dict)


class NewBackfill(Strict):
    """A range of slots to run after the fact, both ends included."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"start": "2026-01-01T00:00:00Z", "end": "2026-01-31T23:59:59Z", "max_parallel": 2}
            ]
        }
    )

    start: Instant
    end: Instant
    max_parallel: int = Field(1, ge=1, le=1000)
    name: str | None = Field(None, max_length=30, description="One is made up, if not given.")
    parameter: str = Field("", max_length=200, description="Gets the slot's time, if given.")


class Condition(BaseModel):
    """Something that is wrong."""

    type: str
    message: str


class ActiveWorkflow(BaseModel):
    """A workflow of a schedule that has not ended."""

    id: str
    name: str


class Schedule(BaseModel):
    """A schedule and what has become of it."""

    name: str
    project_id: str
    schedules: list[str]
    timezone: str | None = Field(description="The server's own, if null.")
    suspended: bool
    phase: Literal["active", "stopped"]
    concurrency_policy: Literal["Allow", "Forbid", "Replace"]
    starting_deadline_seconds: int | None
    last_run: datetime | None
    next_run: datetime | None
    succeeded: int
    failed: int
    active: list[ActiveWorkflow]
    conditions: list[Condition]
    created_at: datetime
    created_by: str
    manifest: dict[str, Any]


class Slot(BaseModel):
    """A time at which a schedule is due."""

    at: datetime


class BackfillShape(BaseModel):
    """A backfill and how far it has come."""

    name: str
    schedule: str
    project_id: str
    start: datetime
    end: datetime
    max_parallel: int
    status: Literal["running", "finished", "cancelled", "failed"]
    message: str
    total: int
    started: int
    live: int
    succeeded: int
    failed: int
    created_at: datetime
    created_by: str
