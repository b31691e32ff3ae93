"""A small API server that keeps objects: enough of Kubernetes for one collection after another."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

Json = dict[str, Any]
_NAMESPACE = re.compile(r"/namespaces/[^/]+")
_LISTED = ("configmaps", "leases", "clusterqueues", "localqueues")


class Store:
    """Objects by path, each change with a number."""

    def __init__(self) -> None:
        self.things: dict[str, Json] = {}
        self.address = ""
        self.changed = threading.Condition()
        self._number = 0

    def put(self, path: str, thing: Json) -> Json:
        """Keep an object."""
        with self.changed:
            self._number += 1
            meta = {**(thing.get("metadata") or {}), "resourceVersion": str(self._number)}
            self.things[path] = {**thing, "metadata": meta}
            self.changed.notify_all()
            return self.things[path]

    def listed(self, collection: str) -> Json:
        """Give all objects of a collection; those of all namespaces where it names none."""
        with self.changed:
            found = [(path.rpartition("/")[0], t) for path, t in self.things.items()]
            items = [t for p, t in found if collection in (p, _NAMESPACE.sub("", p))]
            return {"items": items, "metadata": {"resourceVersion": str(self._number)}}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    store: Store

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def _body(self) -> Json:
        found: Json = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        return found

    def _answer(self, thing: Json, status: int = 200) -> None:
        data = json.dumps(thing).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self) -> None:
        path, store = urlsplit(self.path).path, self.store
        if "watch=true" in self.path:
            # An end without news: whoever watches comes again.
            self._answer({"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "0"}}})
        elif path in store.things:
            self._answer(store.things[path])
        elif path.rpartition("/")[2] in _LISTED:
            self._answer(store.listed(path))
        else:
            self._answer({"reason": "NotFound"}, 404)

    def do_POST(self) -> None:
        thing = self._body()
        path = f"{urlsplit(self.path).path}/{thing['metadata']['name']}"
        if path in self.store.things:
            self._answer({"reason": "AlreadyExists"}, 409)
        else:
            self._answer(self.store.put(path, thing), 201)

    def do_PATCH(self) -> None:
        path, change = urlsplit(self.path).path, self._body()
        known = self.store.things.get(path)
        if known is None:
            self._answer({"reason": "NotFound"}, 404)
            return
        wanted = (change.get("metadata") or {}).get("resourceVersion")
        if wanted not in (None, known["metadata"]["resourceVersion"]):
            self._answer({"reason": "Conflict"}, 409)
            return
        self._answer(self.store.put(path, merged(known, change)))

    def do_DELETE(self) -> None:
        path = urlsplit(self.path).path
        with self.store.changed:
            known = self.store.things.pop(path, None)
        self._answer(known or {"reason": "NotFound"}, 200 if known else 404)


def merged(thing: Json, change: Json) -> Json:
    """Apply a JSON merge patch."""
    found = dict(thing)
    for key, value in change.items():
        if value is None:
            found.pop(key, None)
        elif isinstance(value, dict):
            found[key] = merged(found.get(key) or {}, value)
        else:
            found[key] = value
    return found


@contextmanager
def storing() -> Iterator[Store]:
    """Serve until the end of the block."""
    store = Store()
    handler = type("Handler", (_Handler,), {"store": store})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    store.address = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield store
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
