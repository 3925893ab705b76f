-- The tables. A shard's number is its queue's number << 16 | its index. Times are us UTC. The number of an entry, `seq`, is
-- the id of the transaction that wrote it (plus ordo_meta.xid_base) << 20 | its place among that transaction's entries.

-- One row. `schema`: the version of all that these files make. `system`: the cluster whose transaction ids are in `seq`.
-- `xid_base`: added to the cluster's own ids, so that numbers go on rising when a dump is restored into another cluster.
-- `definitions`: counts changes.
CREATE TABLE ordo_meta(
  one boolean PRIMARY KEY DEFAULT true CHECK (one), schema int NOT NULL, system bigint NOT NULL,
  xid_base bigint NOT NULL DEFAULT 0, definitions bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 20, autovacuum_vacuum_threshold = 200, autovacuum_vacuum_scale_factor = 0);

-- Which history the server had when a node last looked, and when it was seen to have gone back (Store::setback_age).
CREATE TABLE ordo_history(
  one boolean PRIMARY KEY DEFAULT true CHECK (one), system bigint NOT NULL, timeline bigint NOT NULL,
  set_back_at timestamptz
);

CREATE TABLE ordo_queue(
  number bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY, name text COLLATE "C" NOT NULL UNIQUE, shards int NOT NULL,
  paused boolean NOT NULL DEFAULT false, closed boolean NOT NULL DEFAULT false);
-- Removed queues. A transaction that pushed to one meanwhile may still commit; its entries are removed later.
CREATE TABLE ordo_removed(queue bigint PRIMARY KEY, at timestamptz NOT NULL DEFAULT clock_timestamp());

-- Leases. `clean`: the last owner released it.
CREATE TABLE ordo_shard(
  id bigint PRIMARY KEY, owner text NOT NULL DEFAULT '', token bigint NOT NULL DEFAULT 0,
  holder bigint NOT NULL DEFAULT 0, clean boolean NOT NULL DEFAULT true
) WITH (fillfactor = 25, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_scale_factor = 0,
        autovacuum_vacuum_cost_delay = 0);

-- While any transaction holds an old snapshot, no version of a row can be removed, and every lookup of the row walks all
-- versions. So a row that changes often is never updated: a new row is inserted under a higher key, the one behind it is
-- deleted by its exact key, and the highest is found from above. Here: a shard's last commit; no row before its first one.
-- `dead`: its dead rows now. `seen`: an owner has read up to here; `unseen`: except what these transactions below may
-- bring, which it saw in progress. `low`: below it there is no entry, and only those of `unseen` will come.
CREATE TABLE ordo_head(
  shard bigint NOT NULL, batch bigint NOT NULL, position bigint NOT NULL, counts bytea NOT NULL, dead bigint NOT NULL,
  dead_trimmed bigint NOT NULL, seen bigint NOT NULL, unseen bigint[] NOT NULL, low bigint NOT NULL,
  PRIMARY KEY (shard, batch)
) WITH (autovacuum_vacuum_threshold = 500, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_cost_delay = 0);

CREATE VIEW ordo_newest_head AS
  SELECT s.id AS shard, coalesce(h.batch, 0) AS batch, coalesce(h.position, 0) AS position,
         coalesce(h.counts, '') AS counts, coalesce(h.dead, 0) AS dead, coalesce(h.dead_trimmed, 0) AS dead_trimmed,
         coalesce(h.seen, 0) AS seen, coalesce(h.unseen, '{}') AS unseen, coalesce(h.low, 0) AS low
    FROM ordo_shard s
    LEFT JOIN LATERAL (SELECT * FROM ordo_head o WHERE o.shard = s.id ORDER BY o.batch DESC LIMIT 1) h ON true;

-- Every entry is inserted once and deleted once: dead rows and dead index tuples come as fast as jobs do.
CREATE TABLE ordo_entry(
  shard bigint NOT NULL, seq bigint NOT NULL, at bigint NOT NULL, body bytea NOT NULL, PRIMARY KEY (shard, seq)
) WITH (autovacuum_vacuum_threshold = 10000, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_delay = 0,
        autovacuum_analyze_scale_factor = 0.5, toast.autovacuum_vacuum_scale_factor = 0.01,
        toast.autovacuum_vacuum_cost_delay = 0);
ALTER TABLE ordo_entry ALTER body SET STORAGE EXTERNAL;

-- States of jobs that are no longer, or not alone, in their entries.
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

-- Blocks of records of ended jobs.
CREATE TABLE ordo_kept(
  shard bigint NOT NULL, no bigint NOT NULL, head bytea NOT NULL, body bytea NOT NULL, PRIMARY KEY (shard, no)
) WITH (autovacuum_vacuum_threshold = 500, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_cost_delay = 0);

CREATE TABLE ordo_node(id text COLLATE "C" PRIMARY KEY, request int NOT NULL DEFAULT 0)
WITH (fillfactor = 50, autovacuum_vacuum_threshold = 200, autovacuum_vacuum_scale_factor = 0);

-- A node's renewal counter and its facts: the highest row counts (see ordo_head).
CREATE TABLE ordo_pulse(
  node text COLLATE "C" NOT NULL, renewals bigint NOT NULL, facts bytea NOT NULL, PRIMARY KEY (node, renewals)
) WITH (autovacuum_vacuum_threshold = 200, autovacuum_vacuum_scale_factor = 0);

CREATE VIEW ordo_living_node AS
  SELECT n.id, p.renewals, p.facts, n.request FROM ordo_node n
   CROSS JOIN LATERAL (SELECT * FROM ordo_pulse o WHERE o.node = n.id ORDER BY o.renewals DESC LIMIT 1) p;

-- Counts calls of wake(): the highest row counts (see ordo_head).
CREATE TABLE ordo_wakes(no bigint PRIMARY KEY)
WITH (autovacuum_vacuum_threshold = 200, autovacuum_vacuum_scale_factor = 0);
INSERT INTO ordo_wakes VALUES (0);

-- Readers that sleep until they are notified, and up to when each flag counts (us). The time comes first in the key, so a
-- writer looks only from now on: at flags of the time for which one counts, and at no older version. Unlogged: a crash may
-- forget them.
CREATE UNLOGGED TABLE ordo_sleeper(
  until bigint NOT NULL, id bigint NOT NULL, store bigint NOT NULL, PRIMARY KEY (until, id)
) WITH (autovacuum_vacuum_threshold = 200, autovacuum_vacuum_scale_factor = 0);

-- Rows of waits and unique keys, by their queue's name. From `until` (us UTC) on a row counts as gone.
CREATE TABLE ordo_wait(queue text NOT NULL, key bytea NOT NULL, listed boolean NOT NULL, until bigint NOT NULL,
                       body bytea NOT NULL, PRIMARY KEY(queue, key));
CREATE INDEX ordo_wait_listed ON ordo_wait(queue, key) WHERE listed;
CREATE INDEX ordo_wait_until ON ordo_wait(until) WHERE until < 9223372036854775807;

-- Responses that users' transactions have left; a node gives them to their jobs.
CREATE TABLE ordo_response(
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, queue text NOT NULL, key bytea NOT NULL,
  message_id bytea NOT NULL, body bytea NOT NULL
) WITH (autovacuum_vacuum_threshold = 500, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_cost_delay = 0);
-- Queues' names are compared by this collation.
CREATE INDEX ordo_response_by_queue ON ordo_response(queue COLLATE "C", id);
