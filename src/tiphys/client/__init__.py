"""A typed client of ``tiphys server``, sync and async.

    from tiphys.client import Client, calls

    with Client("http://127.0.0.1:2746", token) as client:
        made = client.do(calls.submit("hello", "default", text))
        for update in client.watch(made.id):
            print(update.status, update.progress)

What can be asked for is described once (``calls``, ``schedules``, ``templates``, ``insight``);
``Client`` and ``AsyncClient`` both ``do`` it. The last two are imported where they are needed.
Uses the standard library's HTTP, so that a command that only asks one question starts fast.
"""

from tiphys.client import calls, schedules
from tiphys.client.client import AsyncClient, Client
from tiphys.client.transport import AnswerError

__all__ = ["AnswerError", "AsyncClient", "Client", "calls", "schedules"]
