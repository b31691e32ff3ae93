"""The workflows that come from a cron workflow: names, labels, owner. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from tiphys.control.submit import Overrides, Submission, prepare
from tiphys.core.name import MAX_CRON_NAME, fnv1a32
from tiphys.ports import CRON_LABEL
from tiphys.service.policy import Policy, check_policy
from tiphys.service.schedule_state import BACKFILL_LABEL, SCHEDULED_TIME, Cron
from tiphys.service.submission import CREATED_BY
from tiphys.spec import model
from tiphys.spec.library import Library
from tiphys.spec.parse import Parsed
from tiphys.spec.yaml import Document
from tiphys.wire.argo import timestamp

_HANDED_ON = (
    "workflows.argoproj.io/controller-instanceid",
    "workflows.argoproj.io/creator",
    "workflows.argoproj.io/creator-email",
    "workflows.argoproj.io/creator-preferred-username",
)
change = msgspec.structs.replace


def child_name(cron: str, slot: float) -> str:
    """Name the workflow of a slot, as Argo does."""
    return f"{cron}-{int(slot)}"


def backfill_child_name(cron: str, backfill: str, slot: float) -> str:
    """Name the workflow of a slot of a backfill; what is too long is cut and told apart by a hash.

    The colon cannot stand in a name, so that no two pairs are hashed from the same text.
    """
    prefix = f"{cron}-{backfill}"
    if len(prefix) > MAX_CRON_NAME:
        mark = f"{fnv1a32(f'{cron}:{backfill}'):08x}"
        prefix = f"{prefix[: MAX_CRON_NAME - 9].rstrip('-.')}-{mark}"
    return f"{prefix}-{int(slot)}"


def child(cron: Cron, slot: float, *, name: str = "", backfill: str = "") -> model.Workflow:
    """Give the workflow of a slot; without a name it gets one of its own."""
    meta = cron.manifest.metadata
    extra = cron.spec.workflow_metadata or model.ObjectMeta()
    labels = {key: meta.labels[key] for key in _HANDED_ON if key in meta.labels}
    labels |= {CRON_LABEL: cron.name, **extra.labels}
    if backfill:
        labels[BACKFILL_LABEL] = backfill
    annotations = {
        SCHEDULED_TIME: timestamp(slot),
        CREATED_BY: f"schedule {cron.name}",
        **extra.annotations,
    }
    owner = model.OwnerReference(
        api_version=model.API_VERSION,
        kind="CronWorkflow",
        name=cron.name,
        uid=meta.uid,
        controller=True,
        block_owner_deletion=True,
    )
    return model.Workflow(
        metadata=model.ObjectMeta(
            name=name,
            generate_name="" if name else f"{cron.name}-",
            namespace=cron.namespace,
            labels=labels,
            annotations=annotations,
            owner_references=(owner,),
            finalizers=extra.finalizers,
        ),
        spec=cron.spec.workflow_spec,
    )


@dataclass(frozen=True, slots=True)
class Rules:
    """What the server's settings say about every workflow."""

    defaults: model.WorkflowSpec | None
    policy: Policy


def ready(
    workflow: model.Workflow,
    library: Library,
    rules: Rules,
    parameters: Mapping[str, str] | None = None,
) -> Submission:
    """Make a workflow ready to run; raise SpecError."""
    source = f"schedule {workflow.metadata.labels.get(CRON_LABEL, '')}"
    document = Document(None, source)
    overrides = Overrides(parameters=parameters or {})
    submission = prepare(Parsed(workflow, document), library, overrides, rules.defaults)
    check_policy(submission.spec, rules.policy)
    return submission
