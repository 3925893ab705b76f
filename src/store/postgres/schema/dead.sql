-- Dead jobs, as users list, revive and remove them.

-- Takes dead rows away and returns the places in `p_nos` of those that were there. NULL: the queue is closed, and the dead
-- must stay as they are. Shards are locked first, as a commit does.
CREATE FUNCTION ordo_take_dead(p_queue bigint, p_nos bigint[]) RETURNS bigint[] LANGUAGE plpgsql VOLATILE AS $$
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

-- Returns how many were revived. If an entry's shard does not exist or is closed, nothing happens and it returns minus the
-- place of that entry.
CREATE FUNCTION ordo_revive(p_store bigint, p_now bigint, p_queue bigint, p_nos bigint[], p_shards bigint[],
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

CREATE FUNCTION ordo_list_dead(p_queue bigint, p_after bigint, p_rows bigint)
RETURNS TABLE(no bigint, shard bigint, at bigint, body bytea) LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY SELECT d.no, d.shard, d.at, d.body FROM ordo_dead d WHERE d.queue = p_queue AND d.no > p_after
    ORDER BY d.no LIMIT p_rows;
END $$;
