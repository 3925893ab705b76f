-- Rows of waits and unique keys, and responses that arrive inside a user's transaction.

-- Writes a row if its body still is `p_seen`, and appends the entries. `p_excess`: microseconds that the caller does not believe the
-- clock. `p_until` of the first instant takes the row itself away. result: 0 (done), 1 (another row: its body is `there`;
-- NULL: none), 2 (an entry's shard does not exist, or its queue is closed). Steps of one row take turns before they are
-- given ids of transactions, so that their entries have rising numbers.
CREATE FUNCTION ordo_step_row(p_store bigint, p_now bigint, p_excess bigint, p_rows text, p_key bytea, p_listed boolean,
                              p_until bigint, p_body bytea, p_has_seen boolean, p_seen bytea, p_shards bigint[],
                              p_bodies bytea[])
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
  DELETE FROM ordo_wait WHERE queue = p_rows AND key = p_key AND until <= v_now - p_excess;
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
  IF cardinality(p_shards) > 0 THEN
    v_first := ordo_transaction_seq();
    INSERT INTO ordo_entry(shard, seq, at, body)
      SELECT e.shard, v_first + e.place - 1, v_now, e.body
        FROM unnest(p_shards, p_bodies) WITH ORDINALITY AS e(shard, body, place);
    PERFORM ordo_tell(p_store);
  END IF;
  RETURN QUERY SELECT 0::bigint, NULL::bytea;
END $$;

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

-- The responses that this node gives to their jobs: those of queues whose first shard it owns and which are open. In order
-- for each queue, and the first ones of all queues before the second ones. The recursion looks up the queues that have
-- responses one by one, so the cost does not depend on how many each has.
CREATE FUNCTION ordo_inbox(p_node text, p_most bigint)
RETURNS TABLE(id bigint, queue text, key bytea, message_id bytea, body bytea) LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY
    WITH RECURSIVE named AS (
      (SELECT r.queue COLLATE "C" AS name FROM ordo_response r ORDER BY r.queue COLLATE "C" LIMIT 1)
      UNION ALL
      SELECT (SELECT r.queue COLLATE "C" FROM ordo_response r WHERE r.queue COLLATE "C" > n.name
               ORDER BY r.queue COLLATE "C" LIMIT 1)
        FROM named n WHERE n.name IS NOT NULL
    ), first AS (
      SELECT f.id, f.place FROM named n
        JOIN ordo_queue q ON q.name = n.name
        JOIN ordo_shard s ON s.id = q.number << 16
        CROSS JOIN LATERAL
          (SELECT l.id, row_number() OVER (ORDER BY l.id) AS place FROM
            (SELECT r.id FROM ordo_response r WHERE r.queue COLLATE "C" = n.name
              ORDER BY r.queue COLLATE "C", r.id LIMIT p_most) l) f
       WHERE s.owner = p_node AND NOT q.closed ORDER BY f.place, f.id LIMIT p_most
    )
    SELECT r.id, r.queue, r.key, r.message_id, r.body
      FROM first f JOIN ordo_response r ON r.id = f.id ORDER BY f.place, f.id;
END $$;
