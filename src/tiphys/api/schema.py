"""``/api/v1/schema``: the JSON schema of workflow files for editors, as of ``tiphys schema``."""

from __future__ import annotations

from functools import cache
from typing import Any

from starlette.responses import Response

from tiphys.api.deps import Who
from tiphys.api.document import answers, routes
from tiphys.api.envelope import answer
from tiphys.api.shapes import Envelope
from tiphys.spec.schema import json_schema

router = routes("/schema", "workflows")


@router.get("", summary="The schema of workflow files", responses=answers(Envelope[dict[str, Any]]))
def get_schema(who: Who) -> Response:
    """Give a strict JSON schema of all documents that are read here."""
    return answer(_schema())


@cache
def _schema() -> dict[str, Any]:
    return json_schema()
