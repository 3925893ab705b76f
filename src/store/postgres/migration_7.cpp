// Unique keys: a row that is written if it still is as it was seen, and entries in the same step.
#include "store/postgres/migrations.h"

namespace ordo::store::postgres {

const char* const kUnique7 = R"sql(
-- `p_until` of the first instant takes the row away. result: 0 (done), 1 (another row: its body is `there`; NULL: none),
-- 2 (an entry's shard does not exist, or its queue is closed). Steps of one row take turns before they are given ids of
-- transactions, so that their entries have rising numbers.
CREATE FUNCTION ordo_step_row(p_store bigint, p_now bigint, p_rows text, p_key bytea, p_listed boolean, p_until bigint,
                              p_body bytea, p_has_seen boolean, p_seen bytea, p_shards bigint[], p_bodies bytea[])
RETURNS TABLE(result bigint, there bytea) LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
  v_now bigint := ordo_now(p_now);
  v_there bytea;
  v_first bigint;
BEGIN
  PERFORM ordo_be_durable();
  PERFORM pg_advisory_xact_lock(hashtextextended(p_rows || encode(p_key, 'hex'), 7));
  LOCK TABLE ordo_entry IN ROW EXCLUSIVE MODE;
  IF EXISTS (SELECT FROM unnest(p_shards) AS k(shard)
              WHERE NOT EXISTS (SELECT FROM ordo_shard s WHERE s.id = k.shard)
                 OR EXISTS (SELECT FROM ordo_queue q WHERE q.number = k.shard >> 16 AND q.closed)) THEN
    RETURN QUERY SELECT 2::bigint, NULL::bytea;
    RETURN;
  END IF;
  DELETE FROM ordo_wait WHERE queue = p_rows AND key = p_key AND until <= v_now;
  LOOP
    IF NOT p_has_seen THEN
      INSERT INTO ordo_wait VALUES (p_rows, p_key, p_listed, p_until, p_body) ON CONFLICT DO NOTHING;
    ELSIF p_until = (-9223372036854775808) THEN
      DELETE FROM ordo_wait WHERE queue = p_rows AND key = p_key AND body = p_seen;
    ELSE
      UPDATE ordo_wait SET listed = p_listed, until = p_until, body = p_body
       WHERE queue = p_rows AND key = p_key AND body = p_seen;
    END IF;
    EXIT WHEN FOUND;
    SELECT body INTO v_there FROM ordo_wait WHERE queue = p_rows AND key = p_key;
    IF FOUND OR p_has_seen THEN
      RETURN QUERY SELECT 1::bigint, v_there;
      RETURN;
    END IF;
  END LOOP;
  DELETE FROM ordo_wait w USING (SELECT o.queue, o.key FROM ordo_wait o
                                  WHERE o.until <= v_now AND o.until < 9223372036854775807
                                  ORDER BY o.until LIMIT 20 FOR UPDATE SKIP LOCKED) gone
   WHERE w.queue = gone.queue AND w.key = gone.key;
  IF cardinality(p_shards) > 0 THEN
    v_first := ordo_transaction_seq();
    INSERT INTO ordo_entry(shard, seq, at, body)
      SELECT e.shard, v_first + e.place - 1, v_now, e.body
        FROM unnest(p_shards, p_bodies) WITH ORDINALITY AS e(shard, body, place);
    PERFORM ordo_tell(p_store);
  END IF;
  RETURN QUERY SELECT 0::bigint, NULL::bytea;
END $$;
)sql";

}  // namespace ordo::store::postgres
