"""One template: its type, its policies, and on to steps, tasks or the work itself."""

from __future__ import annotations

from tiphys.spec.model import Memoize, RetryStrategy, Synchronization, Template
from tiphys.spec.report import Report
from tiphys.spec.template_type import TYPE_FIELDS, is_leaf, is_pod, template_types
from tiphys.spec.validate.context import Context
from tiphys.spec.validate.language import check_duration, check_expression, check_whole
from tiphys.spec.validate.leaf import check_leaf, check_metric
from tiphys.spec.validate.outputs import check_inputs, check_location, check_outputs
from tiphys.spec.validate.tags import Scope, check_tags, has_tag
from tiphys.spec.yaml import Path

_POLICIES = ("Always", "OnError", "OnFailure", "OnTransientError")
_TYPE_WORDS = ", ".join(
    "containerSet" if name == "container_set" else name
    for name in TYPE_FIELDS
    if not name.startswith("volcano")
)


def check_template(template: Template, path: Path, context: Context) -> None:
    """Check a template and all that it calls."""
    kinds = template_types(template)
    if len(kinds) != 1:
        what = "has no type" if not kinds else f"has several types: {', '.join(kinds)}"
        hint = f"choose one of {_TYPE_WORDS}"
        context.report.add(path, f"the template {template.name!r} {what}", hint=hint)
        return
    scope = context.scope.below()
    check_inputs(template, path, scope, context.report)
    _check_policies(template, path, context)
    if is_leaf(template) or kinds[0] == "suspend":
        _check_work(template, path, scope, context)
    else:
        _check_calls(template, path, scope, context)
    check_outputs(template, path, scope, context.report)


def _check_work(template: Template, path: Path, scope: Scope, context: Context) -> None:
    if is_pod(template):
        scope.add("pod.name")
    check_leaf(template, path, context)
    if template.suspend is not None:
        where = (*path, "suspend", "duration")
        check_duration(template.suspend.duration, where, context.report)
    if template.timeout and not is_leaf(template):
        context.report.add((*path, "timeout"), "a suspend template has no timeout")
    if not path or path[-1] != "inline":  # the step that holds it has looked at its texts
        check_tags(template, path, scope, context.report)


def _check_calls(template: Template, path: Path, scope: Scope, context: Context) -> None:
    report = context.report
    for value, name in (
        (template.active_deadline_seconds, "activeDeadlineSeconds"),
        (template.timeout, "timeout"),
    ):
        if value:
            report.add((*path, name), f"{name} is not for steps and dag templates")
    if template.dag is not None:
        from tiphys.spec.validate.dag import check_dag  # noqa: PLC0415 - with the first

        check_dag(template, path, scope, context)
    else:
        from tiphys.spec.validate.steps import check_steps  # noqa: PLC0415 - with the first

        check_steps(template, path, scope, context)


def _check_policies(template: Template, path: Path, context: Context) -> None:
    report = context.report
    if template.retry_strategy is not None:
        check_retry(template.retry_strategy, (*path, "retryStrategy"), report)
    if template.synchronization is not None:
        check_locks(template.synchronization, (*path, "synchronization"), report)
    if template.memoize is not None:
        _check_memoize(template.memoize, (*path, "memoize"), report)
    if template.archive_location is not None:
        check_location(template.archive_location, (*path, "archiveLocation"), report)
    for index, container in enumerate(template.init_containers):
        if not container.name:
            report.add((*path, "initContainers", index), "an init container needs a name")
    for index, metric in enumerate(template.metrics.prometheus if template.metrics else ()):
        check_metric(metric, (*path, "metrics", "prometheus", index), context)


def check_retry(retry: RetryStrategy, path: Path, report: Report) -> None:
    """Check a retry strategy."""
    policy = retry.retry_policy
    if policy and policy not in _POLICIES and not has_tag(policy):
        hint = report.close_to(policy, _POLICIES)
        message = f"the retryPolicy {policy[:60]!r} is not known"
        report.add((*path, "retryPolicy"), message, hint=hint)
    check_whole(retry.limit, (*path, "limit"), report)
    if retry.expression:
        check_expression(retry.expression, (*path, "expression"), report)
    backoff = retry.backoff
    if backoff is not None:
        path = (*path, "backoff")
        check_duration(backoff.duration, (*path, "duration"), report)
        check_duration(backoff.max_duration, (*path, "maxDuration"), report)
        check_duration(backoff.cap, (*path, "cap"), report)
        check_whole(backoff.factor, (*path, "factor"), report)


def check_locks(locks: Synchronization, path: Path, report: Report) -> None:
    """Check mutexes and semaphores."""
    for index, mutex in enumerate(locks.mutexes):
        if not mutex.name:
            report.add((*path, "mutexes", index), "a mutex needs a name")
    for index, semaphore in enumerate(locks.semaphores):
        if (semaphore.config_map_key_ref is None) == (semaphore.database is None):
            message = "a semaphore needs either configMapKeyRef or database"
            report.add((*path, "semaphores", index), message)


def _check_memoize(memoize: Memoize, path: Path, report: Report) -> None:
    if not memoize.key:
        report.add(path, "memoize needs a key")
    if memoize.cache is None or memoize.cache.config_map is None:
        report.add(path, "memoize needs a cache with a configMap")
    check_duration(memoize.max_age, (*path, "maxAge"), report, bare=False)
