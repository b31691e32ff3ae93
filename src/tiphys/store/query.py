"""Every fixed SQL text of the store, by name.

All of it is accepted by SQLite and by PostgreSQL (with ``?`` spelt as its driver wants it). Values
are bound, never pasted; the texts that lists need are put together in `store.filter`.
"""

from __future__ import annotations

SUMMARY_COLUMNS = (
    "uid",
    "name",
    "namespace",
    "phase",
    "message",
    "created_at",
    "started_at",
    "finished_at",
    "priority",
    "queue",
    "progress",
    "labels",
    "annotations",
    "shutdown",
    "suspended",
    "starts",
    "source",
    "quarantine",
)
DOCUMENT_COLUMNS = ("manifest", "spec", "library", "outputs")
ROW_COLUMNS = (*SUMMARY_COLUMNS, *DOCUMENT_COLUMNS)

_SUMMARY = ", ".join(f"w.{column}" for column in SUMMARY_COLUMNS)
_DOCUMENTS = ", ".join(f"d.{column}" for column in DOCUMENT_COLUMNS)
_MARKS = ", ".join("?" * (len(SUMMARY_COLUMNS) + 1))

SELECT_SUMMARY = f"SELECT {_SUMMARY} FROM workflows w"
SELECT_ROW = (
    f"SELECT {_SUMMARY}, {_DOCUMENTS} FROM workflows w LEFT JOIN documents d"
    " ON d.workflow = w.number"
)
SELECT_LISTED = f"SELECT {_SUMMARY}, w.number FROM workflows w"
TALLY = "SELECT sum(t.count) FROM tallies t"
TALLY_BY_PHASE = "SELECT t.phase, sum(t.count) FROM tallies t"
AGES = "SELECT a.span, sum(a.count) FROM ages a"
COUNT_AGES = "SELECT sum(a.count) FROM ages a"
COUNT_BY_PHASE = "SELECT w.phase, count(*) FROM workflows w"

WORKFLOW_BY_UID = f"{SELECT_ROW} WHERE w.uid = ?"
WORKFLOWS_BY_NAME = f"{SELECT_ROW} WHERE w.name = ?"
WORKFLOW_BY_NUMBER = f"{SELECT_ROW} WHERE w.number = ?"
SUMMARY_BY_NUMBER = f"{SELECT_SUMMARY} WHERE w.number = ?"
NUMBER_OF = "SELECT number FROM workflows WHERE uid = ?"
NUMBER_OF_NAME = "SELECT number FROM workflows WHERE name = ? AND namespace = ?"
LATEST_NUMBER = "SELECT number FROM workflows ORDER BY created_at DESC, number DESC LIMIT 1"
LATEST_NUMBER_IN = (
    "SELECT number FROM workflows WHERE namespace = ? ORDER BY created_at DESC, number DESC LIMIT 1"
)
RECENT_NAMES_IN = (
    "SELECT name FROM workflows WHERE namespace = ? ORDER BY created_at DESC LIMIT 2000"
)
UNFINISHED_NUMBERS = "SELECT number FROM workflows WHERE phase IN ('', 'Pending', 'Running')"
UNFINISHED = f"{SELECT_ROW} WHERE w.phase IN ('', 'Pending', 'Running') ORDER BY w.number"
LAST_NUMBER = (
    "SELECT max(n) FROM (SELECT max(number) AS n FROM workflows"
    " UNION ALL SELECT max(workflow) AS n FROM garbage) AS highest"
)

EPOCH = "SELECT epoch FROM owner"
PLACE = "SELECT place FROM owner"
RAISE_EPOCH = "UPDATE owner SET epoch = max(epoch, ?) + 1, place = ?"

INSERT_WORKFLOW = f"INSERT INTO workflows (number, {', '.join(SUMMARY_COLUMNS)}) VALUES ({_MARKS})"
INSERT_DOCUMENTS = (
    "INSERT INTO documents (workflow, manifest, spec, library, outputs) VALUES (?, ?, ?, ?, ?)"
)
# In two, as most changes are of columns that no index holds: an update of one that an index does
# hold writes a page of each of these indexes, whether its value is another or not.
UPDATE_HEADER = (
    "UPDATE workflows SET message = ?, started_at = ?, progress = ?, shutdown = ?, suspended = ?,"
    " starts = ?, priority = coalesce(?, priority), quarantine = coalesce(?, quarantine),"
    " annotations = coalesce(?, annotations) WHERE number = ?"
)
UPDATE_INDEXED = (
    "UPDATE workflows SET phase = ?, finished_at = ?, queue = coalesce(?, queue) WHERE number = ?"
    " AND (phase <> ? OR coalesce(finished_at, -1) <> coalesce(?, -1)"
    " OR queue <> coalesce(?, queue))"
)
UPDATE_DOCUMENTS = (
    "UPDATE documents SET manifest = coalesce(?, manifest), spec = coalesce(?, spec),"
    " outputs = CASE WHEN length(?) = 0 THEN NULL ELSE coalesce(?, outputs) END"
    " WHERE workflow = ?"
)
LABELS_OF = "SELECT labels, created_at FROM workflows WHERE number = ?"
UPDATE_LABELS = "UPDATE workflows SET labels = ? WHERE number = ?"
INSERT_LABEL = "INSERT INTO labels (name, value, created_at, workflow) VALUES (?, ?, ?, ?)"
DELETE_LABEL = "DELETE FROM labels WHERE name = ? AND value = ? AND created_at = ? AND workflow = ?"
DELETE_ALL_LABELS = "DELETE FROM labels WHERE workflow = ?"
DELETE_WORKFLOW = "DELETE FROM workflows WHERE number = ?"
DELETE_DOCUMENTS = "DELETE FROM documents WHERE workflow = ?"

# The condition makes two nodes with one number visible: the count of changed rows falls short.
UPSERT_NODE = (
    "INSERT INTO nodes (number, id, phase, type, name, body) VALUES (?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (number) DO UPDATE SET phase = excluded.phase, type = excluded.type,"
    " name = excluded.name, body = excluded.body WHERE nodes.id = excluded.id"
)
NODE_IDS = "SELECT number, id FROM nodes WHERE number >= ? AND number < ?"
DELETE_NODE = "DELETE FROM nodes WHERE number = ?"
NODES_PAGE = (
    "SELECT number, id, phase, type, name, body FROM nodes WHERE number > ? AND number < ?"
    " ORDER BY number LIMIT ?"
)


NODE_BY_ID = (
    "SELECT number, id, phase, type, name, body FROM nodes"
    " WHERE number >= ? AND number < ? AND id = ?"
)
NODE_PHASES = "SELECT phase, count(*) FROM nodes WHERE number >= ? AND number < ? GROUP BY phase"

UPSERT_MEMO = (
    "INSERT INTO memos (namespace, cache, name, node_id, outputs, at) VALUES (?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (namespace, cache, name) DO UPDATE SET node_id = excluded.node_id,"
    " outputs = excluded.outputs, at = excluded.at"
)
MEMO = "SELECT node_id, outputs, at FROM memos WHERE namespace = ? AND cache = ? AND name = ?"

INSERT_EVENT = "INSERT INTO events (workflow, at, kind, node, text) VALUES (?, ?, ?, ?, ?)"
EVENTS = (
    "SELECT number, at, kind, node, text FROM events WHERE workflow = ? AND number > ?"
    " ORDER BY number LIMIT ?"
)
LATEST_EVENTS = (
    "SELECT number, at, kind, node, text FROM events WHERE workflow = ? AND number < ?"
    " ORDER BY number DESC LIMIT ?"
)

UPSERT_OBJECT = (
    "INSERT INTO objects (kind, namespace, name, body, at) VALUES (?, ?, ?, ?, ?)"
    " ON CONFLICT (kind, namespace, name) DO UPDATE SET body = excluded.body, at = excluded.at"
)
DELETE_OBJECT = "DELETE FROM objects WHERE kind = ? AND namespace = ? AND name = ?"
OBJECTS = "SELECT kind, namespace, name, body, at FROM objects ORDER BY kind, namespace, name"
OBJECTS_OF_KIND = (
    "SELECT kind, namespace, name, body, at FROM objects WHERE kind = ? ORDER BY namespace, name"
)

INSERT_GARBAGE = "INSERT INTO garbage (workflow) VALUES (?)"
FIRST_GARBAGE = "SELECT min(workflow) FROM garbage"
DELETE_GARBAGE = "DELETE FROM garbage WHERE workflow = ?"
SWEEP_NODES = (
    "DELETE FROM nodes WHERE number IN (SELECT number FROM nodes"
    " WHERE number >= ? AND number < ? ORDER BY number LIMIT ?)"
)
SWEEP_EVENTS = (
    "DELETE FROM events WHERE number IN (SELECT number FROM events"
    " WHERE workflow = ? ORDER BY number LIMIT ?)"
)
