"""What one ``tiphys run`` was told, read and checked before anything is opened or stored.

Needs no engine: a mistake in a file is told before the engine is loaded, and the executor can get
ready while it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from tiphys.config import Config, RunOptions
from tiphys.control.submit import Overrides, Submission, prepare, read_files
from tiphys.errors import Problem
from tiphys.spec.library import Library
from tiphys.spec.yaml import Document


class Order(msgspec.Struct, frozen=True):
    """Workflows that are ready to run, and how."""

    files: Sequence[tuple[str, bytes]]
    overrides: Overrides
    config: Config
    options: RunOptions
    library: Library
    submissions: Sequence[Submission]
    documents: Sequence[Document]
    """What each was read from."""
    warnings: Sequence[Problem]


def read_order(
    files: Sequence[tuple[str, bytes]],
    *,
    parameters: Mapping[str, str],
    config: Config,
    options: RunOptions,
) -> Order:
    """Read and check every workflow of ``files``; raise SpecError where one cannot run."""
    bundle = read_files(files)
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
    documents = [parsed.document for parsed in bundle.workflows]
    return Order(files, overrides, config, options, library, ready, documents, bundle.problems)
