// Records of ended jobs: blocks of them that go with the deltas which end the jobs.
#include "store/postgres/migrations.h"

namespace ordo::store::postgres {

const char* const kKept11 = R"sql(
CREATE TABLE ordo_kept(
  shard bigint NOT NULL, no bigint NOT NULL, head bytea NOT NULL, body bytea NOT NULL, PRIMARY KEY (shard, no)
) WITH (autovacuum_vacuum_threshold = 500, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_cost_delay = 0);

-- What ordo_commit does, and in the same step what is to be kept, and to be kept no longer. By its exact key.
CREATE FUNCTION ordo_commit_kept(
  p_shards bigint[], p_tokens bigint[], p_holders bigint[], p_batches bigint[], p_positions bigint[], p_counts bytea[],
  p_seen bigint[], p_unseen text[],
  p_erase_shards bigint[], p_erase_first bigint[], p_erase_last bigint[],
  p_state_shards bigint[], p_state_seqs bigint[], p_state_bodies bytea[],
  p_gone_shards bigint[], p_gone_seqs bigint[],
  p_dead_shards bigint[], p_dead_at bigint[], p_dead_bodies bytea[],
  p_trim_shards bigint[], p_trim_most bigint[], p_trim_before bigint[],
  p_kept_shards bigint[], p_kept_nos bigint[], p_kept_heads bytea[], p_kept_bodies bytea[],
  p_old_shards bigint[], p_old_nos bigint[]
) RETURNS bigint[] LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
  v_answers bigint[] := ordo_commit(
    p_shards, p_tokens, p_holders, p_batches, p_positions, p_counts, p_seen, p_unseen, p_erase_shards, p_erase_first,
    p_erase_last, p_state_shards, p_state_seqs, p_state_bodies, p_gone_shards, p_gone_seqs, p_dead_shards, p_dead_at,
    p_dead_bodies, p_trim_shards, p_trim_most, p_trim_before);
  v_now bigint[];
BEGIN
  SELECT coalesce(array_agg(d.shard), '{}') INTO v_now FROM unnest(p_shards, v_answers) AS d(shard, answer)
    WHERE d.answer = 1;
  INSERT INTO ordo_kept(shard, no, head, body)
    SELECT r.shard, r.no, r.head, r.body
      FROM unnest(p_kept_shards, p_kept_nos, p_kept_heads, p_kept_bodies) AS r(shard, no, head, body)
     WHERE r.shard = ANY(v_now)
  ON CONFLICT (shard, no) DO UPDATE SET head = excluded.head, body = excluded.body;
  IF cardinality(p_old_shards) > 0 THEN
    DELETE FROM ordo_kept WHERE ctid = ANY(ARRAY(
      SELECT k.ctid FROM unnest(p_old_shards, p_old_nos) AS r(shard, no)
       CROSS JOIN LATERAL (SELECT o.ctid FROM ordo_kept o WHERE o.shard = r.shard AND o.no = r.no OFFSET 0) k
       WHERE r.shard = ANY(v_now)));
  END IF;
  RETURN v_answers;
END $$;

-- Nothing: the queue is closed, and what is kept must stay as it is.
CREATE FUNCTION ordo_replace_kept(p_shard bigint, p_no bigint, p_head bytea, p_body bytea) RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
BEGIN
  PERFORM ordo_be_durable();
  LOCK TABLE ordo_entry IN ROW EXCLUSIVE MODE;
  IF EXISTS (SELECT FROM ordo_queue WHERE number = p_shard >> 16 AND closed) THEN
    RETURN NULL;
  END IF;
  UPDATE ordo_kept SET head = p_head, body = p_body WHERE shard = p_shard AND no = p_no;
  RETURN FOUND;
END $$;

CREATE OR REPLACE FUNCTION ordo_empty(p_queue bigint) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
BEGIN
  DELETE FROM ordo_entry WHERE shard >= p_queue << 16 AND shard < (p_queue + 1) << 16;
  DELETE FROM ordo_state WHERE shard >= p_queue << 16 AND shard < (p_queue + 1) << 16;
  DELETE FROM ordo_head WHERE shard >= p_queue << 16 AND shard < (p_queue + 1) << 16;
  DELETE FROM ordo_kept WHERE shard >= p_queue << 16 AND shard < (p_queue + 1) << 16;
  DELETE FROM ordo_dead WHERE queue = p_queue;
END $$;
)sql";

}  // namespace ordo::store::postgres
