-- Definitions of queues. They are made, paused, closed for a reshard, replaced and removed here.

CREATE FUNCTION ordo_definitions_changed() RETURNS void LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
BEGIN
  PERFORM ordo_be_durable();
  UPDATE ordo_meta SET definitions = definitions + 1;
  PERFORM pg_notify('ordo_' || 'ordo_meta'::regclass::oid, '');
END $$;

-- The store's own call. It knows no rule for names.
CREATE FUNCTION ordo_define_any(p_name text, p_shards int) RETURNS TABLE(number bigint, shards int, paused boolean)
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
  v_number bigint;
BEGIN
  IF octet_length(p_name) NOT BETWEEN 1 AND 255 OR p_shards NOT BETWEEN 1 AND 65536 THEN
    RAISE EXCEPTION 'ordo: a queue''s name has 1 to 255 bytes, and it has 1 to 65536 shards'
      USING ERRCODE = 'invalid_parameter_value';
  END IF;
  IF NOT EXISTS (SELECT FROM ordo_queue q WHERE q.name = p_name) THEN
    INSERT INTO ordo_queue(name, shards) VALUES (p_name, p_shards) ON CONFLICT (name) DO NOTHING
      RETURNING ordo_queue.number INTO v_number;
    IF v_number IS NOT NULL THEN
      INSERT INTO ordo_shard(id) SELECT (v_number << 16) + i FROM generate_series(0, p_shards - 1) AS i;
      PERFORM ordo_definitions_changed();
    END IF;
  END IF;
  RETURN QUERY SELECT q.number, q.shards, q.paused FROM ordo_queue q WHERE q.name = p_name;
END $$;

-- For the SQL of other programs.
CREATE FUNCTION ordo_define(p_name text, p_shards int) RETURNS TABLE(number bigint, shards int, paused boolean)
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
BEGIN
  IF (p_name COLLATE "C" ~ '^[a-z0-9_-]{1,64}$') IS NOT TRUE THEN
    RAISE EXCEPTION 'ordo_define: the queue name "%" is not 1 to 64 of a-z 0-9 _ -', left(p_name, 80)
      USING ERRCODE = 'invalid_parameter_value';
  END IF;
  RETURN QUERY SELECT * FROM ordo_define_any(p_name, p_shards);
END $$;

CREATE FUNCTION ordo_set_paused(p_name text, p_paused boolean) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
BEGIN
  UPDATE ordo_queue SET paused = p_paused WHERE name = p_name;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  PERFORM ordo_definitions_changed();
  RETURN true;
END $$;

CREATE FUNCTION ordo_close(p_name text) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
BEGIN
  UPDATE ordo_queue SET closed = true WHERE name = p_name;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  PERFORM ordo_definitions_changed();
  RETURN true;
END $$;

CREATE FUNCTION ordo_reopen(p_name text) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
BEGIN
  UPDATE ordo_queue SET closed = false WHERE name = p_name;
  PERFORM ordo_definitions_changed();
END $$;

CREATE FUNCTION ordo_empty(p_queue bigint) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
BEGIN
  DELETE FROM ordo_entry WHERE shard >= p_queue << 16 AND shard < (p_queue + 1) << 16;
  DELETE FROM ordo_state WHERE shard >= p_queue << 16 AND shard < (p_queue + 1) << 16;
  DELETE FROM ordo_head WHERE shard >= p_queue << 16 AND shard < (p_queue + 1) << 16;
  DELETE FROM ordo_kept WHERE shard >= p_queue << 16 AND shard < (p_queue + 1) << 16;
  DELETE FROM ordo_dead WHERE queue = p_queue;
END $$;

-- A push takes no lock that could make this wait for a long transaction. What such a transaction leaves behind in a removed
-- queue is swept by later removals; nobody reads it meanwhile.
CREATE FUNCTION ordo_remove(p_name text) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
  v_number bigint;
BEGIN
  PERFORM ordo_empty(queue) FROM ordo_removed;
  DELETE FROM ordo_removed WHERE at < clock_timestamp() - interval '7 days';
  DELETE FROM ordo_queue WHERE name = p_name RETURNING number INTO v_number;
  IF v_number IS NULL THEN
    RETURN false;
  END IF;
  PERFORM FROM ordo_shard WHERE id >= v_number << 16 AND id < (v_number + 1) << 16 ORDER BY id FOR UPDATE;
  DELETE FROM ordo_shard WHERE id >= v_number << 16 AND id < (v_number + 1) << 16;
  PERFORM ordo_empty(v_number);
  INSERT INTO ordo_removed(queue) VALUES (v_number);
  PERFORM ordo_definitions_changed();
  RETURN true;
END $$;

CREATE FUNCTION ordo_replace(p_name text, p_by bigint) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
  v_queue ordo_queue;
BEGIN
  PERFORM FROM ordo_queue WHERE name = p_name OR number = p_by ORDER BY number FOR UPDATE;
  SELECT * INTO v_queue FROM ordo_queue WHERE name = p_name;
  IF NOT FOUND OR NOT v_queue.closed OR v_queue.number = p_by
     OR NOT EXISTS (SELECT FROM ordo_queue WHERE number = p_by) THEN
    RETURN false;
  END IF;
  PERFORM ordo_remove(p_name);
  UPDATE ordo_queue SET name = p_name, paused = v_queue.paused WHERE number = p_by;
  RETURN true;
END $$;
