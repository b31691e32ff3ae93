"""Helps routes describe themselves for the OpenAPI document."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from fastapi.routing import APIRoute
from pydantic import BaseModel

from tiphys.api.shapes import Failure

PREFIX = "/api/v1"
_WORDS = {
    400: "The request cannot be read.",
    401: "No token that holds.",
    403: "The role does not allow it.",
    404: "There is no such thing, or it belongs to another project.",
    409: "It is not in a state for this.",
    413: "The body is too large.",
    415: "The body is not application/json.",
    422: "The input cannot be used; every problem is listed.",
}


def routes(path: str, *tags: str) -> APIRouter:
    """Give a router for everything below ``path``; its functions' names are the operations'."""
    return APIRouter(prefix=PREFIX + path, tags=[*tags], generate_unique_id_function=_operation_id)


def _operation_id(route: APIRoute) -> str:
    return route.name


def answers(shape: Any, *failures: int, status: int = 200, words: str = "Done.") -> dict[Any, Any]:
    """Describe the answers of a route."""
    found: dict[Any, Any] = {status: {"model": shape, "description": words}}
    for number in sorted({400, 401, 404, *failures}):
        found[number] = {"model": Failure, "description": _WORDS[number]}
    return found


def takes(body: type[BaseModel], *, required: bool = True) -> dict[str, Any]:
    """Describe the body of a route. Bodies are flat: their schema stands where it is used."""
    schema = body.model_json_schema()
    examples = schema.pop("examples", [])
    media: dict[str, Any] = {"schema": schema}
    if examples:
        media["example"] = examples[0]
    return {"requestBody": {"required": required, "content": {"application/json": media}}}
