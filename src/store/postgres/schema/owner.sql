-- What the owner of a shard writes: its commits, its dead jobs, and the records of ended jobs.

-- Deltas of different shards, in the shards' order. The fence: the leases are locked, in place and without a version of
-- theirs; then a statement whose snapshot was taken behind the locks compares the batch. To insert alone is no
-- fence: an attempt that was held up for long would find its own batch deleted and free. No absent client holds the
-- locks: the call is the last statement of its transaction, and the server commits it without asking the client.
-- Rows are looked for one by one, behind OFFSET 0: of few living rows in many pages of dead ones the planner expects that
-- to read all of them once is cheaper, and would join so. Answers per delta: 0 stale, 1 applied, 2 applied by an
-- earlier attempt.
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

-- Does what ordo_commit does; in the same step it writes the records to keep and deletes, by their exact keys, those that
-- are to be kept no longer.
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

-- The caller has locked the shard. Updates in place: this is rare compared with commits, which leave the row behind.
CREATE FUNCTION ordo_count_dead(p_shard bigint, p_more bigint, p_trimmed bigint) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
BEGIN
  UPDATE ordo_head h SET dead = h.dead + p_more, dead_trimmed = h.dead_trimmed + p_trimmed
   WHERE h.shard = p_shard AND h.batch = (SELECT n.batch FROM ordo_newest_head n WHERE n.shard = p_shard);
END $$;

CREATE FUNCTION ordo_bury(p_fenced bigint[], p_shards bigint[], p_at bigint[], p_bodies bytea[])
RETURNS void LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
BEGIN
  INSERT INTO ordo_dead(queue, no, shard, at, body)
    SELECT r.shard >> 16, nextval('ordo_dead_no'), r.shard, r.at, r.body
      FROM unnest(p_shards, p_at, p_bodies) AS r(shard, at, body) WHERE r.shard = ANY(p_fenced);
  PERFORM ordo_count_dead(d.shard, count(*), 0) FROM unnest(p_shards) AS d(shard)
    WHERE d.shard = ANY(p_fenced) GROUP BY d.shard;
END $$;

CREATE FUNCTION ordo_trim(p_fenced bigint[], p_shards bigint[], p_most bigint[], p_before bigint[])
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

-- NULL: the queue is closed, and its records must stay as they are.
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
