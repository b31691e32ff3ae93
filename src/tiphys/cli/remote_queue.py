"""``tiphys queue`` against a server elsewhere: the words of the local door as calls of the API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tiphys.client import Client, calls
from tiphys.errors import ConflictError


def ask(client: Client, op: str, arguments: Mapping[str, Any], scheduler: str) -> Any:
    """Have one thing done; no scheduler means the one that the server is configured for."""
    name = str(arguments.get("name", ""))
    match op:
        case "queue-list":
            return client.do(calls.list_queue_plans(scheduler=scheduler))
        case "queue-get":
            return client.do(calls.get_queue_plan(name, scheduler=scheduler))
        case "queue-save":
            return _save(client, arguments, scheduler)
        case "queue-state":
            state = "open" if arguments["state"] == "Open" else "close"
            return client.do(calls.set_queue_plan_state(name, state, scheduler=scheduler))
        case "queue-delete":
            return client.do(calls.delete_queue_plan(name, scheduler=scheduler))
    raise ConflictError(f"a server elsewhere cannot be asked for {op}")


def _save(client: Client, arguments: Mapping[str, Any], scheduler: str) -> Any:
    plan = dict(arguments["queue"])
    name = str(plan.pop("name"))
    new = bool(arguments.get("new"))
    return client.do(calls.put_queue_plan(name, plan, new=new, scheduler=scheduler))
