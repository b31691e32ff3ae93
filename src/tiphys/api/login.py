"""``/auth``: logging in with the OIDC provider, and out again.

A browser leaves for the provider with what it must bring back in a cookie, so that no server has to
remember it; it comes back with a code, and gets the cookie of a session. Tokens stay what they are:
a session is one more way to be somebody, with the role and the project that the rules give.
"""

from __future__ import annotations

import re
import secrets
from typing import Annotated
from urllib.parse import urlsplit

from fastapi import APIRouter, Query, Request
from starlette.responses import RedirectResponse, Response

from tiphys.api import cookies
from tiphys.api.context import ApiContext
from tiphys.api.cookies import Away
from tiphys.api.deps import Context, Who
from tiphys.api.envelope import answer
from tiphys.api.problems import RequestError, echo
from tiphys.errors import NotFoundError
from tiphys.service.access import Identity
from tiphys.service.login import Login

router = APIRouter(prefix="/auth", include_in_schema=False)
CALLBACK = "/auth/callback"
_LOCAL = re.compile(r"/(?![/\\])[\x21-\x7e]{0,2000}")
"""A path of this server: nothing that a browser takes for another one."""


@router.get("/methods")
async def methods(context: Context) -> Response:
    """Tell how people can log in; nothing of anybody is in it."""
    login = context.login
    where = {"url": "/auth/login", "issuer": login.issuer} if login else None
    return answer({"token": True, "oidc": where})


@router.get("/login")
async def login(
    context: Context,
    request: Request,
    next: Annotated[str, Query(max_length=2000)] = "/",  # noqa: A002 - the name in the address
    project: Annotated[str, Query(max_length=63)] = "",
) -> Response:
    """Send a browser to the provider; ``project`` is the one to log in to, of several."""
    provider = _needed(context)
    attempt = provider.attempt()
    away = Away(
        state=attempt.state,
        nonce=attempt.nonce,
        verifier=attempt.verifier,
        back=next if _LOCAL.fullmatch(next) else "/",
        project=project,
        at=context.host.clock.now(),
    )
    url = await provider.provider.login_url(attempt, _here(provider, request) + CALLBACK)
    response = RedirectResponse(url, 302)
    cookies.write_away(response, away, secure=_secure(provider, request))
    return response


@router.get("/callback")
async def callback(
    context: Context,
    request: Request,
    state: Annotated[str, Query(max_length=200)] = "",
    code: Annotated[str, Query(max_length=4000)] = "",
    error: Annotated[str, Query(max_length=4000)] = "",
) -> Response:
    """Take a browser back from the provider and begin its session."""
    provider = _needed(context)
    away = _returned(context, request, state)
    if error or not code:
        raise RequestError("unauthenticated", f"the provider refused: {echo(error or 'no code')}")
    here = _here(provider, request)
    who, secret, seconds = await provider.begin(code, away, here + CALLBACK)
    if who.project:
        await context.projects.ensure(who.project, provider.issuer)
    await context.audit.note(who, "log in", project=who.project, subject=who.token)
    response = RedirectResponse(away.back if _LOCAL.fullmatch(away.back) else "/", 303)
    secure = _secure(provider, request)
    cookies.write_session(response, secret, seconds=seconds, secure=secure)
    cookies.forget(response, cookies.LOGIN, secure=secure)
    return response


def _returned(context: ApiContext, request: Request, state: str) -> Away:
    away = cookies.read_away(request)
    if away is None or not secrets.compare_digest(away.state.encode(), state.encode()):
        raise RequestError("unauthenticated", "this log-in was not begun in this browser")
    if context.host.clock.now() - away.at > cookies.LOGIN_LIFE:
        raise RequestError("unauthenticated", "this log-in took too long: begin again")
    return away


@router.post("/logout")
async def logout(context: Context, who: Who, request: Request) -> Response:
    """End the session; ``logout_url`` is where the provider forgets the browser too."""
    provider = _needed(context)
    await context.tokens.end_session(who)
    await context.audit.note(who, "log out", project=who.project, subject=who.token)
    url = await provider.logout_url(_here(provider, request) + "/", _is_session(who))
    response = answer({"logout_url": url or None}, message="Logged out")
    cookies.forget(response, cookies.SESSION, secure=_secure(provider, request))
    return response


def _is_session(who: Identity) -> bool:
    return who.token.startswith("ses-")


def _needed(context: ApiContext) -> Login:
    if context.login is None:
        raise NotFoundError("no OIDC provider is configured (oidc: in the settings)")
    return context.login


def _here(login: Login, request: Request) -> str:
    """Give the address of this server as the browser knows it; the guard has looked at Host."""
    return login.public_url or f"{request.url.scheme}://{request.headers['host']}"


def _secure(login: Login, request: Request) -> bool:
    return urlsplit(_here(login, request)).scheme == "https"
