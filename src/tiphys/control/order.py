"""What one ``tiphys run`` was told, read and checked before anything is opened or stored.

Needs no engine: a mistake in a file is told before the engine is loaded, and the executor can get
ready while it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from tiphys.config import Config, RunOptions
from tiphys.control.submit import Overrides, Submission, prepare, read_files
from tiphys.errors import InvalidInputError, Problem
from tiphys.spec.library import Library
from tiphys.spec.model import CronWorkflow
from tiphys.spec.parse import Bundle, Parsed
from tiphys.spec.report import Report
from tiphys.spec.yaml import Document


class Order(msgspec.Struct, frozen=True):
    """Workflows that are ready to run, and how."""

    files: Sequence[tuple[str, bytes]]
    overrides: Overrides
    config: Config
    options: RunOptions
    library: Library
    submissions: Sequence[Submission]
    warnings: Sequence[Problem]

    def document(self, number: int) -> Document:
        """Read the text of a submission again, for places; few need it, and it is large."""
        return read_files(self.files).workflows[number].document


def read_order(
    files: Sequence[tuple[str, bytes]],
    *,
    parameters: Mapping[str, str],
    config: Config,
    options: RunOptions,
) -> Order:
    """Read and check every workflow of ``files``; raise SpecError where one cannot run."""
    bundle = read_files(files)
    if not bundle.workflows:
        raise _nothing_to_run(bundle, [name for name, _ in files])
    library = Library.of(bundle, namespace=config.namespace)
    overrides = Overrides(
        parameters=parameters,
        name=options.name,
        entrypoint=options.entrypoint,
        labels=options.labels,
        priority=options.priority,
    )
    defaults = config.workflow_defaults.spec if config.workflow_defaults else None
    ready = [prepare(parsed, library, overrides, defaults) for parsed in bundle.workflows]
    warnings = (*bundle.problems, *map(_left_alone, bundle.cron_workflows))
    return Order(files, overrides, config, options, library, ready, warnings)


def _nothing_to_run(bundle: Bundle, files: Sequence[str]) -> InvalidInputError:
    where = ", ".join(files)
    if bundle.cron_workflows:
        name = bundle.cron_workflows[0].value.metadata.name or "NAME"
        how = f"{_CRON}, and `tiphys cron run {name}` then runs it at once"
        return InvalidInputError(f"a CronWorkflow runs when it is due ({where}): {how}")
    templates = (*bundle.workflow_templates, *bundle.cluster_workflow_templates)
    if templates or bundle.job_templates:
        how = "a Workflow with a workflowTemplateRef, or a JobFlow, runs them"
        return InvalidInputError(f"there are only templates in {where}: {how}")
    return InvalidInputError(f"there is no Workflow in {where}")


_CRON = "`tiphys cron create` takes it"


def _left_alone(cron: Parsed[CronWorkflow]) -> Problem:
    report = Report(cron.document)
    message = f"the CronWorkflow {cron.value.metadata.name} is left alone"
    report.add(("kind",), message, code="not_run", hint=_CRON, warning=True)
    return report.problems[0]
