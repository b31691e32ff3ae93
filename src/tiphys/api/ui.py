"""The web pages: the built files of ``ui/``, and one page for every address that they know.

The files were made by ``scripts/ui`` and lie in ``static/`` beside this module; without them ``/``
says how to make them. Nothing here needs a token, and nothing here shows anything of anybody: the
pages ask ``/api/v1`` like every other client. The policy allows no script but our files; style
sheets that the pages make themselves carry a nonce that holds for one answer.
"""

from __future__ import annotations

import gzip
import re
import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute, Route

STATIC = Path(str(files("tiphys.api").joinpath("static")))
PAGES = frozenset(
    {
        "compare",
        "editor",
        "queues",
        "schedules",
        "settings",
        "submit",
        "templates",
        "workflows",
    }
)
"""The first parts of addresses that the pages know; the same as in ``ui/src/routes.tsx``."""
ARGO_PAGES = re.compile(
    r"/argo/(?:(?:workflows|cron-workflows|workflow-templates)/[^/]+|cluster-workflow-templates)"
    r"/[^/]+"
)
"""Pages of the Argo Server that lead to ours (``argo.link``)."""
_NONCE = "__NONCE__"
_FOREVER = "public, max-age=31536000, immutable"
_SMALL = 1024
_MEDIA = {
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
    ".txt": "text/plain",
    ".woff2": "font/woff2",
}
"""Written here: what the machine's own table says differs from machine to machine."""
_TEXTS = ("text/", "image/svg")
_MISSING = """\
<!doctype html>
<html lang="en">
<title>Tiphys</title>
<h1>The web pages are not built</h1>
<p>This is a checkout without them. Build them in the root of the repository with
<code>make ui</code>, and load this page again. Node comes from PyPI if there is none.</p>
<p>The API is there: <a href="/docs">/docs</a>.</p>
</html>
"""


@dataclass(frozen=True, slots=True)
class Asset:
    """A file, read once, plain and compressed."""

    body: bytes
    packed: bytes | None
    media: str
    tag: str
    lasting: bool

    def answer(self, request: Request) -> Response:
        """Give the file, or say that the browser has it already."""
        headers = {
            "cache-control": _FOREVER if self.lasting else "no-cache",
            "etag": self.tag,
            "vary": "accept-encoding",
        }
        if request.headers.get("if-none-match") == self.tag:
            return Response(status_code=304, headers=headers)
        if self.packed is not None and "gzip" in request.headers.get("accept-encoding", ""):
            headers["content-encoding"] = "gzip"
            return Response(self.packed, media_type=self.media, headers=headers)
        return Response(self.body, media_type=self.media, headers=headers)


def is_page(path: str) -> bool:
    """Tell whether an address is one of the pages or their files, which need no token."""
    if path == "/" or path in _assets() or ARGO_PAGES.fullmatch(path):
        return True
    return path.partition("/")[2].split("/")[0] in PAGES


def ui_routes() -> list[BaseRoute]:
    """List the routes of the pages."""
    routes: list[BaseRoute] = [Route("/", _page)]
    for name in sorted(PAGES):
        routes += [Route(f"/{name}", _page), Route(f"/{name}/{{rest:path}}", _page)]
    return routes + [Route(path, _file(asset)) for path, asset in _assets().items()]


@cache
def _assets() -> Mapping[str, Asset]:
    """Read all files but the page itself; there are a few dozen."""
    if not STATIC.is_dir():
        return {}
    found = (path for path in sorted(STATIC.rglob("*")) if path.is_file())
    return {
        f"/{path.relative_to(STATIC).as_posix()}": _read(path)
        for path in found
        if path.name != "index.html"
    }


def _read(path: Path) -> Asset:
    body = path.read_bytes()
    media = _MEDIA.get(path.suffix, "application/octet-stream")
    packs = len(body) > _SMALL and media.startswith(_TEXTS)
    return Asset(
        body=body,
        packed=gzip.compress(body, 6, mtime=0) if packs else None,
        media=media,
        tag=f'"{sha256(body).hexdigest()[:20]}"',
        lasting=path.parent.name == "assets",  # Their names hold a hash of what is in them.
    )


def _file(asset: Asset) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        return asset.answer(request)

    return answer


@cache
def _template() -> str:
    try:
        return (STATIC / "index.html").read_text("utf-8")
    except OSError:
        return ""


async def _page(request: Request) -> Response:
    """Give the one page; what it shows is decided by the address, in the browser."""
    del request
    nonce = secrets.token_urlsafe(16)
    text = _template()
    headers = {"content-security-policy": policy(nonce), "cache-control": "no-store"}
    if not text:
        return HTMLResponse(_MISSING, 503, headers=headers)
    return HTMLResponse(text.replace(_NONCE, nonce), headers=headers)


def policy(nonce: str) -> str:
    """Say what the page may load: our own files, nothing inline but style sheets of this answer."""
    return (
        "default-src 'none'; script-src 'self'; worker-src 'self'; connect-src 'self'; "
        f"style-src 'self' 'nonce-{nonce}'; img-src 'self' data: blob:; font-src 'self'; "
        "manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
