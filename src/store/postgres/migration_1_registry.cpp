// Queues, nodes, leases. All lock rows in the order of their keys, nodes before shards.
#include "store/postgres/migrations.h"

namespace ordo::store::postgres {

const char* const kRegistryFunctions1 = R"sql(
CREATE FUNCTION ordo_definitions_changed() RETURNS void LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
BEGIN
  PERFORM ordo_be_durable();
  UPDATE ordo_meta SET definitions = definitions + 1;
  PERFORM pg_notify('ordo_' || 'ordo_meta'::regclass::oid, '');
END $$;

CREATE FUNCTION ordo_define(p_name text, p_shards int) RETURNS TABLE(number bigint, shards int, paused boolean)
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

CREATE FUNCTION ordo_empty(p_queue bigint) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
BEGIN
  DELETE FROM ordo_entry WHERE shard >= p_queue << 16 AND shard < (p_queue + 1) << 16;
  DELETE FROM ordo_state WHERE shard >= p_queue << 16 AND shard < (p_queue + 1) << 16;
  DELETE FROM ordo_dead WHERE queue = p_queue;
END $$;

-- Who pushes takes no lock that could make this wait for a long transaction, so what such a one leaves behind in a removed
-- queue is swept by the next removals; nobody reads it meanwhile.
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

CREATE FUNCTION ordo_join(p_node text, p_facts bytea, p_now bigint) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
BEGIN
  INSERT INTO ordo_node(id, renewals, facts) VALUES (p_node, ordo_now(p_now), p_facts)
  ON CONFLICT (id) DO UPDATE SET facts = excluded.facts,
                                 renewals = greatest(ordo_node.renewals + 1, excluded.renewals);
END $$;

CREATE FUNCTION ordo_renew(p_node text) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
BEGIN
  UPDATE ordo_node SET renewals = renewals + 1 WHERE id = p_node;
  RETURN FOUND;
END $$;

CREATE FUNCTION ordo_request(p_node text, p_request int) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
BEGIN
  UPDATE ordo_node SET request = p_request WHERE id = p_node;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  PERFORM ordo_wake();
  RETURN true;
END $$;

CREATE FUNCTION ordo_leave(p_node text, p_seen bigint) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
BEGIN
  PERFORM FROM ordo_node WHERE id = p_node AND (p_seen IS NULL OR renewals = p_seen) FOR UPDATE;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  PERFORM FROM ordo_shard WHERE owner = p_node ORDER BY id FOR UPDATE;
  UPDATE ordo_shard SET owner = '' WHERE owner = p_node;
  DELETE FROM ordo_node WHERE id = p_node;
END $$;

-- A client that was stopped in the middle of a transaction holds its rows for ever, and no timeout of the server ends it.
-- Nobody but a store writes ordo_shard, and none of them keeps the server waiting there.
CREATE FUNCTION ordo_evict() RETURNS void LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
BEGIN
  PERFORM pg_terminate_backend(a.pid) FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
   WHERE l.relation = 'ordo_shard'::regclass AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
     AND l.mode IN ('RowExclusiveLock', 'RowShareLock') AND l.granted AND a.pid <> pg_backend_pid()
     AND a.wait_event = 'ClientRead';
END $$;

-- Claims are weighed in their order; a row of nodes that is shared here cannot renew until the grant is durable.
CREATE FUNCTION ordo_acquire(p_node text, p_holder bigint, p_now bigint, p_shards bigint[], p_owners text[],
                             p_tokens bigint[], p_renewals bigint[])
RETURNS TABLE(shard bigint, token bigint, batch bigint, head bigint, clean boolean) LANGUAGE plpgsql VOLATILE
SET lock_timeout = '3s' AS $$
#variable_conflict use_column
DECLARE
  v record;
  s ordo_shard;
  v_renewals bigint;
  v_now bigint := ordo_now(p_now);
BEGIN
  PERFORM ordo_be_durable();
  PERFORM FROM ordo_node WHERE id = p_node OR id = ANY(p_owners) ORDER BY id FOR SHARE;
  IF NOT EXISTS (SELECT FROM ordo_node WHERE id = p_node) THEN
    RETURN;
  END IF;
  BEGIN
    PERFORM FROM ordo_shard WHERE id = ANY(p_shards) ORDER BY id FOR UPDATE;
  EXCEPTION WHEN lock_not_available THEN
    PERFORM ordo_evict();
    PERFORM FROM ordo_shard WHERE id = ANY(p_shards) ORDER BY id FOR UPDATE;
  END;
  FOR v IN SELECT * FROM unnest(p_shards, p_owners, p_tokens, p_renewals) AS c(shard, owner, token, renewals) LOOP
    SELECT * INTO s FROM ordo_shard WHERE id = v.shard;
    CONTINUE WHEN NOT FOUND OR s.owner <> v.owner OR s.token <> v.token;
    IF s.owner <> '' THEN
      SELECT renewals INTO v_renewals FROM ordo_node WHERE id = s.owner;
      CONTINUE WHEN FOUND AND v_renewals <> v.renewals;
    END IF;
    shard := v.shard;
    token := greatest(s.token + 1, v_now);
    batch := s.batch;
    clean := s.clean;
    SELECT coalesce(max(e.seq), 0) INTO head FROM ordo_entry e WHERE e.shard = v.shard;
    UPDATE ordo_shard u SET owner = p_node, token = greatest(s.token + 1, v_now), holder = p_holder, clean = false
     WHERE u.id = v.shard;
    RETURN NEXT;
  END LOOP;
END $$;

CREATE FUNCTION ordo_release(p_shards bigint[], p_tokens bigint[], p_holders bigint[]) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
BEGIN
  PERFORM ordo_be_durable();
  PERFORM FROM ordo_shard WHERE id = ANY(p_shards) ORDER BY id FOR UPDATE;
  UPDATE ordo_shard s SET owner = '', clean = true
    FROM unnest(p_shards, p_tokens, p_holders) AS r(shard, token, holder)
   WHERE s.id = r.shard AND s.token = r.token AND s.holder = r.holder AND s.owner <> '';
END $$;
)sql";

}  // namespace ordo::store::postgres
