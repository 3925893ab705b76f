-- The tables of a store in a file. `shard` is the queue's number << 16 | the shard's index. Times are us UTC.

-- One row. `head`, `at`: of the last append; kept here because a number must not come back when the log is empty.
CREATE TABLE counter(id INTEGER PRIMARY KEY, head INTEGER NOT NULL, at INTEGER NOT NULL,
                     queue INTEGER NOT NULL, version INTEGER NOT NULL) STRICT;
INSERT INTO counter VALUES(0, 0, -9223372036854775807, 0, 0);

CREATE TABLE queue(number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, shards INTEGER NOT NULL,
                   paused INTEGER NOT NULL, closed INTEGER NOT NULL DEFAULT 0) STRICT;

-- `clean`: the last owner released it. `crashed`: freed after its owner was known dead. `dead`: its dead rows now.
CREATE TABLE shard(id INTEGER PRIMARY KEY, owner TEXT NOT NULL DEFAULT '', token INTEGER NOT NULL DEFAULT 0,
                   holder INTEGER NOT NULL DEFAULT 0, batch INTEGER NOT NULL DEFAULT 0,
                   position INTEGER NOT NULL DEFAULT 0, counts BLOB NOT NULL DEFAULT x'',
                   clean INTEGER NOT NULL DEFAULT 1, crashed INTEGER NOT NULL DEFAULT 0,
                   dead INTEGER NOT NULL DEFAULT 0, dead_trimmed INTEGER NOT NULL DEFAULT 0) STRICT;

-- `more`: entries of the same append that follow.
CREATE TABLE entry(seq INTEGER PRIMARY KEY, shard INTEGER NOT NULL, at INTEGER NOT NULL, more INTEGER NOT NULL,
                   body BLOB NOT NULL) STRICT;

-- States of jobs that are no longer, or not alone, in their entries.
CREATE TABLE state(seq INTEGER PRIMARY KEY, shard INTEGER NOT NULL, body BLOB NOT NULL) STRICT;

CREATE TABLE dead(no INTEGER PRIMARY KEY AUTOINCREMENT, queue INTEGER NOT NULL, shard INTEGER NOT NULL,
                  at INTEGER NOT NULL, body BLOB NOT NULL) STRICT;
CREATE INDEX dead_queue ON dead(queue);
CREATE INDEX dead_oldest ON dead(shard, at);

-- Records of ended jobs, many in one row. `head`: what searches look at in each of them.
CREATE TABLE kept(shard INTEGER NOT NULL, no INTEGER NOT NULL, head BLOB NOT NULL, body BLOB NOT NULL,
                  PRIMARY KEY(shard, no)) STRICT, WITHOUT ROWID;

CREATE TABLE node(id TEXT PRIMARY KEY, renewals INTEGER NOT NULL, facts BLOB NOT NULL,
                  request INTEGER NOT NULL DEFAULT 0) STRICT, WITHOUT ROWID;

-- Rows of waits and unique keys, by their queue's name. From `until` on a row counts as gone.
CREATE TABLE wait(queue TEXT NOT NULL, key BLOB NOT NULL, listed INTEGER NOT NULL, until INTEGER NOT NULL,
                  body BLOB NOT NULL, PRIMARY KEY(queue, key)) STRICT;
CREATE INDEX wait_listed ON wait(queue, key) WHERE listed;
CREATE INDEX wait_until ON wait(until) WHERE until < 9223372036854775807;
