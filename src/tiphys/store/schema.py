"""The tables of SQLite, as numbered steps that are only ever added to.

``STEPS[n]`` brings a store from version n to n + 1. A released step is never edited. The tables of
PostgreSQL are in `store.postgres_schema`, with the same numbers.

Why they look so:

- A workflow has a small whole number. A node's key is that number and its place in the order of
  creation in one integer, so that new nodes go to the end of the table, a workflow's nodes lie
  together in the order in which they are wanted, and a changed body is rewritten in place. Of the
  eight layouts measured it is the fastest to write (docs/adr/0002-raw-sql.md).
- Documents lie apart from the columns that lists read and that change.
- Labels carry the time of creation, so that a label drives a list in its order. Indexes that end in
  names answer a search for part of a name without reading the rows.
- ``names`` finds three letters anywhere in a name; a search without it reads all names.
- ``tallies`` says how many workflows there are by namespace, queue and phase: to count a million
  rows for each page of a list takes a tenth of a second. Triggers keep it, so it is never wrong.
- ``ages`` says the same for spans of `SPAN` seconds of creation: of all workflows, of a project, of
  a queue. A page in the midst of a million is reached by whole spans (`store.depth`).
"""

from __future__ import annotations

SEQ_BITS = 32
"""A node's key: the workflow's number above these bits, the node's place within them."""
SPAN = 4096
"""Seconds of creation that ``ages`` counts together. A power of two: no time falls between two."""

_FIRST = """
CREATE TABLE owner (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    epoch INTEGER NOT NULL
);
INSERT INTO owner (one, epoch) VALUES (1, 0);

CREATE TABLE workflows (
    number INTEGER PRIMARY KEY,
    uid TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    namespace TEXT NOT NULL,
    phase TEXT NOT NULL,
    message TEXT NOT NULL,
    created_at REAL NOT NULL,
    started_at REAL,
    finished_at REAL,
    priority INTEGER NOT NULL,
    queue TEXT NOT NULL,
    progress TEXT NOT NULL,
    labels TEXT NOT NULL,
    annotations TEXT NOT NULL,
    shutdown TEXT NOT NULL,
    suspended INTEGER NOT NULL,
    starts INTEGER NOT NULL,
    source TEXT NOT NULL,
    quarantine TEXT NOT NULL
);
CREATE UNIQUE INDEX workflows_by_name ON workflows (name, namespace);
CREATE INDEX workflows_by_creation ON workflows (created_at, number, name);
CREATE INDEX workflows_by_phase ON workflows (phase, created_at, number);
CREATE INDEX workflows_by_namespace ON workflows (namespace, created_at, number, name);
CREATE INDEX workflows_by_end ON workflows (finished_at);

CREATE TABLE documents (
    workflow INTEGER PRIMARY KEY,
    manifest BLOB NOT NULL,
    spec BLOB NOT NULL,
    library BLOB NOT NULL,
    outputs BLOB
);

CREATE TABLE labels (
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    created_at REAL NOT NULL,
    workflow INTEGER NOT NULL,
    PRIMARY KEY (name, value, created_at, workflow)
) WITHOUT ROWID;
CREATE INDEX labels_by_workflow ON labels (workflow, name, value);

CREATE TABLE nodes (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL,
    phase TEXT NOT NULL,
    type TEXT NOT NULL,
    name TEXT NOT NULL,
    body BLOB NOT NULL
);

CREATE TABLE events (
    number INTEGER PRIMARY KEY,
    workflow INTEGER NOT NULL,
    at REAL NOT NULL,
    kind TEXT NOT NULL,
    node TEXT NOT NULL,
    text TEXT NOT NULL
);
CREATE INDEX events_by_workflow ON events (workflow, number);

CREATE TABLE memos (
    namespace TEXT NOT NULL,
    cache TEXT NOT NULL,
    name TEXT NOT NULL,
    node_id TEXT NOT NULL,
    outputs BLOB NOT NULL,
    at REAL NOT NULL,
    PRIMARY KEY (namespace, cache, name)
);

CREATE TABLE objects (
    kind TEXT NOT NULL,
    namespace TEXT NOT NULL,
    name TEXT NOT NULL,
    body BLOB NOT NULL,
    at REAL NOT NULL,
    PRIMARY KEY (kind, namespace, name)
);

CREATE TABLE garbage (
    workflow INTEGER PRIMARY KEY
);
"""

# A statement ends with a semicolon at the end of a line: within a trigger there must be none.
_ADD = (
    "INSERT INTO tallies (namespace, queue, phase, count) VALUES (new.namespace, new.queue,"
    " new.phase, 1) ON CONFLICT (namespace, queue, phase) DO UPDATE SET count = count + 1;"
)
_TAKE = (
    "UPDATE tallies SET count = count - 1 WHERE namespace = old.namespace AND queue = old.queue"
    " AND phase = old.phase;"
)
_SECOND = f"""
ALTER TABLE owner ADD COLUMN place TEXT NOT NULL DEFAULT '';

CREATE INDEX workflows_by_queue ON workflows (queue, created_at, number, name);
CREATE INDEX workflows_by_project_phase ON workflows (namespace, phase, created_at, number);
CREATE INDEX workflows_by_queue_phase ON workflows (queue, phase, created_at, number);
DROP INDEX workflows_by_end;
CREATE INDEX workflows_by_end ON workflows (phase, finished_at, number);

CREATE TABLE tallies (
    namespace TEXT NOT NULL,
    queue TEXT NOT NULL,
    phase TEXT NOT NULL,
    count INTEGER NOT NULL,
    PRIMARY KEY (namespace, queue, phase)
) WITHOUT ROWID;
INSERT INTO tallies SELECT namespace, queue, phase, count(*) FROM workflows
    GROUP BY namespace, queue, phase;
CREATE TRIGGER tally_new AFTER INSERT ON workflows BEGIN {_ADD} END;
CREATE TRIGGER tally_gone AFTER DELETE ON workflows BEGIN {_TAKE} END;
CREATE TRIGGER tally_changed AFTER UPDATE OF namespace, queue, phase ON workflows
    WHEN old.phase <> new.phase OR old.queue <> new.queue OR old.namespace <> new.namespace
    BEGIN {_TAKE} {_ADD} END;
"""

_ADD_AGE = (
    "INSERT INTO ages (scope, phase, span, count)"
    f" VALUES ('', new.phase, CAST(new.created_at / {SPAN} AS INTEGER), 1),"
    f" ('n' || new.namespace, new.phase, CAST(new.created_at / {SPAN} AS INTEGER), 1),"
    f" ('q' || new.queue, new.phase, CAST(new.created_at / {SPAN} AS INTEGER), 1)"
    " ON CONFLICT (scope, phase, span) DO UPDATE SET count = count + 1;"
)
_OLD_AGE = (
    "scope IN ('', 'n' || old.namespace, 'q' || old.queue)"
    f" AND span = CAST(old.created_at / {SPAN} AS INTEGER)"
)
_TAKE_AGE = f"UPDATE ages SET count = count - 1 WHERE {_OLD_AGE} AND phase = old.phase;"
_CLEAR_AGE = (
    f"DELETE FROM ages WHERE {_OLD_AGE} AND count = 0"
    " AND phase IN ('', 'Pending', 'Running', 'Succeeded', 'Failed', 'Error');"
)
_THIRD = f"""
CREATE INDEX workflows_by_project_queue ON workflows (namespace, queue, created_at, number);

CREATE TABLE ages (
    scope TEXT NOT NULL,
    phase TEXT NOT NULL,
    span INTEGER NOT NULL,
    count INTEGER NOT NULL,
    PRIMARY KEY (scope, phase, span)
) WITHOUT ROWID;
INSERT INTO ages SELECT '', phase, CAST(created_at / {SPAN} AS INTEGER) AS s, count(*)
    FROM workflows GROUP BY phase, s;
INSERT INTO ages SELECT 'n' || namespace, phase, CAST(created_at / {SPAN} AS INTEGER) AS s, count(*)
    FROM workflows GROUP BY namespace, phase, s;
INSERT INTO ages SELECT 'q' || queue, phase, CAST(created_at / {SPAN} AS INTEGER) AS s, count(*)
    FROM workflows GROUP BY queue, phase, s;
CREATE TRIGGER age_new AFTER INSERT ON workflows BEGIN {_ADD_AGE} END;
CREATE TRIGGER age_gone AFTER DELETE ON workflows BEGIN {_TAKE_AGE} {_CLEAR_AGE} END;
CREATE TRIGGER age_changed AFTER UPDATE OF namespace, queue, phase ON workflows
    WHEN old.phase <> new.phase OR old.queue <> new.queue OR old.namespace <> new.namespace
    BEGIN {_TAKE_AGE} {_ADD_AGE} END;
"""

_FOURTH = ""
"""The tables stay as they are, but programs before this step do not know nodes with many parents as
they are written since."""

_FIFTH = ""
"""The tables stay as they are, but programs before this step do not know a spec that is kept with
its manifest (`store.shared`)."""

STEPS: tuple[str, ...] = (_FIRST, _SECOND, _THIRD, _FOURTH, _FIFTH)

NAME_INDEX = """
CREATE VIRTUAL TABLE names USING fts5(name, content='workflows', content_rowid='number',
    tokenize='trigram', detail='none', columnsize=0);
INSERT INTO names (names) VALUES ('rebuild');
CREATE TRIGGER names_new AFTER INSERT ON workflows BEGIN
    INSERT INTO names (rowid, name) VALUES (new.number, new.name); END;
CREATE TRIGGER names_gone AFTER DELETE ON workflows BEGIN
    INSERT INTO names (names, rowid, name) VALUES ('delete', old.number, old.name); END;
"""
"""Finds parts of names without reading a million of them. Made by any owner whose SQLite can."""
VERSION = len(STEPS)
