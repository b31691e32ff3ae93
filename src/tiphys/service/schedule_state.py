"""A cron workflow as it is kept: its manifest, and what has become of it so far.

Pure. One row of the store (kind ``CronWorkflow``) holds both, in Argo's shape, so that a start of
a workflow and the note that it was started are one transaction.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import msgspec

from tiphys.spec import model
from tiphys.store import ObjectRow

KIND = "CronWorkflow"
COMPLETED_LABEL = "cronworkflows.argoproj.io/completed"
BACKFILL_LABEL = "tiphys.dev/backfill"
"""On a workflow: the backfill that it belongs to. Such workflows count neither as active nor as
history."""
SCHEDULED_TIME = "workflows.argoproj.io/scheduled-time"
LAST_USED = "cronworkflows.argoproj.io/last-used-schedule"
SINCE = "tiphys.dev/schedule-since"
"""When the schedules were last set: slots before are none of theirs."""
SPEC_ERROR, SUBMISSION_ERROR = "SpecError", "SubmissionError"
change = msgspec.structs.replace


class Reference(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A workflow that has not ended."""

    api_version: str = model.API_VERSION
    kind: str = "Workflow"
    name: str
    namespace: str = ""
    uid: str


class Condition(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Something that is wrong."""

    type: str
    status: str = ""
    message: str = ""


class Status(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What has become of a cron workflow."""

    active: tuple[Reference, ...] = ()
    last_scheduled_time: str | None = None
    conditions: tuple[Condition, ...] = ()
    succeeded: int = 0
    failed: int = 0
    phase: str = ""
    """"", Active or Stopped."""

    def has_active(self, uid: str) -> bool:
        """Tell whether a workflow is among the active."""
        return any(each.uid == uid for each in self.active)

    def without(self, uid: str) -> Status:
        """Give the status without an active workflow."""
        return change(self, active=tuple(each for each in self.active if each.uid != uid))

    def counted(self, phase: str) -> Status:
        """Give the status with one more that has ended."""
        if phase == "Succeeded":
            return change(self, succeeded=self.succeeded + 1)
        return change(self, failed=self.failed + 1)

    def told(self, kind: str, message: str) -> Status:
        """Give the status with a condition of this kind."""
        condition = Condition(type=kind, status="True", message=message[:2000])
        kept = self.sound(kind)
        failed = kept.failed + (kind == SUBMISSION_ERROR)
        return change(kept, conditions=(*kept.conditions, condition), failed=failed)

    def sound(self, kind: str) -> Status:
        """Give the status without conditions of this kind."""
        return change(self, conditions=tuple(c for c in self.conditions if c.type != kind))


@dataclass(frozen=True, slots=True, kw_only=True)
class Cron:
    """A cron workflow."""

    manifest: model.CronWorkflow
    """Without its status."""
    status: Status = field(default_factory=Status)

    @property
    def name(self) -> str:
        """Its name."""
        return self.manifest.metadata.name

    @property
    def namespace(self) -> str:
        """Its project."""
        return self.manifest.metadata.namespace

    @property
    def key(self) -> tuple[str, str]:
        """Namespace and name."""
        return self.namespace, self.name

    @property
    def spec(self) -> model.CronWorkflowSpec:
        """When and what to run."""
        return self.manifest.spec

    @property
    def last_scheduled(self) -> float | None:
        """The slot that was run last."""
        return read_time(self.status.last_scheduled_time)

    @property
    def since(self) -> float:
        """The instant behind which the slots of its schedules count."""
        meta = self.manifest.metadata
        found = read_time(meta.annotations.get(SINCE)) or read_time(meta.creation_timestamp)
        return max(found or 0.0, self.last_scheduled or 0.0)

    @property
    def stopped(self) -> bool:
        """Whether its stop strategy has ended it."""
        return self.status.phase == "Stopped"

    def with_status(self, status: Status) -> Cron:
        """Give it with another status."""
        return replace(self, status=status)

    def with_meta(self, **fields: Any) -> Cron:
        """Give it with other metadata."""
        meta = change(self.manifest.metadata, **fields)
        return replace(self, manifest=change(self.manifest, metadata=meta))

    def annotated(self, name: str, value: str) -> Cron:
        """Give it with an annotation."""
        return self.with_meta(annotations={**self.manifest.metadata.annotations, name: value})

    def with_spec(self, spec: model.CronWorkflowSpec) -> Cron:
        """Give it with another spec."""
        return replace(self, manifest=change(self.manifest, spec=spec))


def zoned_schedules(spec: model.CronWorkflowSpec) -> str:
    """Give all schedules with their zone in one text, as Argo notes the schedule used last."""
    zone = f"CRON_TZ={spec.timezone} " if spec.timezone else ""
    return ",".join(zone + each for each in spec.schedules)


def read_row(row: ObjectRow) -> Cron:
    """Read a stored cron workflow."""
    manifest = msgspec.json.decode(row.body, type=model.CronWorkflow)
    status = msgspec.convert(manifest.status or {}, Status)
    return Cron(manifest=change(manifest, status=None), status=status)


def write_row(cron: Cron, at: float) -> ObjectRow:
    """Write a cron workflow for the store."""
    body = msgspec.json.encode(shown(cron))
    return ObjectRow(kind=KIND, namespace=cron.namespace, name=cron.name, body=body, at=at)


def shown(cron: Cron) -> model.CronWorkflow:
    """Give a cron workflow with its status, as Argo shows it."""
    return change(cron.manifest, status=msgspec.to_builtins(cron.status))


def read_time(text: str | None) -> float | None:
    """Read RFC 3339; None where there is nothing, or nothing that can be read."""
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
        return moment.replace(tzinfo=moment.tzinfo or UTC).timestamp()
    except (ValueError, OverflowError):
        return None
