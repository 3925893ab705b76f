// Shards are named by queue number << 16 | index. Times are us UTC. Numbers of an entry, `seq`: the id of the
// transaction that wrote it (plus ordo_meta.xid_base) << 20 | its place among that transaction's.
#include "store/postgres/migrations.h"

namespace ordo::store::postgres {

const char* const kTables1 = R"sql(
-- One row. `system`: of which cluster the transaction ids in `seq` are. `xid_base`: added to the cluster's own, so that
-- numbers go on rising when a dump is restored into another cluster. `definitions`, `wakes`: count changes.
CREATE TABLE ordo_meta(
  one boolean PRIMARY KEY DEFAULT true CHECK (one), version int NOT NULL DEFAULT 0, system bigint NOT NULL,
  xid_base bigint NOT NULL DEFAULT 0, definitions bigint NOT NULL DEFAULT 0, wakes bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 20, autovacuum_vacuum_threshold = 200, autovacuum_vacuum_scale_factor = 0);
INSERT INTO ordo_meta(system) SELECT system_identifier FROM pg_control_system();

-- Every entry is inserted once and deleted once: dead rows and dead index tuples come as fast as jobs do.
CREATE TABLE ordo_entry(
  shard bigint NOT NULL, seq bigint NOT NULL, at bigint NOT NULL, body bytea NOT NULL, PRIMARY KEY (shard, seq)
) WITH (autovacuum_vacuum_threshold = 10000, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_delay = 0,
        autovacuum_analyze_scale_factor = 0.5, toast.autovacuum_vacuum_scale_factor = 0.01,
        toast.autovacuum_vacuum_cost_delay = 0);
ALTER TABLE ordo_entry ALTER body SET STORAGE EXTERNAL;

CREATE TABLE ordo_state(
  shard bigint NOT NULL, seq bigint NOT NULL, body bytea NOT NULL, PRIMARY KEY (shard, seq)
) WITH (fillfactor = 80, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_scale_factor = 0.02,
        autovacuum_vacuum_cost_delay = 0);

CREATE SEQUENCE ordo_dead_no;
CREATE TABLE ordo_dead(
  queue bigint NOT NULL, no bigint NOT NULL, shard bigint NOT NULL, at bigint NOT NULL, body bytea NOT NULL,
  PRIMARY KEY (queue, no)
) WITH (autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX ordo_dead_oldest ON ordo_dead(shard, at, no);

CREATE TABLE ordo_queue(
  number bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY, name text COLLATE "C" NOT NULL UNIQUE, shards int NOT NULL,
  paused boolean NOT NULL DEFAULT false);
-- Queues that are gone. A transaction that pushed to one meanwhile may still commit; what it left is removed later.
CREATE TABLE ordo_removed(queue bigint PRIMARY KEY, at timestamptz NOT NULL DEFAULT clock_timestamp());

-- Updated by every commit, so no column that changes may stand in an index: its pages are then pruned without a vacuum.
-- `clean`: the last owner released it. `dead`: its dead rows now. `seen`: an owner has read up to here; `unseen`: but
-- not what these transactions below may bring, which it saw in progress.
CREATE TABLE ordo_shard(
  id bigint PRIMARY KEY, owner text NOT NULL DEFAULT '', token bigint NOT NULL DEFAULT 0,
  holder bigint NOT NULL DEFAULT 0, batch bigint NOT NULL DEFAULT 0, position bigint NOT NULL DEFAULT 0,
  counts bytea NOT NULL DEFAULT '', clean boolean NOT NULL DEFAULT true, dead bigint NOT NULL DEFAULT 0,
  dead_trimmed bigint NOT NULL DEFAULT 0, seen bigint NOT NULL DEFAULT 0, unseen bigint[] NOT NULL DEFAULT '{}'
) WITH (fillfactor = 25, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_scale_factor = 0,
        autovacuum_vacuum_cost_delay = 0);

CREATE TABLE ordo_node(
  id text COLLATE "C" PRIMARY KEY, renewals bigint NOT NULL, facts bytea NOT NULL, request int NOT NULL DEFAULT 0
) WITH (fillfactor = 50, autovacuum_vacuum_threshold = 200, autovacuum_vacuum_scale_factor = 0);

-- Who sleeps until it is notified. Nobody needs to remember it over a crash.
CREATE UNLOGGED TABLE ordo_sleeper(
  id bigint PRIMARY KEY, store bigint NOT NULL, until timestamptz NOT NULL
) WITH (fillfactor = 25, autovacuum_vacuum_threshold = 200, autovacuum_vacuum_scale_factor = 0);
)sql";

}  // namespace ordo::store::postgres
