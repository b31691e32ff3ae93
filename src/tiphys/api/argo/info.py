"""Who is there, who asks, and what there is not."""

from __future__ import annotations

import platform

from starlette.responses import Response

from tiphys import __version__
from tiphys.api.argo.call import Call, reply
from tiphys.api.problems import RequestError
from tiphys.errors import NotFoundError

ARGO_VERSION = "v4.0.2"
"""The Argo whose API this is."""


async def info(_: Call) -> Response:
    """Tell how the server is set up."""
    return reply({"managedNamespace": "", "links": [], "columns": [], "modals": {}})


async def userinfo(call: Call) -> Response:
    """Tell who asks."""
    who = call.identity
    return reply(
        {
            "issuer": "tiphys",
            "subject": who.name,
            "name": who.name,
            "groups": [str(who.role)],
            "serviceAccountNamespace": who.project,
        }
    )


async def version(_: Call) -> Response:
    """Tell which Argo this speaks like, and what it is."""
    return reply(
        {
            "version": f"{ARGO_VERSION}+tiphys.{__version__}",
            "buildDate": "1970-01-01T00:00:00Z",
            "gitCommit": "",
            "gitTag": "",
            "gitTreeState": "clean",
            "goVersion": "",
            "compiler": f"python {platform.python_version()}",
            "platform": f"{platform.system().lower()}/{platform.machine()}",
        }
    )


async def not_here(call: Call) -> Response:
    """Refuse what Argo has and we do not."""
    raise RequestError("not_implemented", f"{call.request.url.path[:200]} is not served here")


async def nowhere(call: Call) -> Response:
    """Refuse what nobody has."""
    raise NotFoundError(f"there is nothing at {call.request.url.path[:200]}")
