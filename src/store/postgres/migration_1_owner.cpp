// What an owner writes: deltas, each shard's part behind its fence.
#include "store/postgres/migrations.h"

namespace ordo::store::postgres {

const char* const kOwnerFunctions1 = R"sql(
-- Deltas of different shards, in the shards' order. The fence is one conditional update of the shard's row. It comes first
-- and its lock is held by nobody's absence: the call is the last statement of its transaction, and the server commits it
-- without asking the client. Answers per delta: 0 stale, 1 applied, 2 applied by an earlier attempt.
CREATE FUNCTION ordo_commit(
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
  v_now bigint[];
  v_before bigint[] := '{}';
  v_all boolean;
BEGIN
  PERFORM ordo_be_durable();
  WITH fenced AS (
    UPDATE ordo_shard s
       SET batch = d.batch, position = d.position, counts = d.counts,
           seen = greatest(s.seen, d.seen), unseen = d.unseen::bigint[]
      FROM unnest(p_shards, p_tokens, p_holders, p_batches, p_positions, p_counts, p_seen, p_unseen)
           AS d(shard, token, holder, batch, position, counts, seen, unseen)
     WHERE s.id = d.shard AND s.token = d.token AND s.holder = d.holder AND s.batch = d.batch - 1 AND s.owner <> ''
    RETURNING s.id)
  SELECT coalesce(array_agg(id), '{}') INTO v_now FROM fenced;
  v_all := cardinality(v_now) = cardinality(p_shards);
  IF NOT v_all THEN
    SELECT coalesce(array_agg(s.id), '{}') INTO v_before
      FROM unnest(p_shards, p_tokens, p_holders, p_batches) AS d(shard, token, holder, batch)
      JOIN ordo_shard s ON s.id = d.shard AND s.token = d.token AND s.holder = d.holder AND s.batch = d.batch
     WHERE s.owner <> '' AND s.id <> ALL(v_now);
  END IF;

  IF cardinality(p_erase_shards) > 0 THEN
    DELETE FROM ordo_entry e
     USING unnest(p_erase_shards, p_erase_first, p_erase_last) AS r(shard, first, last)
     WHERE e.shard = r.shard AND e.seq >= r.first AND e.seq <= r.last AND (v_all OR r.shard = ANY(v_now));
  END IF;
  IF cardinality(p_state_shards) > 0 THEN
    INSERT INTO ordo_state(shard, seq, body)
      SELECT r.shard, r.seq, r.body FROM unnest(p_state_shards, p_state_seqs, p_state_bodies) AS r(shard, seq, body)
       WHERE v_all OR r.shard = ANY(v_now)
    ON CONFLICT (shard, seq) DO UPDATE SET body = excluded.body;
  END IF;
  IF cardinality(p_gone_shards) > 0 THEN
    DELETE FROM ordo_state t USING unnest(p_gone_shards, p_gone_seqs) AS r(shard, seq)
     WHERE t.shard = r.shard AND t.seq = r.seq AND (v_all OR r.shard = ANY(v_now));
  END IF;
  IF cardinality(p_dead_shards) > 0 THEN
    PERFORM ordo_bury(v_now, p_dead_shards, p_dead_at, p_dead_bodies);
  END IF;
  IF cardinality(p_trim_shards) > 0 THEN
    PERFORM ordo_trim(v_now, p_trim_shards, p_trim_most, p_trim_before);
  END IF;
  RETURN (SELECT array_agg(CASE WHEN d.shard = ANY(v_now) THEN 1 WHEN d.shard = ANY(v_before) THEN 2 ELSE 0 END::bigint
                           ORDER BY d.place)
            FROM unnest(p_shards) WITH ORDINALITY AS d(shard, place));
END $$;

CREATE FUNCTION ordo_bury(p_fenced bigint[], p_shards bigint[], p_at bigint[], p_bodies bytea[])
RETURNS void LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
BEGIN
  INSERT INTO ordo_dead(queue, no, shard, at, body)
    SELECT r.shard >> 16, nextval('ordo_dead_no'), r.shard, r.at, r.body
      FROM unnest(p_shards, p_at, p_bodies) AS r(shard, at, body) WHERE r.shard = ANY(p_fenced);
  UPDATE ordo_shard s SET dead = s.dead + r.more
    FROM (SELECT d.shard, count(*) AS more FROM unnest(p_shards) AS d(shard) GROUP BY d.shard ORDER BY d.shard) r
   WHERE s.id = r.shard AND r.shard = ANY(p_fenced);
END $$;

CREATE FUNCTION ordo_trim(p_fenced bigint[], p_shards bigint[], p_most bigint[], p_before bigint[])
RETURNS void LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
  v record;
  v_trimmed bigint;
  v_rows bigint;
BEGIN
  FOR v IN SELECT s.id, s.dead, t.most, t.before FROM unnest(p_shards, p_most, p_before) AS t(shard, most, before)
             JOIN ordo_shard s ON s.id = t.shard WHERE s.dead > 0 AND t.shard = ANY(p_fenced) LOOP
    v_trimmed := 0;
    IF v.most > 0 AND v.dead > v.most THEN
      DELETE FROM ordo_dead d USING (SELECT o.queue, o.no FROM ordo_dead o WHERE o.shard = v.id ORDER BY o.at, o.no
                                      LIMIT v.dead - v.most) o
       WHERE d.queue = o.queue AND d.no = o.no;
      GET DIAGNOSTICS v_trimmed = ROW_COUNT;
    END IF;
    DELETE FROM ordo_dead d WHERE d.shard = v.id AND d.at < v.before;
    GET DIAGNOSTICS v_rows = ROW_COUNT;
    v_trimmed := v_trimmed + v_rows;
    IF v_trimmed > 0 THEN
      UPDATE ordo_shard s SET dead = s.dead - v_trimmed, dead_trimmed = s.dead_trimmed + v_trimmed WHERE s.id = v.id;
    END IF;
  END LOOP;
END $$;

CREATE FUNCTION ordo_load(p_shards bigint[]) RETURNS TABLE(shard bigint, seq bigint, body bytea, is_state boolean)
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
BEGIN
  -- Counts first; one statement, so that they belong together.
  RETURN QUERY
    SELECT s.id, 0::bigint, s.counts, false FROM ordo_shard s WHERE s.id = ANY(p_shards)
    UNION ALL
    SELECT t.* FROM (SELECT t.shard, t.seq, t.body, true FROM ordo_state t
                      WHERE t.shard = ANY(p_shards) AND EXISTS (SELECT FROM ordo_shard s WHERE s.id = t.shard)
                      ORDER BY t.shard, t.seq) t;
END $$;
)sql";

}  // namespace ordo::store::postgres
