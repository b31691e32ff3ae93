"""What was kept earlier and files may refer to: the JobTemplates that flows are made of.

For commands that look at files without running them. Nothing is read unless a file has a flow.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from tiphys.cli.names import elsewhere, namespace_of
from tiphys.errors import NotFoundError
from tiphys.spec.library import Library

if TYPE_CHECKING:
    from tiphys.store import ObjectRow

_KIND = "JobTemplate"


def kept_library(files: Iterable[tuple[str, bytes]], namespace: str) -> Library:
    """Give what the flows of files may be made of, of the server asked for or of this machine."""
    if not any(b"JobFlow" in text for _, text in files):
        return Library(namespace=namespace)
    from tiphys.control.kept import stored_library  # noqa: PLC0415

    return stored_library(_rows(namespace), namespace)


def _rows(namespace: str) -> list[ObjectRow]:
    remote = elsewhere()
    if remote is not None:
        from tiphys.cli.remote_cron import RemoteCounter  # noqa: PLC0415

        rows = RemoteCounter(remote).templates(namespace_of(None), _KIND)
        for row in rows:
            row.namespace = namespace  # Those of one project: the one that the token is for.
        return rows
    from tiphys.cli.stored import open_store  # noqa: PLC0415

    try:
        with open_store() as store:
            return list(store.objects(_KIND))
    except NotFoundError:
        return []
