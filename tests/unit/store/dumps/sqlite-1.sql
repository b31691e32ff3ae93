-- What version 1 of the tables held, for the test of upgrades. Written by that version.
BEGIN TRANSACTION;
CREATE TABLE documents (
    workflow INTEGER PRIMARY KEY,
    manifest BLOB NOT NULL,
    spec BLOB NOT NULL,
    library BLOB NOT NULL,
    outputs BLOB
);
INSERT INTO "documents" VALUES(1,X'7B226B696E64223A22576F726B666C6F77227D',X'7B22656E747279706F696E74223A226D61696E227D',X'7B7D',X'7B22726573756C74223A2231227D');
INSERT INTO "documents" VALUES(2,X'7B226B696E64223A22576F726B666C6F77227D',X'7B22656E747279706F696E74223A226D61696E227D',X'7B7D',NULL);
INSERT INTO "documents" VALUES(3,X'7B226B696E64223A22576F726B666C6F77227D',X'7B22656E747279706F696E74223A226D61696E227D',X'7B7D',NULL);
INSERT INTO "documents" VALUES(5,X'7B226B696E64223A22576F726B666C6F77227D',X'7B22656E747279706F696E74223A226D61696E227D',X'7B7D',NULL);
CREATE TABLE events (
    number INTEGER PRIMARY KEY,
    workflow INTEGER NOT NULL,
    at REAL NOT NULL,
    kind TEXT NOT NULL,
    node TEXT NOT NULL,
    text TEXT NOT NULL
);
INSERT INTO "events" VALUES(1,1,1.0,'note','','first');
INSERT INTO "events" VALUES(2,0,2.0,'server.started','','');
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
INSERT INTO "labels" VALUES('n','0',100.0,1);
INSERT INTO "labels" VALUES('team','x',100.0,1);
INSERT INTO "labels" VALUES('n','1',101.0,2);
INSERT INTO "labels" VALUES('team','x',101.0,2);
INSERT INTO "labels" VALUES('n','2',102.0,3);
INSERT INTO "labels" VALUES('team','x',102.0,3);
INSERT INTO "labels" VALUES('n','4',104.0,5);
INSERT INTO "labels" VALUES('team','x',104.0,5);
CREATE TABLE memos (
    namespace TEXT NOT NULL,
    cache TEXT NOT NULL,
    name TEXT NOT NULL,
    node_id TEXT NOT NULL,
    outputs BLOB NOT NULL,
    at REAL NOT NULL,
    PRIMARY KEY (namespace, cache, name)
);
INSERT INTO "memos" VALUES('argo','c','k','n',X'7B7D',1.5);
CREATE TABLE nodes (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL,
    phase TEXT NOT NULL,
    type TEXT NOT NULL,
    name TEXT NOT NULL,
    body BLOB NOT NULL
);
INSERT INTO "nodes" VALUES(4294967296,'nightly-0-0','Succeeded','Pod','nightly-0.n0',X'7B2261223A225C7530306663227D');
INSERT INTO "nodes" VALUES(4294967297,'nightly-0-1','Succeeded','Pod','nightly-0.n1',X'7B2261223A225C7530306663227D');
INSERT INTO "nodes" VALUES(4294967298,'nightly-0-2','Succeeded','Pod','nightly-0.n2',X'7B2261223A225C7530306663227D');
INSERT INTO "nodes" VALUES(8589934592,'nightly-1-0','Succeeded','Pod','nightly-1.n0',X'7B2261223A225C7530306663227D');
INSERT INTO "nodes" VALUES(8589934593,'nightly-1-1','Succeeded','Pod','nightly-1.n1',X'7B2261223A225C7530306663227D');
INSERT INTO "nodes" VALUES(8589934594,'nightly-1-2','Succeeded','Pod','nightly-1.n2',X'7B2261223A225C7530306663227D');
CREATE TABLE objects (
    kind TEXT NOT NULL,
    namespace TEXT NOT NULL,
    name TEXT NOT NULL,
    body BLOB NOT NULL,
    at REAL NOT NULL,
    PRIMARY KEY (kind, namespace, name)
);
INSERT INTO "objects" VALUES('WorkflowTemplate','argo','t',X'7B7D',3.0);
CREATE TABLE owner (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    epoch INTEGER NOT NULL
);
INSERT INTO "owner" VALUES(1,1);
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
INSERT INTO "workflows" VALUES(1,'uid-0','nightly-0','argo','Succeeded','',100.0,101.0,200.5,0,'team-a','1/2','{"team":"x","n":"0"}','{"note":"ünï"}','',0,0,'cron/nightly','');
INSERT INTO "workflows" VALUES(2,'uid-1','nightly-1','prod','Running','',101.0,102.0,NULL,1,'team-a','1/2','{"team":"x","n":"1"}','{"note":"ünï"}','',1,1,'cron/nightly','');
INSERT INTO "workflows" VALUES(3,'uid-2','nightly-2','argo','Failed','it''s "quoted"; über
',102.0,103.0,202.5,2,'team-a','1/2','{"team":"x","n":"2"}','{"note":"ünï"}','',0,2,'cron/nightly','');
INSERT INTO "workflows" VALUES(5,'uid-4','nightly-4','argo','','',104.0,NULL,NULL,4,'','1/2','{"team":"x","n":"4"}','{"note":"ünï"}','',0,4,'cron/nightly','');
CREATE UNIQUE INDEX workflows_by_name ON workflows (name, namespace);
CREATE INDEX workflows_by_creation ON workflows (created_at, number, name);
CREATE INDEX workflows_by_phase ON workflows (phase, created_at, number);
CREATE INDEX workflows_by_namespace ON workflows (namespace, created_at, number, name);
CREATE INDEX workflows_by_end ON workflows (finished_at);
CREATE INDEX labels_by_workflow ON labels (workflow, name, value);
CREATE INDEX events_by_workflow ON events (workflow, number);
COMMIT;
PRAGMA user_version = 1;
