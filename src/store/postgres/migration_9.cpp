// Responses to jobs from inside a transaction of the user's, which only inserts: the verbs that change rows
// of waits are for a node to do.
#include "store/postgres/migrations.h"

namespace ordo::store::postgres {

const char* const kInbox9 = R"sql(
CREATE TABLE ordo_response(
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, queue text NOT NULL, key bytea NOT NULL,
  message_id bytea NOT NULL, body bytea NOT NULL
) WITH (autovacuum_vacuum_threshold = 500, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_cost_delay = 0);

-- A response to the job that waits for `key`, or will, as a part of the caller's transaction: it is given from COMMIT on,
-- and never was after ROLLBACK. Returns its message id: a new one, if none is given.
CREATE FUNCTION ordo_respond(queue text, key text, body bytea, message_id text DEFAULT NULL)
RETURNS text LANGUAGE plpgsql VOLATILE SECURITY DEFINER AS $$
DECLARE
  v_id text := coalesce(nullif(message_id, ''), ordo_ulid());
BEGIN
  IF queue IS NULL OR key IS NULL OR body IS NULL THEN
    RAISE EXCEPTION 'ordo_respond: queue, key and body are needed' USING ERRCODE = 'null_value_not_allowed';
  ELSIF NOT EXISTS (SELECT FROM ordo_queue q WHERE q.name = queue) THEN
    RAISE EXCEPTION 'ordo_respond: there is no queue "%"', left(queue, 200) USING ERRCODE = 'invalid_parameter_value';
  ELSIF octet_length(convert_to(key, 'UTF8')) NOT BETWEEN 1 AND 255 OR octet_length(convert_to(v_id, 'UTF8')) > 255 THEN
    RAISE EXCEPTION 'ordo_respond: key and message id have 1 to 255 bytes' USING ERRCODE = 'invalid_parameter_value';
  ELSIF octet_length(body) > 1 << 20 THEN
    RAISE EXCEPTION 'ordo_respond: the body has % bytes, at most % fit', octet_length(body), 1 << 20
      USING ERRCODE = 'program_limit_exceeded';
  END IF;
  INSERT INTO ordo_response AS r (queue, key, message_id, body)
    VALUES (queue, convert_to(key, 'UTF8'), convert_to(v_id, 'UTF8'), body);
  RETURN v_id;
END $$;

CREATE FUNCTION ordo_respond(queue text, key text, body text, message_id text DEFAULT NULL)
RETURNS text LANGUAGE plpgsql VOLATILE SECURITY DEFINER AS $$
BEGIN
  RETURN ordo_respond(queue, key, convert_to(body, 'UTF8'), message_id);
END $$;

REVOKE ALL ON FUNCTION ordo_respond(text, text, bytea, text), ordo_respond(text, text, text, text) FROM PUBLIC;

-- What this node is to give: that of the queues whose first shard it owns, and none of those that take nothing just now.
-- What was left for a queue that is gone is nobody's.
CREATE FUNCTION ordo_inbox(p_node text, p_most bigint)
RETURNS TABLE(id bigint, queue text, key bytea, message_id bytea, body bytea) LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
BEGIN
  DELETE FROM ordo_response r WHERE NOT EXISTS (SELECT FROM ordo_queue q WHERE q.name = r.queue);
  RETURN QUERY
    SELECT r.id, r.queue, r.key, r.message_id, r.body FROM ordo_response r
      JOIN ordo_queue q ON q.name = r.queue
      JOIN ordo_shard s ON s.id = q.number << 16
     WHERE s.owner = p_node AND NOT q.closed ORDER BY r.id LIMIT p_most;
END $$;
)sql";

}  // namespace ordo::store::postgres
