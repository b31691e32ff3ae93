"""The application: all routes, the errors they raise, and the guard around them."""

from __future__ import annotations

import logging
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount
from starlette.types import ASGIApp

from tiphys import __version__
from tiphys.api import (
    admin,
    backups,
    life,
    login,
    looks,
    nodes,
    operations,
    overview,
    overview_watch,
    queue_plans,
    queues,
    schedulers,
    schedules,
    schema,
    templates,
    watch,
    workflows,
)
from tiphys.api.argo import argo_routes
from tiphys.api.context import ApiContext
from tiphys.api.deps import invalid
from tiphys.api.fault import faults
from tiphys.api.guard import REQUEST_ID, Guard, Origins
from tiphys.api.problems import RequestError, problem_response
from tiphys.api.ui import ui_routes
from tiphys.errors import TiphysError
from tiphys.service.rate import RateLimit

log = logging.getLogger("tiphys.api")
_ROUTERS = (
    looks.first,
    workflows.router,
    life.router,
    nodes.router,
    looks.router,
    watch.router,
    queues.router,
    queue_plans.router,
    templates.router,
    schedules.router,
    schema.router,
    schedulers.router,
    overview.router,
    overview_watch.router,
    admin.router,
    backups.router,
    operations.router,
    login.router,
)
_ABOUT = (
    "Workflows on this machine. Every answer is an envelope: success, data, message, pagination; "
    "or success, message, error. The WebSocket /api/v1/workflows/{id}/watch sends the whole state "
    "first and then what changes; /api/v1/overview/watch does the same for dashboards."
)


def build_app(context: ApiContext, origins: Origins, rate: RateLimit) -> ASGIApp:
    """Put everything together."""
    return Guard(build_routes(context), context, origins, rate)


def build_routes(context: ApiContext) -> FastAPI:
    """Give the application without its guard."""
    app = FastAPI(
        title="Tiphys",
        version=__version__,
        description=_ABOUT,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.context = context
    app.router.routes.extend(all_routes())
    app.router.routes.append(Mount("/argo", routes=argo_routes(context)))
    app.router.routes.extend(ui_routes())
    _add_handlers(app)
    _add_document(app)
    return app


def all_routes() -> list[BaseRoute]:
    """List every route but those of the Argo Server's API."""
    return [route for router in _ROUTERS for route in router.routes]


def _add_handlers(app: FastAPI) -> None:
    async def known(request: Request, error: Exception) -> Response:
        assert isinstance(error, TiphysError)
        response = problem_response(error, request.scope[REQUEST_ID], request.url.path)
        if response.status_code >= 500:
            # Of what is known to be away, the words are enough.
            why = error if response.status_code == 500 else None
            log.error("%s %s", request.scope[REQUEST_ID], error, exc_info=why)
        return response

    async def unread(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        return await known(request, invalid("bad_filter", faults(error.errors())))

    async def routing(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        codes = {404: "not_found", 405: "method_not_allowed"}
        return await known(
            request, RequestError(codes.get(error.status_code, "bad_request"), str(error.detail))
        )

    async def unknown(request: Request, error: Exception) -> Response:
        log.error("%s", request.scope[REQUEST_ID], exc_info=error)
        return problem_response(TiphysError(), request.scope[REQUEST_ID], request.url.path)

    app.add_exception_handler(TiphysError, known)
    app.add_exception_handler(RequestValidationError, unread)
    app.add_exception_handler(HTTPException, routing)
    app.add_exception_handler(Exception, unknown)


def _add_document(app: FastAPI) -> None:
    made: dict[str, Any] = {}

    def openapi() -> dict[str, Any]:
        if not made:
            made.update(_document(app))
        return made

    app.openapi = openapi  # type: ignore[method-assign]


def _document(app: FastAPI) -> dict[str, Any]:
    document = get_openapi(
        title=app.title,
        version=app.version,
        description=app.description,
        openapi_version="3.1.0",
        routes=app.routes,
    )
    for methods in document["paths"].values():
        for operation in methods.values():
            _tidy(operation["responses"])
            operation["security"] = [{"token": []}]
    parts = document["components"]
    parts["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    for name in ("HTTPValidationError", "ValidationError"):
        parts["schemas"].pop(name, None)
    return document


def _tidy(responses: dict[str, Any]) -> None:
    """Take out what FastAPI promises in its own name: our errors have another shape."""
    schema = responses.get("422", {}).get("content", {}).get("application/json", {}).get("schema")
    if schema and schema.get("$ref", "").endswith("/HTTPValidationError"):
        del responses["422"]
