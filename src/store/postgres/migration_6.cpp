// Rows of waits: what a queue, by name, holds beside its shards.
#include "store/postgres/migrations.h"

namespace ordo::store::postgres {

const char* const kWaits6 = R"sql(
-- `until`: us UTC; not there any more from then on.
CREATE TABLE ordo_wait(queue text NOT NULL, key bytea NOT NULL, listed boolean NOT NULL, until bigint NOT NULL,
                       body bytea NOT NULL, PRIMARY KEY(queue, key));
CREATE INDEX ordo_wait_listed ON ordo_wait(queue, key) WHERE listed;
CREATE INDEX ordo_wait_until ON ordo_wait(until) WHERE until < 9223372036854775807;

-- Writes a row if its body still is `p_seen` (NULL: it is not there). Whoever writes takes some of those away whose
-- time is over. 1: written; 0: it is another; -1: no such queue.
CREATE FUNCTION ordo_put_wait(p_queue text, p_key bytea, p_listed boolean, p_until bigint, p_body bytea, p_seen bytea,
                              p_now bigint)
RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_now bigint := ordo_now(p_now);
  v_rows bigint;
BEGIN
  PERFORM FROM ordo_queue WHERE name = p_queue;
  IF NOT FOUND THEN RETURN -1; END IF;
  -- Its own before those of others, which nobody waits for. The second bound is that of the index.
  DELETE FROM ordo_wait WHERE queue = p_queue AND key = p_key AND until <= v_now;
  DELETE FROM ordo_wait w USING (SELECT o.queue, o.key FROM ordo_wait o
                                  WHERE o.until <= v_now AND o.until < 9223372036854775807
                                  ORDER BY o.until LIMIT 20 FOR UPDATE SKIP LOCKED) gone
   WHERE w.queue = gone.queue AND w.key = gone.key;
  IF p_seen IS NULL THEN
    INSERT INTO ordo_wait VALUES (p_queue, p_key, p_listed, p_until, p_body) ON CONFLICT DO NOTHING;
  ELSE
    UPDATE ordo_wait SET listed = p_listed, until = p_until, body = p_body
     WHERE queue = p_queue AND key = p_key AND body = p_seen;
  END IF;
  GET DIAGNOSTICS v_rows = ROW_COUNT;
  RETURN v_rows;
END $$;
)sql";

}  // namespace ordo::store::postgres
