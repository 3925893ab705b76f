// Queues that are resharded: closed to whoever pushes, then replaced by another one.
#include "store/postgres/migrations.h"

namespace ordo::store::postgres {

const char* const kReshard2 = R"sql(
ALTER TABLE ordo_queue ADD COLUMN closed boolean NOT NULL DEFAULT false;

-- Before an entry is written: throws if the queue takes none. It takes the lock that the insertion needs first, so that
-- whoever found the queue open is seen by ordo_writers() until it has ended. A transaction with an old snapshot, which
-- would not see that the queue was closed, fails here if it was, or keeps it open.
CREATE FUNCTION ordo_check_open(p_queue bigint) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
BEGIN
  LOCK TABLE ordo_entry IN ROW EXCLUSIVE MODE;
  IF current_setting('transaction_isolation') NOT LIKE 'read %' THEN
    PERFORM FROM ordo_queue WHERE number = p_queue FOR SHARE;
  END IF;
  IF NOT EXISTS (SELECT FROM ordo_queue WHERE number = p_queue AND NOT closed) THEN
    RAISE EXCEPTION 'ordo: the queue is closed' USING ERRCODE = 'object_not_in_prerequisite_state';
  END IF;
END $$;

-- Appends all, or nothing and returns the shards that do not exist or are closed. `p_places`: of each entry among those
-- of its shard.
CREATE OR REPLACE FUNCTION ordo_append(p_store bigint, p_now bigint, p_known bigint[], p_shards bigint[],
                                       p_places bigint[], p_bodies bytea[])
RETURNS bigint[] LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
  v_unknown bigint[];
  v_first bigint;
  v_at bigint;
BEGIN
  LOCK TABLE ordo_entry IN ROW EXCLUSIVE MODE;
  SELECT array_agg(k.shard) INTO v_unknown FROM unnest(p_known) AS k(shard)
   WHERE NOT EXISTS (SELECT FROM ordo_shard s WHERE s.id = k.shard)
      OR EXISTS (SELECT FROM ordo_queue q WHERE q.number = k.shard >> 16 AND q.closed);
  IF v_unknown IS NOT NULL THEN
    RETURN v_unknown;
  END IF;
  PERFORM ordo_be_durable();
  v_first := ordo_transaction_seq();
  v_at := ordo_now(p_now);
  INSERT INTO ordo_entry(shard, seq, at, body)
    SELECT e.shard, v_first + e.place, v_at, e.body FROM unnest(p_shards, p_places, p_bodies) AS e(shard, place, body);
  PERFORM ordo_tell(p_store);
  RETURN '{}';
END $$;

-- Nothing: the queue is closed, and the dead must stay as they are.
CREATE OR REPLACE FUNCTION ordo_take_dead(p_queue bigint, p_nos bigint[]) RETURNS bigint[] LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
  v_places bigint[];
BEGIN
  PERFORM ordo_be_durable();
  LOCK TABLE ordo_entry IN ROW EXCLUSIVE MODE;
  IF EXISTS (SELECT FROM ordo_queue WHERE number = p_queue AND closed) THEN
    RETURN NULL;
  END IF;
  PERFORM FROM ordo_shard WHERE id IN (SELECT d.shard FROM ordo_dead d WHERE d.queue = p_queue AND d.no = ANY(p_nos))
    ORDER BY id FOR UPDATE;
  WITH taken AS (DELETE FROM ordo_dead d WHERE d.queue = p_queue AND d.no = ANY(p_nos) RETURNING d.no, d.shard),
       counted AS (UPDATE ordo_shard s SET dead = s.dead - t.less
                     FROM (SELECT shard, count(*) AS less FROM taken GROUP BY shard) t WHERE s.id = t.shard)
  SELECT coalesce(array_agg(p.place ORDER BY p.place), '{}') INTO v_places
    FROM (SELECT n.no, min(n.place) AS place FROM unnest(p_nos) WITH ORDINALITY AS n(no, place) GROUP BY n.no) p
    JOIN taken t ON t.no = p.no;
  RETURN v_places;
END $$;

-- Returns how many were revived; nothing happens when an entry's shard does not exist or is closed: minus its place.
CREATE OR REPLACE FUNCTION ordo_revive(p_store bigint, p_now bigint, p_queue bigint, p_nos bigint[], p_shards bigint[],
                                       p_bodies bytea[])
RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
  v_unknown bigint;
  v_places bigint[];
  v_first bigint;
BEGIN
  LOCK TABLE ordo_entry IN ROW EXCLUSIVE MODE;
  SELECT min(e.place) INTO v_unknown FROM unnest(p_shards) WITH ORDINALITY AS e(shard, place)
   WHERE NOT EXISTS (SELECT FROM ordo_shard s WHERE s.id = e.shard)
      OR EXISTS (SELECT FROM ordo_queue q WHERE q.number IN (e.shard >> 16, p_queue) AND q.closed);
  IF v_unknown IS NOT NULL THEN
    RETURN -v_unknown;
  END IF;
  v_places := ordo_take_dead(p_queue, p_nos);
  IF cardinality(v_places) = 0 THEN
    RETURN 0;
  END IF;
  v_first := ordo_transaction_seq();
  INSERT INTO ordo_entry(shard, seq, at, body)
    SELECT p_shards[r.place], v_first + r.n, ordo_now(p_now), p_bodies[r.place]
      FROM unnest(v_places) WITH ORDINALITY AS r(place, n);
  PERFORM ordo_wake();
  RETURN cardinality(v_places);
END $$;

-- Puts one encoded entry into the caller's transaction; `p_crc` is that of its key. A transaction counts its entries in a
-- setting of its own, which goes back with a savepoint, as the entries do. A closed queue is
-- waited for, unless that would not help: the resharding waits for who has pushed before, and an old snapshot never sees
-- its end.
CREATE OR REPLACE FUNCTION ordo_put(p_queue text, p_crc bigint, p_body bytea) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
  v_queue ordo_queue;
  v_first bigint := ordo_transaction_seq();
  v_count text[] := string_to_array(current_setting('ordo.count', true), ':');
  v_place bigint := 0;
  v_patience timestamptz := clock_timestamp() + interval '30 s';
BEGIN
  LOOP
    SELECT * INTO v_queue FROM ordo_queue WHERE name = p_queue;
    IF NOT FOUND THEN
      RAISE EXCEPTION 'ordo_push: there is no queue "%"', p_queue
        USING ERRCODE = 'invalid_parameter_value',
              HINT = 'Start a node that serves it, or create it: SELECT ordo_define(name, shards).';
    END IF;
    IF v_queue.closed THEN
      IF clock_timestamp() >= v_patience OR v_count[1] = v_first::text
         OR current_setting('transaction_isolation') NOT LIKE 'read %' THEN
        RAISE EXCEPTION 'ordo_push: queue "%" is being resharded; nothing was stored', p_queue
          USING ERRCODE = 'object_not_in_prerequisite_state',
                HINT = 'Roll back and try again. If `ordo reshard` was stopped, run it again.';
      END IF;
      PERFORM pg_sleep(0.02);
    ELSE
      BEGIN  -- gives the lock back if the queue was closed just now
        PERFORM ordo_check_open(v_queue.number);
        EXIT;
      EXCEPTION WHEN object_not_in_prerequisite_state THEN
        NULL;
      END;
    END IF;
  END LOOP;
  IF v_count[1] = v_first::text THEN
    v_place := v_count[2]::bigint;
  END IF;
  IF v_place >= 1 << 20 THEN
    RAISE EXCEPTION 'ordo_push: one transaction can push % jobs', 1 << 20 USING ERRCODE = 'program_limit_exceeded';
  END IF;
  PERFORM set_config('ordo.count', v_first || ':' || v_place + 1, true);
  INSERT INTO ordo_entry(shard, seq, at, body)
    VALUES ((v_queue.number << 16) + p_crc % v_queue.shards, v_first + v_place, ordo_now(NULL), p_body);
  PERFORM ordo_tell(0);
END $$;

CREATE FUNCTION ordo_close(p_name text) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
BEGIN
  UPDATE ordo_queue SET closed = true WHERE name = p_name;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  PERFORM ordo_definitions_changed();
  RETURN true;
END $$;

-- The other transactions that write entries now.
CREATE FUNCTION ordo_writers() RETURNS text[] LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
BEGIN
  RETURN (SELECT coalesce(array_agg(DISTINCT virtualtransaction), '{}') FROM pg_locks
           WHERE locktype = 'relation' AND relation = 'ordo_entry'::regclass AND mode = 'RowExclusiveLock' AND granted
             AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
             AND pid IS DISTINCT FROM pg_backend_pid());
END $$;

CREATE FUNCTION ordo_replace(p_name text, p_by bigint) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
  v_queue ordo_queue;
BEGIN
  PERFORM FROM ordo_queue WHERE name = p_name OR number = p_by ORDER BY number FOR UPDATE;
  SELECT * INTO v_queue FROM ordo_queue WHERE name = p_name;
  IF NOT FOUND OR NOT v_queue.closed OR v_queue.number = p_by
     OR NOT EXISTS (SELECT FROM ordo_queue WHERE number = p_by) THEN
    RETURN false;
  END IF;
  PERFORM ordo_remove(p_name);
  UPDATE ordo_queue SET name = p_name, paused = v_queue.paused WHERE number = p_by;
  RETURN true;
END $$;
)sql";

}  // namespace ordo::store::postgres
