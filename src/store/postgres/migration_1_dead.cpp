#include "store/postgres/migrations.h"

namespace ordo::store::postgres {

const char* const kDeadFunctions1 = R"sql(
-- Takes dead rows away and returns the places in `p_nos` of those that were there. Shards are locked first, as a commit
-- does.
CREATE FUNCTION ordo_take_dead(p_queue bigint, p_nos bigint[]) RETURNS bigint[] LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
  v_places bigint[];
BEGIN
  PERFORM ordo_be_durable();
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

-- Returns how many were revived; nothing happens when an entry's shard does not exist: minus its place.
CREATE FUNCTION ordo_revive(p_store bigint, p_now bigint, p_queue bigint, p_nos bigint[], p_shards bigint[], p_bodies bytea[])
RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
  v_unknown bigint;
  v_places bigint[];
  v_first bigint;
BEGIN
  SELECT min(e.place) INTO v_unknown FROM unnest(p_shards) WITH ORDINALITY AS e(shard, place)
   WHERE NOT EXISTS (SELECT FROM ordo_shard s WHERE s.id = e.shard);
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
)sql";

}  // namespace ordo::store::postgres
