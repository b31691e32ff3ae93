"""The tables of PostgreSQL, in the same numbered steps as those of SQLite (`store.schema`).

Text is compared byte by byte (``COLLATE "C"``), as SQLite does it, so that both databases list in
the same order. ``version`` says how many steps a store has taken.
"""

from __future__ import annotations

from tiphys.store.schema import SPAN

_FIRST = """
CREATE TABLE version (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    version INTEGER NOT NULL
);
INSERT INTO version (one, version) VALUES (1, 0);

CREATE TABLE owner (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    epoch BIGINT NOT NULL,
    batch BIGINT NOT NULL
);
INSERT INTO owner (one, epoch, batch) VALUES (1, 0, 0);

CREATE TABLE workflows (
    number BIGINT PRIMARY KEY,
    uid TEXT COLLATE "C" NOT NULL UNIQUE,
    name TEXT COLLATE "C" NOT NULL,
    namespace TEXT COLLATE "C" NOT NULL,
    phase TEXT COLLATE "C" NOT NULL,
    message TEXT NOT NULL,
    created_at DOUBLE PRECISION NOT NULL,
    started_at DOUBLE PRECISION,
    finished_at DOUBLE PRECISION,
    priority BIGINT NOT NULL,
    queue TEXT COLLATE "C" NOT NULL,
    progress TEXT NOT NULL,
    labels TEXT NOT NULL,
    annotations TEXT NOT NULL,
    shutdown TEXT NOT NULL,
    suspended INTEGER NOT NULL,
    starts BIGINT NOT NULL,
    source TEXT NOT NULL,
    quarantine TEXT NOT NULL
);
CREATE UNIQUE INDEX workflows_by_name ON workflows (name, namespace);
CREATE INDEX workflows_by_creation ON workflows (created_at, number, name);
CREATE INDEX workflows_by_phase ON workflows (phase, created_at, number);
CREATE INDEX workflows_by_namespace ON workflows (namespace, created_at, number, name);
CREATE INDEX workflows_by_end ON workflows (finished_at);

CREATE TABLE documents (
    workflow BIGINT PRIMARY KEY,
    manifest BYTEA NOT NULL,
    spec BYTEA NOT NULL,
    library BYTEA NOT NULL,
    outputs BYTEA
);

CREATE TABLE labels (
    name TEXT COLLATE "C" NOT NULL,
    value TEXT COLLATE "C" NOT NULL,
    created_at DOUBLE PRECISION NOT NULL,
    workflow BIGINT NOT NULL,
    PRIMARY KEY (name, value, created_at, workflow)
);
CREATE INDEX labels_by_workflow ON labels (workflow, name, value);

CREATE TABLE nodes (
    number BIGINT PRIMARY KEY,
    id TEXT COLLATE "C" NOT NULL,
    phase TEXT COLLATE "C" NOT NULL,
    type TEXT NOT NULL,
    name TEXT NOT NULL,
    body BYTEA NOT NULL
);

CREATE TABLE events (
    number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    workflow BIGINT NOT NULL,
    at DOUBLE PRECISION NOT NULL,
    kind TEXT NOT NULL,
    node TEXT NOT NULL,
    text TEXT NOT NULL
);
CREATE INDEX events_by_workflow ON events (workflow, number);

CREATE TABLE memos (
    namespace TEXT COLLATE "C" NOT NULL,
    cache TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    node_id TEXT NOT NULL,
    outputs BYTEA NOT NULL,
    at DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (namespace, cache, name)
);

CREATE TABLE objects (
    kind TEXT COLLATE "C" NOT NULL,
    namespace TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    body BYTEA NOT NULL,
    at DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (kind, namespace, name)
);

CREATE TABLE garbage (
    workflow BIGINT PRIMARY KEY
);
"""

_ADD = (
    "INSERT INTO tallies AS t (namespace, queue, phase, count)"
    " VALUES (new.namespace, new.queue, new.phase, 1)"
    " ON CONFLICT (namespace, queue, phase) DO UPDATE SET count = t.count + 1;"
)
_TAKE = (
    "UPDATE tallies SET count = count - 1 WHERE namespace = old.namespace AND queue = old.queue"
    " AND phase = old.phase;"
)
# A statement ends with a semicolon at the end of a line: within a function there must be none.
_SECOND = f"""
ALTER TABLE owner ADD COLUMN place TEXT NOT NULL DEFAULT '';

CREATE INDEX workflows_by_queue ON workflows (queue, created_at, number, name);
CREATE INDEX workflows_by_project_phase ON workflows (namespace, phase, created_at, number);
CREATE INDEX workflows_by_queue_phase ON workflows (queue, phase, created_at, number);
CREATE INDEX workflows_by_phase_end ON workflows (phase, finished_at, number);

CREATE TABLE tallies (
    namespace TEXT COLLATE "C" NOT NULL,
    queue TEXT COLLATE "C" NOT NULL,
    phase TEXT COLLATE "C" NOT NULL,
    count BIGINT NOT NULL,
    PRIMARY KEY (namespace, queue, phase)
);
INSERT INTO tallies SELECT namespace, queue, phase, count(*) FROM workflows
    GROUP BY namespace, queue, phase;
CREATE FUNCTION tally_new() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN {_ADD} RETURN NULL; END $$;
CREATE FUNCTION tally_gone() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN {_TAKE} RETURN NULL; END $$;
CREATE FUNCTION tally_changed() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN {_TAKE} {_ADD} RETURN NULL; END $$;
CREATE TRIGGER tally_new AFTER INSERT ON workflows FOR EACH ROW EXECUTE FUNCTION tally_new();
CREATE TRIGGER tally_gone AFTER DELETE ON workflows FOR EACH ROW EXECUTE FUNCTION tally_gone();
CREATE TRIGGER tally_changed AFTER UPDATE OF namespace, queue, phase ON workflows FOR EACH ROW
    WHEN (old.phase <> new.phase OR old.queue <> new.queue OR old.namespace <> new.namespace)
    EXECUTE FUNCTION tally_changed();
"""

_ADD_AGE = (
    "INSERT INTO ages AS a (scope, phase, span, count)"
    f" VALUES ('', new.phase, floor(new.created_at / {SPAN}), 1),"
    f" ('n' || new.namespace, new.phase, floor(new.created_at / {SPAN}), 1),"
    f" ('q' || new.queue, new.phase, floor(new.created_at / {SPAN}), 1)"
    " ON CONFLICT (scope, phase, span) DO UPDATE SET count = a.count + 1;"
)
_OLD_AGE = (
    "scope IN ('', 'n' || old.namespace, 'q' || old.queue)"
    f" AND span = floor(old.created_at / {SPAN})::bigint"
)
_TAKE_AGE = f"UPDATE ages SET count = count - 1 WHERE {_OLD_AGE} AND phase = old.phase;"
_CLEAR_AGE = (
    f"DELETE FROM ages WHERE {_OLD_AGE} AND count = 0"
    " AND phase IN ('', 'Pending', 'Running', 'Succeeded', 'Failed', 'Error');"
)
_THIRD = f"""
CREATE INDEX workflows_by_project_queue ON workflows (namespace, queue, created_at, number);

CREATE TABLE ages (
    scope TEXT COLLATE "C" NOT NULL,
    phase TEXT COLLATE "C" NOT NULL,
    span BIGINT NOT NULL,
    count BIGINT NOT NULL,
    PRIMARY KEY (scope, phase, span)
) WITH (fillfactor = 50);
INSERT INTO ages SELECT '', phase, floor(created_at / {SPAN}) AS s, count(*)
    FROM workflows GROUP BY phase, s;
INSERT INTO ages SELECT 'n' || namespace, phase, floor(created_at / {SPAN}) AS s, count(*)
    FROM workflows GROUP BY namespace, phase, s;
INSERT INTO ages SELECT 'q' || queue, phase, floor(created_at / {SPAN}) AS s, count(*)
    FROM workflows GROUP BY queue, phase, s;
CREATE FUNCTION age_new() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN {_ADD_AGE} RETURN NULL; END $$;
CREATE FUNCTION age_gone() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN {_TAKE_AGE} {_CLEAR_AGE} RETURN NULL; END $$;
CREATE FUNCTION age_changed() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN {_TAKE_AGE} {_ADD_AGE} RETURN NULL; END $$;
CREATE TRIGGER age_new AFTER INSERT ON workflows FOR EACH ROW EXECUTE FUNCTION age_new();
CREATE TRIGGER age_gone AFTER DELETE ON workflows FOR EACH ROW EXECUTE FUNCTION age_gone();
CREATE TRIGGER age_changed AFTER UPDATE OF namespace, queue, phase ON workflows FOR EACH ROW
    WHEN (old.phase <> new.phase OR old.queue <> new.queue OR old.namespace <> new.namespace)
    EXECUTE FUNCTION age_changed();
"""

_FOURTH = ""
"""The tables stay as they are, but programs before this step do not know nodes with many parents as
they are written since."""

_FIFTH = ""
"""The tables stay as they are, but programs before this step do not know a spec that is kept with
its manifest (`store.shared`)."""

STEPS: tuple[str, ...] = (_FIRST, _SECOND, _THIRD, _FOURTH, _FIFTH)

NAME_INDEX = """
CREATE EXTENSION IF NOT EXISTS pg_trgm;
CREATE INDEX workflows_by_part ON workflows USING gin (name gin_trgm_ops);
"""
"""Finds parts of names without reading a million of them. Made by any owner who may."""
