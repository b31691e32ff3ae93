-- What version 4 of the tables held, for the test of upgrades: a store of version 3 after that step.
BEGIN TRANSACTION;
CREATE TABLE documents (
    workflow INTEGER PRIMARY KEY,
    manifest BLOB NOT NULL,
    spec BLOB NOT NULL,
    library BLOB NOT NULL,
    outputs BLOB
);
INSERT INTO documents VALUES(1,X'7b226b696e64223a22576f726b666c6f77227d',X'7b22656e747279706f696e74223a226d61696e227d',X'7b7d',X'7b22726573756c74223a2231227d');
INSERT INTO documents VALUES(2,X'7b226b696e64223a22576f726b666c6f77227d',X'7b22656e747279706f696e74223a226d61696e227d',X'7b7d',NULL);
INSERT INTO documents VALUES(3,X'7b226b696e64223a22576f726b666c6f77227d',X'7b22656e747279706f696e74223a226d61696e227d',X'7b7d',NULL);
INSERT INTO documents VALUES(5,X'7b226b696e64223a22576f726b666c6f77227d',X'7b22656e747279706f696e74223a226d61696e227d',X'7b7d',NULL);
CREATE TABLE events (
    number INTEGER PRIMARY KEY,
    workflow INTEGER NOT NULL,
    at REAL NOT NULL,
    kind TEXT NOT NULL,
    node TEXT NOT NULL,
    text TEXT NOT NULL
);
INSERT INTO events VALUES(1,1,1.0,'note','','first');
INSERT INTO events VALUES(2,0,2.0,'server.started','','');
CREATE TABLE garbage (
    workflow INTEGER PRIMARY KEY
);
CREATE TABLE labels (
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    created_at REAL NOT NULL,
    workflow INTEGER NOT NULL,
    PRIMARY KEY (name, value, created_at, workflow)
) WITHOUT ROWID;
INSERT INTO labels VALUES('n','0',100.0,1);
INSERT INTO labels VALUES('team','x',100.0,1);
INSERT INTO labels VALUES('n','1',101.0,2);
INSERT INTO labels VALUES('team','x',101.0,2);
INSERT INTO labels VALUES('n','2',102.0,3);
INSERT INTO labels VALUES('team','x',102.0,3);
INSERT INTO labels VALUES('n','4',104.0,5);
INSERT INTO labels VALUES('team','x',104.0,5);
CREATE TABLE memos (
    namespace TEXT NOT NULL,
    cache TEXT NOT NULL,
    name TEXT NOT NULL,
    node_id TEXT NOT NULL,
    outputs BLOB NOT NULL,
    at REAL NOT NULL,
    PRIMARY KEY (namespace, cache, name)
);
INSERT INTO memos VALUES('argo','c','k','n',X'7b7d',1.5);
CREATE TABLE nodes (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL,
    phase TEXT NOT NULL,
    type TEXT NOT NULL,
    name TEXT NOT NULL,
    body BLOB NOT NULL
);
INSERT INTO nodes VALUES(4294967296,'nightly-0-0','Succeeded','Pod','nightly-0.n0',X'7b2261223a225c7530306663227d');
INSERT INTO nodes VALUES(4294967297,'nightly-0-1','Succeeded','Pod','nightly-0.n1',X'7b2261223a225c7530306663227d');
INSERT INTO nodes VALUES(4294967298,'nightly-0-2','Succeeded','Pod','nightly-0.n2',X'7b2261223a225c7530306663227d');
INSERT INTO nodes VALUES(8589934592,'nightly-1-0','Succeeded','Pod','nightly-1.n0',X'7b2261223a225c7530306663227d');
INSERT INTO nodes VALUES(8589934593,'nightly-1-1','Succeeded','Pod','nightly-1.n1',X'7b2261223a225c7530306663227d');
INSERT INTO nodes VALUES(8589934594,'nightly-1-2','Succeeded','Pod','nightly-1.n2',X'7b2261223a225c7530306663227d');
CREATE TABLE objects (
    kind TEXT NOT NULL,
    namespace TEXT NOT NULL,
    name TEXT NOT NULL,
    body BLOB NOT NULL,
    at REAL NOT NULL,
    PRIMARY KEY (kind, namespace, name)
);
INSERT INTO objects VALUES('WorkflowTemplate','argo','t',X'7b7d',3.0);
CREATE TABLE owner (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    epoch INTEGER NOT NULL
, place TEXT NOT NULL DEFAULT '');
INSERT INTO owner VALUES(1,1,'');
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
INSERT INTO workflows VALUES(1,'uid-0','nightly-0','argo','Succeeded','',100.0,101.0,200.50000000000000001,0,'team-a','1/2','{"team":"x","n":"0"}','{"note":"ünï"}','',0,0,'cron/nightly','');
INSERT INTO workflows VALUES(2,'uid-1','nightly-1','prod','Running','',101.0,102.0,NULL,1,'team-a','1/2','{"team":"x","n":"1"}','{"note":"ünï"}','',1,1,'cron/nightly','');
INSERT INTO workflows VALUES(3,'uid-2','nightly-2','argo','Failed',replace('it''s "quoted"; über\n','\n',char(10)),102.0,103.0,202.5,2,'team-a','1/2','{"team":"x","n":"2"}','{"note":"ünï"}','',0,2,'cron/nightly','');
INSERT INTO workflows VALUES(5,'uid-4','nightly-4','argo','','',104.0,NULL,NULL,4,'','1/2','{"team":"x","n":"4"}','{"note":"ünï"}','',0,4,'cron/nightly','');
CREATE TABLE tallies (
    namespace TEXT NOT NULL,
    queue TEXT NOT NULL,
    phase TEXT NOT NULL,
    count INTEGER NOT NULL,
    PRIMARY KEY (namespace, queue, phase)
) WITHOUT ROWID;
INSERT INTO tallies VALUES('argo','','',1);
INSERT INTO tallies VALUES('argo','team-a','Failed',1);
INSERT INTO tallies VALUES('argo','team-a','Succeeded',1);
INSERT INTO tallies VALUES('prod','team-a','Running',1);
CREATE VIRTUAL TABLE names USING fts5(name, content='workflows', content_rowid='number',
    tokenize='trigram', detail='none', columnsize=0);
INSERT INTO names (names) VALUES ('rebuild');
CREATE UNIQUE INDEX workflows_by_name ON workflows (name, namespace);
CREATE INDEX workflows_by_creation ON workflows (created_at, number, name);
CREATE INDEX workflows_by_phase ON workflows (phase, created_at, number);
CREATE INDEX workflows_by_namespace ON workflows (namespace, created_at, number, name);
CREATE INDEX labels_by_workflow ON labels (workflow, name, value);
CREATE INDEX events_by_workflow ON events (workflow, number);
CREATE INDEX workflows_by_queue ON workflows (queue, created_at, number, name);
CREATE INDEX workflows_by_project_phase ON workflows (namespace, phase, created_at, number);
CREATE INDEX workflows_by_queue_phase ON workflows (queue, phase, created_at, number);
CREATE INDEX workflows_by_end ON workflows (phase, finished_at, number);
CREATE TRIGGER tally_new AFTER INSERT ON workflows BEGIN INSERT INTO tallies (namespace, queue, phase, count) VALUES (new.namespace, new.queue, new.phase, 1) ON CONFLICT (namespace, queue, phase) DO UPDATE SET count = count + 1; END;
CREATE TRIGGER tally_gone AFTER DELETE ON workflows BEGIN UPDATE tallies SET count = count - 1 WHERE namespace = old.namespace AND queue = old.queue AND phase = old.phase; END;
CREATE TRIGGER tally_changed AFTER UPDATE OF namespace, queue, phase ON workflows
    WHEN old.phase <> new.phase OR old.queue <> new.queue OR old.namespace <> new.namespace
    BEGIN UPDATE tallies SET count = count - 1 WHERE namespace = old.namespace AND queue = old.queue AND phase = old.phase; INSERT INTO tallies (namespace, queue, phase, count) VALUES (new.namespace, new.queue, new.phase, 1) ON CONFLICT (namespace, queue, phase) DO UPDATE SET count = count + 1; END;
CREATE TRIGGER names_new AFTER INSERT ON workflows BEGIN
    INSERT INTO names (rowid, name) VALUES (new.number, new.name); END;
CREATE TRIGGER names_gone AFTER DELETE ON workflows BEGIN
    INSERT INTO names (names, rowid, name) VALUES ('delete', old.number, old.name); END;
CREATE INDEX workflows_by_project_queue ON workflows (namespace, queue, created_at, number);

CREATE TABLE ages (
    scope TEXT NOT NULL,
    phase TEXT NOT NULL,
    span INTEGER NOT NULL,
    count INTEGER NOT NULL,
    PRIMARY KEY (scope, phase, span)
) WITHOUT ROWID;
INSERT INTO ages SELECT '', phase, CAST(created_at / 4096 AS INTEGER) AS s, count(*)
    FROM workflows GROUP BY phase, s;
INSERT INTO ages SELECT 'n' || namespace, phase, CAST(created_at / 4096 AS INTEGER) AS s, count(*)
    FROM workflows GROUP BY namespace, phase, s;
INSERT INTO ages SELECT 'q' || queue, phase, CAST(created_at / 4096 AS INTEGER) AS s, count(*)
    FROM workflows GROUP BY queue, phase, s;
CREATE TRIGGER age_new AFTER INSERT ON workflows BEGIN INSERT INTO ages (scope, phase, span, count) VALUES ('', new.phase, CAST(new.created_at / 4096 AS INTEGER), 1), ('n' || new.namespace, new.phase, CAST(new.created_at / 4096 AS INTEGER), 1), ('q' || new.queue, new.phase, CAST(new.created_at / 4096 AS INTEGER), 1) ON CONFLICT (scope, phase, span) DO UPDATE SET count = count + 1; END;
CREATE TRIGGER age_gone AFTER DELETE ON workflows BEGIN UPDATE ages SET count = count - 1 WHERE scope IN ('', 'n' || old.namespace, 'q' || old.queue) AND span = CAST(old.created_at / 4096 AS INTEGER) AND phase = old.phase; DELETE FROM ages WHERE scope IN ('', 'n' || old.namespace, 'q' || old.queue) AND span = CAST(old.created_at / 4096 AS INTEGER) AND count = 0 AND phase IN ('', 'Pending', 'Running', 'Succeeded', 'Failed', 'Error'); END;
CREATE TRIGGER age_changed AFTER UPDATE OF namespace, queue, phase ON workflows
    WHEN old.phase <> new.phase OR old.queue <> new.queue OR old.namespace <> new.namespace
    BEGIN UPDATE ages SET count = count - 1 WHERE scope IN ('', 'n' || old.namespace, 'q' || old.queue) AND span = CAST(old.created_at / 4096 AS INTEGER) AND phase = old.phase; INSERT INTO ages (scope, phase, span, count) VALUES ('', new.phase, CAST(new.created_at / 4096 AS INTEGER), 1), ('n' || new.namespace, new.phase, CAST(new.created_at / 4096 AS INTEGER), 1), ('q' || new.queue, new.phase, CAST(new.created_at / 4096 AS INTEGER), 1) ON CONFLICT (scope, phase, span) DO UPDATE SET count = count + 1; END;
COMMIT;
PRAGMA user_version = 4;
