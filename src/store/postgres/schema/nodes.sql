-- Nodes and leases. Row locks are taken in the order of their keys, nodes before shards.

CREATE FUNCTION ordo_join(p_node text, p_facts bytea, p_now bigint) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
  v_last bigint;
BEGIN
  LOOP
    INSERT INTO ordo_node(id) VALUES (p_node) ON CONFLICT (id) DO NOTHING;
    PERFORM FROM ordo_node WHERE id = p_node FOR NO KEY UPDATE;
    EXIT WHEN FOUND;
  END LOOP;
  SELECT p.renewals INTO v_last FROM ordo_pulse p WHERE p.node = p_node ORDER BY p.renewals DESC LIMIT 1;
  INSERT INTO ordo_pulse VALUES (p_node, greatest(v_last + 1, ordo_now(p_now)), p_facts);
  DELETE FROM ordo_pulse WHERE node = p_node AND renewals = v_last;
END $$;

CREATE FUNCTION ordo_renew(p_node text, p_now bigint) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
  v_last ordo_pulse;
BEGIN
  PERFORM FROM ordo_node WHERE id = p_node FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  SELECT * INTO STRICT v_last FROM ordo_pulse p WHERE p.node = p_node ORDER BY p.renewals DESC LIMIT 1;
  INSERT INTO ordo_pulse VALUES (p_node, greatest(v_last.renewals + 1, ordo_now(p_now)), v_last.facts);
  DELETE FROM ordo_pulse WHERE node = p_node AND renewals = v_last.renewals;
  RETURN true;
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
  PERFORM FROM ordo_node WHERE id = p_node FOR UPDATE;
  IF NOT FOUND OR p_seen <> (SELECT renewals FROM ordo_living_node WHERE id = p_node) THEN
    RETURN;
  END IF;
  PERFORM FROM ordo_shard WHERE owner = p_node ORDER BY id FOR UPDATE;
  UPDATE ordo_shard SET owner = '' WHERE owner = p_node;
  DELETE FROM ordo_pulse WHERE node = p_node;
  DELETE FROM ordo_node WHERE id = p_node;
END $$;

-- Ends sessions that hold rows of ordo_shard while the server waits for their client. A client that was stopped in the
-- middle of a transaction would hold them for ever: no timeout of the server ends it. Only stores write ordo_shard, and
-- they never keep the server waiting there.
CREATE FUNCTION ordo_evict() RETURNS void LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
BEGIN
  PERFORM pg_terminate_backend(a.pid) FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
   WHERE l.relation = 'ordo_shard'::regclass AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
     AND l.mode IN ('RowExclusiveLock', 'RowShareLock') AND l.granted AND a.pid <> pg_backend_pid()
     AND a.wait_event = 'ClientRead';
END $$;

-- Claims are weighed in their order. A row of a node that is shared here cannot renew until the grant is durable. The head
-- is read after the lock, too.
CREATE FUNCTION ordo_acquire(p_node text, p_holder bigint, p_now bigint, p_shards bigint[], p_owners text[],
                                        p_tokens bigint[], p_renewals bigint[])
RETURNS TABLE(shard bigint, token bigint, batch bigint, head bigint, clean boolean) LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
  v record;
  s ordo_shard;
  h record;
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
      SELECT renewals INTO v_renewals FROM ordo_living_node WHERE id = s.owner;
      CONTINUE WHEN FOUND AND v_renewals <> v.renewals;
    END IF;
    SELECT * INTO h FROM ordo_newest_head n WHERE n.shard = v.shard;
    shard := v.shard;
    token := greatest(s.token + 1, v_now);
    batch := h.batch;
    clean := s.clean;
    SELECT coalesce(max(e.seq), 0) INTO head FROM ordo_entry e WHERE e.shard = v.shard AND e.seq >= h.low;
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
