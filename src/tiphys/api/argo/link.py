"""Links into the Argo Server's own pages, as Hera and the ``argo`` command print them.

They lead to our pages of the same thing. A browser that follows one may have no session with us
yet, and who it belongs to decides what it may know: one that is known and may see the workflow is
led to its page, any other to the list, filtered by that name, which asks for a token first. So
nothing here tells a stranger whether a workflow exists.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from urllib.parse import urlencode

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from tiphys.api import cookies
from tiphys.api.context import ApiContext
from tiphys.api.view import PREFIX
from tiphys.errors import TiphysError
from tiphys.service.access import Identity

Handler = Callable[[Request], Awaitable[Response]]


def link_routes(context: ApiContext) -> list[BaseRoute]:
    """Give the routes of the pages, relative to ``/argo``."""
    return [
        Route("/workflows/{namespace}/{name}", _workflow(context)),
        Route("/cron-workflows/{namespace}/{name}", _chosen("/schedules", "schedule")),
        Route("/workflow-templates/{namespace}/{name}", _chosen("/templates", "template")),
        Route("/cluster-workflow-templates/{name}", _chosen("/templates", "template")),
    ]


def _workflow(context: ApiContext) -> Handler:
    async def lead(request: Request) -> Response:
        namespace, name = request.path_params["namespace"], request.path_params["name"]
        try:
            who = await _identify(context, request)
            row = await run_in_threadpool(context.store.workflow, name, namespace=namespace)
            if who.sees(row.namespace):
                return RedirectResponse(f"/workflows/{PREFIX}{row.uid}", 302)
        except TiphysError:
            pass  # A stranger, or nothing that is there.
        return _to("/workflows", project=namespace, name=name)

    return lead


async def _identify(context: ApiContext, request: Request) -> Identity:
    session = cookies.read_session(request)
    if session and "authorization" not in request.headers:
        return context.tokens.identify(session, session=True)
    return await context.identify(request)


def _chosen(page: str, what: str) -> Handler:
    async def lead(request: Request) -> Response:
        given = request.path_params
        key = f"{given['namespace']}/{given['name']}" if "namespace" in given else given["name"]
        return _to(page, **{what: key})

    return lead


def _to(page: str, **query: str) -> Response:
    return RedirectResponse(f"{page}?{urlencode(query)}", 302)
