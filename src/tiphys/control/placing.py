"""What a run's nodes are to the scheduler: reads the run and the command, nothing else.

The loop opens the gate (``scheduling.gate``) with ``choice_of`` once for each run, and submits
``facts_of`` for each node that may start.
"""

from __future__ import annotations

from msgspec.structs import replace

from tiphys.control.choice import has_fallen_back
from tiphys.control.foresight import Asked, Foresight, text_key
from tiphys.control.task import attempt_id, has_queue_there, layer_of, requests_of, scheduler_of
from tiphys.engine import command as cm
from tiphys.engine.command import StartNode
from tiphys.engine.node import Node, NodeType, Phase
from tiphys.engine.run import Run
from tiphys.errors import RuntimeFailure
from tiphys.ports import CRON_LABEL, LOCAL
from tiphys.scheduling import Gang, Resources
from tiphys.scheduling.admission import QUEUE_KEYS, queue_of
from tiphys.scheduling.estimate import Memory, key_of
from tiphys.scheduling.placement import Choice, Facts, choose, priority_of
from tiphys.scheduling.queue import DEFAULT
from tiphys.spec import model


def choice_of(run: Run, *, queue: str = "", unit: str = "") -> Choice:
    """What a run has chosen by its labels, annotations and priority.

    Raises InvalidInputError where these make no sense: the run cannot begin.
    """
    if not _uses_own_queues(run):
        # The queue that it names is one of the cluster's.
        queue = DEFAULT
    pods = run.spec.pod_metadata or model.Metadata()
    priority, named = run.spec.priority, run.spec.pod_priority_class_name
    if named and _uses_own_queues(run):  # Else the class is one of the cluster's.
        priority = priority_of(priority, named, run.library.priority_classes)
    return choose(
        _for_us(run, {**pods.labels, **run.labels}),
        _for_us(run, {**pods.annotations, **run.annotations}),
        queue=queue,
        unit=unit,
        priority=priority,
        classes=run.library.priority_classes,
    )


def _for_us(run: Run, marks: dict[str, str]) -> dict[str, str]:
    """Leave out what is meant for Kueue on the cluster: its classes and maxima are not ours."""
    if not has_queue_there(run):
        return marks
    return {key: value for key, value in marks.items() if "kueue" not in key}


def _uses_own_queues(run: Run) -> bool:
    return scheduler_of(run) == LOCAL and not has_fallen_back(run.annotations)


def foresight_of(run: Run, memory: Memory) -> Foresight:
    """What is expected of a run; made once for each, when its first node may start."""
    return Foresight(run, memory, family_of(run.workflow))


def facts_of(
    run: Run,
    command: StartNode,
    now: float,
    memory: Memory | None = None,
    foresight: Foresight | None = None,
) -> Facts:
    """What the scheduler must know of a node that may start."""
    node, template = run.nodes[command.node], command.template
    asked = _asked_by(run, template, foresight)
    facts = Facts(
        id=attempt_id(run, command.attempt),
        workflow=run.uid,
        requests=asked.requests,
        queued_at=now if node.ours.queued_at is None else node.ours.queued_at,
        workflow_created_at=run.created_at,
        layer=layer_of(run, node),
        role=template.name if command.gang is None else command.gang.role,
        gang=_gang(command.gang),
        expected_seconds=None if memory is None else expected_of(run, node, memory, foresight),
        rank=0.0 if foresight is None else foresight.rank(node),
        queue=asked.queue,
        priority=asked.priority,
    )
    return _as_gang(run, node, facts)


def _asked_by(run: Run, template: model.Template, foresight: Foresight | None) -> Asked:
    """Say what a node of ``template`` asks for: thousands may be of the very same."""
    known = None if foresight is None else foresight.asked.get(id(template))
    if known is not None and known.template is template:
        return known
    found = Asked(
        template,
        # What runs on a cluster uses nothing of this machine.
        wanted_by(_as_it_runs(run, template)) if scheduler_of(run) == LOCAL else _DAEMON,
        _own_queue(template.metadata) if _uses_own_queues(run) else "",
        _own_priority(run, template),
    )
    if foresight is not None:
        if len(foresight.asked) >= MOST_ASKED:
            foresight.asked.clear()
        foresight.asked[id(template)] = found
    return found


def _as_it_runs(run: Run, template: model.Template) -> model.Template:
    """Give the template with what patches make of it: they may ask for more, or for less."""
    if not (run.spec.pod_spec_patch or template.pod_spec_patch):
        return template
    from tiphys.runtimes import patch  # noqa: PLC0415 - few have one

    try:
        return patch.apply(template, run.spec.pod_spec_patch)
    except RuntimeFailure:
        return template  # The task ends at its start, and says why.


def _gang(gang: cm.Gang | None) -> Gang | None:
    if gang is None:
        return None
    return Gang(name=gang.name, min_member=gang.least, min_task_member=gang.roles)


def _as_gang(run: Run, node: Node, facts: Facts) -> Facts:
    """Say for a pod of a Job what has to run at the same time."""
    job = run.nodes.get(node.boundary_id)
    if job is None or job.ours.job is None or scheduler_of(run) != LOCAL:
        return facts
    from tiphys.control.company import least_of_job, number_of  # noqa: PLC0415 - most have no Jobs

    return replace(facts, together=least_of_job(run, job), number=number_of(node))


def wanted_by(template: model.Template) -> Resources:
    """What a node of ``template`` asks for; a pod counts as one unless it is a daemon."""
    main = template.container or template.script
    alone = main is not None and not (template.sidecars or template.init_containers)
    if not alone or main is None or main.resources is None:
        return sum_of(template)
    # Thousands of nodes ask for the same: quantities are read once.
    asked = main.resources
    key = (template.daemon, tuple(asked.requests.items()), tuple(asked.limits.items()))
    known = _KNOWN.get(key)
    if known is None:
        if len(_KNOWN) >= MOST_KNOWN:
            _KNOWN.clear()
        known = _KNOWN[key] = sum_of(template)
    return known


MOST_ASKED = 64
"""Templates of a run: most have fewer, or one for each node."""
MOST_KNOWN = 1024
_KNOWN: dict[object, Resources] = {}
_ONE_POD, _DAEMON = Resources(pods=1), Resources()


def sum_of(template: model.Template) -> Resources:
    """What the containers of a template ask for, and its place among the pods."""
    wanted = requests_of(template)
    if not wanted:
        return _DAEMON if template.daemon else _ONE_POD
    if not template.daemon:
        wanted["pods"] = 1
    return Resources(wanted).positive()


def _own_queue(metadata: model.Metadata) -> str:
    """The queue that a template names for itself: a step that needs a gpu, say."""
    if not (metadata.labels or metadata.annotations):
        return ""
    if not any(key in metadata.labels or key in metadata.annotations for key in QUEUE_KEYS):
        return ""
    return queue_of(metadata.labels, metadata.annotations)


def _own_priority(run: Run, template: model.Template) -> int | None:
    if template.priority is not None:
        return template.priority
    name = template.priority_class_name
    return run.library.priority_classes.get(name) if name else None


def estimate_key(run: Run, node: Node) -> str:
    """The name under which durations of the node's template are kept."""
    if node.template_ref is not None:
        return key_of(node.template_ref.template, node.template_ref.name, run.namespace)
    scope, _, owner = node.template_scope.partition("/")
    if scope not in ("namespaced", "cluster"):
        owner = family_of(run.workflow)
    return key_of(node.template_name, owner, run.namespace)


def names_of(run: Run, node: Node, foresight: Foresight | None) -> tuple[str, str]:
    """The names under which durations of the node's template are kept: its own, and that of all
    that say the same. Worked out once for all nodes of a template."""
    if foresight is None:
        return estimate_key(run, node), text_key(run, node)
    key = (node.template_ref, node.template_scope, node.template_name)
    known = foresight.names.get(key)
    if known is None:
        known = foresight.names[key] = names_of(run, node, None)
    return known


def expected_of(
    run: Run, node: Node, memory: Memory, foresight: Foresight | None = None
) -> float | None:
    """How long a node will take: as its template did, else as others that say the same did."""
    name, same = names_of(run, node, foresight)
    own = memory.seconds(name)
    return memory.seconds(same) if own is None else own


def family_of(workflow: model.Workflow) -> str:
    """What workflows that are alike have in common: template, schedule, or the root of the name."""
    ref = workflow.spec.workflow_template_ref
    if ref is not None and ref.name:
        return ref.name
    schedule = workflow.metadata.labels.get(CRON_LABEL)
    if schedule:
        return schedule  # Its own name holds the time of its slot.
    return workflow.metadata.generate_name.rstrip("-") or workflow.metadata.name


def observe_node(run: Run, node: Node, memory: Memory, foresight: Foresight | None = None) -> None:
    """Learn from a node that has ended; cheap, and silent about those that tell nothing."""
    began, ended = node.ours.began_at, node.finished_at
    if node.phase is Phase.SUCCEEDED and node.type is NodeType.POD and began and ended:
        name, same = names_of(run, node, foresight)
        memory.observe(name, ended - began)
        if same:
            memory.observe(same, ended - began)
