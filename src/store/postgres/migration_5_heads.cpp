// Heads of shards: what every commit writes, in rows that are found without their versions.
#include "store/postgres/migrations.h"

namespace ordo::store::postgres {

const char* const kHeads5 = R"sql(
-- While any transaction holds an old snapshot, no version of a row can be removed, and who looks for the row walks them
-- all. So what changes often is never updated: a new row is inserted under a higher key and the one behind deleted by its
-- exact key, and the highest is found from above. Here: a shard's last commit. None: it was never committed to.
-- `dead`: its dead rows now. `seen`: an owner has read up to here; `unseen`: but not what these transactions below may
-- bring, which it saw in progress. `low`: below it there is no entry, and none will come but of `unseen`.
CREATE TABLE ordo_head(
  shard bigint NOT NULL, batch bigint NOT NULL, position bigint NOT NULL, counts bytea NOT NULL, dead bigint NOT NULL,
  dead_trimmed bigint NOT NULL, seen bigint NOT NULL, unseen bigint[] NOT NULL, low bigint NOT NULL,
  PRIMARY KEY (shard, batch)
) WITH (autovacuum_vacuum_threshold = 500, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_cost_delay = 0);
INSERT INTO ordo_head SELECT id, batch, position, counts, dead, dead_trimmed, seen, unseen, 0 FROM ordo_shard;
ALTER TABLE ordo_shard DROP COLUMN batch, DROP COLUMN position, DROP COLUMN counts, DROP COLUMN dead,
                       DROP COLUMN dead_trimmed, DROP COLUMN seen, DROP COLUMN unseen;

CREATE VIEW ordo_newest_head AS
  SELECT s.id AS shard, coalesce(h.batch, 0) AS batch, coalesce(h.position, 0) AS position,
         coalesce(h.counts, '') AS counts, coalesce(h.dead, 0) AS dead, coalesce(h.dead_trimmed, 0) AS dead_trimmed,
         coalesce(h.seen, 0) AS seen, coalesce(h.unseen, '{}') AS unseen, coalesce(h.low, 0) AS low
    FROM ordo_shard s
    LEFT JOIN LATERAL (SELECT * FROM ordo_head o WHERE o.shard = s.id ORDER BY o.batch DESC LIMIT 1) h ON true;

DROP FUNCTION ordo_load, ordo_read, ordo_unseen;

-- Deltas of different shards, in the shards' order. The fence: the leases are locked, in place and without a version of
-- theirs; then a statement whose snapshot was taken behind the locks compares the batch. To insert alone is no
-- fence: an attempt that was held up for long would find its own batch deleted and free. The locks are held by nobody's
-- absence: the call is the last statement of its transaction, and the server commits it without asking the client.
-- Rows are looked for one by one, behind OFFSET 0: of few living rows in many pages of dead ones the planner expects that
-- to read all of them once is cheaper, and would join so. Answers per delta: 0 stale, 1 applied, 2 applied by an
-- earlier attempt.
CREATE OR REPLACE FUNCTION ordo_commit(
  p_shards bigint[], p_tokens bigint[], p_holders bigint[], p_batches bigint[], p_positions bigint[], p_counts bytea[],
  p_seen bigint[], p_unseen text[],
  p_erase_shards bigint[], p_erase_first bigint[], p_erase_last bigint[],
  p_state_shards bigint[], p_state_seqs bigint[], p_state_bodies bytea[],
  p_gone_shards bigint[], p_gone_seqs bigint[],
  p_dead_shards bigint[], p_dead_at bigint[], p_dead_bodies bytea[],
  p_trim_shards bigint[], p_trim_most bigint[], p_trim_before bigint[]
) RETURNS bigint[] LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
  v_held bigint[];
  v_batches bigint[];
  v_now bigint[];
  v_before bigint[];
  v_all boolean;
BEGIN
  PERFORM ordo_be_durable();
  SELECT array_agg(l.id), array_agg(l.batch) INTO v_held, v_batches FROM (
    SELECT s.id, d.batch FROM unnest(p_shards, p_tokens, p_holders, p_batches) AS d(shard, token, holder, batch)
      JOIN ordo_shard s ON s.id = d.shard AND s.token = d.token AND s.holder = d.holder
     WHERE s.owner <> '' ORDER BY s.id FOR NO KEY UPDATE OF s) l;
  SELECT coalesce(array_agg(d.shard) FILTER (WHERE h.batch = d.batch - 1), '{}'),
         coalesce(array_agg(d.shard) FILTER (WHERE h.batch = d.batch), '{}') INTO v_now, v_before
    FROM unnest(v_held, v_batches) AS d(shard, batch) JOIN ordo_newest_head h ON h.shard = d.shard;
  v_all := cardinality(v_now) = cardinality(p_shards);

  IF cardinality(p_erase_shards) > 0 THEN
    DELETE FROM ordo_entry WHERE ctid = ANY(ARRAY(
      SELECT e.ctid FROM unnest(p_erase_shards, p_erase_first, p_erase_last) AS r(shard, first, last)
       CROSS JOIN LATERAL (SELECT o.ctid FROM ordo_entry o
                            WHERE o.shard = r.shard AND o.seq >= r.first AND o.seq <= r.last OFFSET 0) e
       WHERE v_all OR r.shard = ANY(v_now)));
  END IF;
  IF cardinality(p_state_shards) > 0 THEN
    INSERT INTO ordo_state(shard, seq, body)
      SELECT r.shard, r.seq, r.body FROM unnest(p_state_shards, p_state_seqs, p_state_bodies) AS r(shard, seq, body)
       WHERE v_all OR r.shard = ANY(v_now)
    ON CONFLICT (shard, seq) DO UPDATE SET body = excluded.body;
  END IF;
  IF cardinality(p_gone_shards) > 0 THEN
    DELETE FROM ordo_state WHERE ctid = ANY(ARRAY(
      SELECT t.ctid FROM unnest(p_gone_shards, p_gone_seqs) AS r(shard, seq)
       CROSS JOIN LATERAL (SELECT o.ctid FROM ordo_state o WHERE o.shard = r.shard AND o.seq = r.seq OFFSET 0) t
       WHERE v_all OR r.shard = ANY(v_now)));
  END IF;
  -- `low` moves on to the first entry that is left. Not beyond what was read: behind that, others may still write.
  INSERT INTO ordo_head(shard, batch, position, counts, dead, dead_trimmed, seen, unseen, low)
    SELECT d.shard, d.batch, d.position, d.counts, h.dead, h.dead_trimmed, greatest(h.seen, d.seen), d.unseen::bigint[],
           greatest(h.low, least(d.seen + 1, (SELECT e.seq FROM ordo_entry e WHERE e.shard = d.shard AND e.seq >= h.low
                                               ORDER BY e.seq LIMIT 1)))
      FROM unnest(p_shards, p_batches, p_positions, p_counts, p_seen, p_unseen)
           AS d(shard, batch, position, counts, seen, unseen)
      JOIN ordo_newest_head h ON h.shard = d.shard
     WHERE v_all OR d.shard = ANY(v_now);
  DELETE FROM ordo_head WHERE ctid = ANY(ARRAY(
    SELECT h.ctid FROM unnest(p_shards, p_batches) AS d(shard, batch)
     CROSS JOIN LATERAL (SELECT o.ctid FROM ordo_head o WHERE o.shard = d.shard AND o.batch = d.batch - 1 OFFSET 0) h
     WHERE v_all OR d.shard = ANY(v_now)));
  IF cardinality(p_dead_shards) > 0 THEN
    PERFORM ordo_bury(v_now, p_dead_shards, p_dead_at, p_dead_bodies);
  END IF;
  IF cardinality(p_trim_shards) > 0 THEN
    PERFORM ordo_trim(v_now, p_trim_shards, p_trim_most, p_trim_before);
  END IF;
  RETURN (SELECT array_agg(CASE WHEN v_all OR d.shard = ANY(v_now) THEN 1 WHEN d.shard = ANY(v_before) THEN 2 ELSE 0
                           END::bigint ORDER BY d.place)
            FROM unnest(p_shards) WITH ORDINALITY AS d(shard, place));
END $$;

-- By who has locked the shard. In place: it is rare beside commits, which leave the row behind.
CREATE FUNCTION ordo_count_dead(p_shard bigint, p_more bigint, p_trimmed bigint) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
BEGIN
  UPDATE ordo_head h SET dead = h.dead + p_more, dead_trimmed = h.dead_trimmed + p_trimmed
   WHERE h.shard = p_shard AND h.batch = (SELECT n.batch FROM ordo_newest_head n WHERE n.shard = p_shard);
END $$;

CREATE OR REPLACE FUNCTION ordo_bury(p_fenced bigint[], p_shards bigint[], p_at bigint[], p_bodies bytea[])
RETURNS void LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
BEGIN
  INSERT INTO ordo_dead(queue, no, shard, at, body)
    SELECT r.shard >> 16, nextval('ordo_dead_no'), r.shard, r.at, r.body
      FROM unnest(p_shards, p_at, p_bodies) AS r(shard, at, body) WHERE r.shard = ANY(p_fenced);
  PERFORM ordo_count_dead(d.shard, count(*), 0) FROM unnest(p_shards) AS d(shard)
    WHERE d.shard = ANY(p_fenced) GROUP BY d.shard;
END $$;

CREATE OR REPLACE FUNCTION ordo_trim(p_fenced bigint[], p_shards bigint[], p_most bigint[], p_before bigint[])
RETURNS void LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
  v record;
  v_trimmed bigint;
  v_rows bigint;
BEGIN
  FOR v IN SELECT h.shard, h.dead, t.most, t.before FROM unnest(p_shards, p_most, p_before) AS t(shard, most, before)
             JOIN ordo_newest_head h ON h.shard = t.shard WHERE h.dead > 0 AND t.shard = ANY(p_fenced) LOOP
    v_trimmed := 0;
    IF v.most > 0 AND v.dead > v.most THEN
      DELETE FROM ordo_dead d USING (SELECT o.queue, o.no FROM ordo_dead o WHERE o.shard = v.shard ORDER BY o.at, o.no
                                      LIMIT v.dead - v.most) o
       WHERE d.queue = o.queue AND d.no = o.no;
      GET DIAGNOSTICS v_trimmed = ROW_COUNT;
    END IF;
    DELETE FROM ordo_dead d WHERE d.shard = v.shard AND d.at < v.before;
    GET DIAGNOSTICS v_rows = ROW_COUNT;
    v_trimmed := v_trimmed + v_rows;
    IF v_trimmed > 0 THEN
      PERFORM ordo_count_dead(v.shard, -v_trimmed, v_trimmed);
    END IF;
  END LOOP;
END $$;

-- Nothing: the queue is closed, and the dead must stay as they are.
CREATE OR REPLACE FUNCTION ordo_take_dead(p_queue bigint, p_nos bigint[]) RETURNS bigint[] LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
  v_places bigint[];
  v_shards bigint[];
BEGIN
  PERFORM ordo_be_durable();
  LOCK TABLE ordo_entry IN ROW EXCLUSIVE MODE;
  IF EXISTS (SELECT FROM ordo_queue WHERE number = p_queue AND closed) THEN
    RETURN NULL;
  END IF;
  PERFORM FROM ordo_shard WHERE id IN (SELECT d.shard FROM ordo_dead d WHERE d.queue = p_queue AND d.no = ANY(p_nos))
    ORDER BY id FOR UPDATE;
  WITH taken AS (DELETE FROM ordo_dead d WHERE d.queue = p_queue AND d.no = ANY(p_nos) RETURNING d.no, d.shard)
  SELECT coalesce(array_agg(p.place ORDER BY p.place), '{}'), array_agg(t.shard) INTO v_places, v_shards
    FROM (SELECT n.no, min(n.place) AS place FROM unnest(p_nos) WITH ORDINALITY AS n(no, place) GROUP BY n.no) p
    JOIN taken t ON t.no = p.no;
  PERFORM ordo_count_dead(t.shard, -count(*), 0) FROM unnest(v_shards) AS t(shard) GROUP BY t.shard;
  RETURN v_places;
END $$;

-- The head is read behind the lock, too.
CREATE OR REPLACE FUNCTION ordo_acquire(p_node text, p_holder bigint, p_now bigint, p_shards bigint[], p_owners text[],
                                        p_tokens bigint[], p_renewals bigint[])
RETURNS TABLE(shard bigint, token bigint, batch bigint, head bigint, clean boolean) LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
  v record;
  s ordo_shard;
  h record;
  v_renewals bigint;
  v_now bigint := ordo_now(p_now);
BEGIN
  PERFORM ordo_be_durable();
  PERFORM FROM ordo_node WHERE id = p_node OR id = ANY(p_owners) ORDER BY id FOR SHARE;
  IF NOT EXISTS (SELECT FROM ordo_node WHERE id = p_node) THEN
    RETURN;
  END IF;
  BEGIN
    PERFORM FROM ordo_shard WHERE id = ANY(p_shards) ORDER BY id FOR UPDATE;
  EXCEPTION WHEN lock_not_available THEN
    PERFORM ordo_evict();
    PERFORM FROM ordo_shard WHERE id = ANY(p_shards) ORDER BY id FOR UPDATE;
  END;
  FOR v IN SELECT * FROM unnest(p_shards, p_owners, p_tokens, p_renewals) AS c(shard, owner, token, renewals) LOOP
    SELECT * INTO s FROM ordo_shard WHERE id = v.shard;
    CONTINUE WHEN NOT FOUND OR s.owner <> v.owner OR s.token <> v.token;
    IF s.owner <> '' THEN
      SELECT renewals INTO v_renewals FROM ordo_living_node WHERE id = s.owner;
      CONTINUE WHEN FOUND AND v_renewals <> v.renewals;
    END IF;
    SELECT * INTO h FROM ordo_newest_head n WHERE n.shard = v.shard;
    shard := v.shard;
    token := greatest(s.token + 1, v_now);
    batch := h.batch;
    clean := s.clean;
    SELECT coalesce(max(e.seq), 0) INTO head FROM ordo_entry e WHERE e.shard = v.shard AND e.seq >= h.low;
    UPDATE ordo_shard u SET owner = p_node, token = greatest(s.token + 1, v_now), holder = p_holder, clean = false
     WHERE u.id = v.shard;
    RETURN NEXT;
  END LOOP;
END $$;

CREATE OR REPLACE FUNCTION ordo_empty(p_queue bigint) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
BEGIN
  DELETE FROM ordo_entry WHERE shard >= p_queue << 16 AND shard < (p_queue + 1) << 16;
  DELETE FROM ordo_state WHERE shard >= p_queue << 16 AND shard < (p_queue + 1) << 16;
  DELETE FROM ordo_head WHERE shard >= p_queue << 16 AND shard < (p_queue + 1) << 16;
  DELETE FROM ordo_dead WHERE queue = p_queue;
END $$;
)sql";

}  // namespace ordo::store::postgres
