-- The log of entries: appending, reading it by snapshots, moving what became visible late, and waking sleeping readers.

CREATE FUNCTION ordo_now(p_now bigint) RETURNS bigint LANGUAGE sql VOLATILE AS $$
  SELECT coalesce(p_now, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)
$$;

-- The first number of this transaction.
CREATE FUNCTION ordo_transaction_seq() RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
  v_xid bigint;
BEGIN
  SELECT pg_current_xact_id()::text::bigint + xid_base INTO STRICT v_xid FROM ordo_meta;
  IF v_xid >= 1::bigint << 43 THEN
    RAISE EXCEPTION 'ordo: transaction ids have outgrown the numbers of entries' USING ERRCODE = 'program_limit_exceeded';
  END IF;
  RETURN v_xid << 20;
END $$;

-- An acknowledged write is durable, whatever the session was set to.
CREATE FUNCTION ordo_be_durable() RETURNS void LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
BEGIN
  IF current_setting('synchronous_commit') = 'off' THEN
    PERFORM set_config('synchronous_commit', 'on', true);
  END IF;
END $$;

CREATE FUNCTION ordo_wake() RETURNS void LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
  v_no bigint;
BEGIN
  PERFORM FROM ordo_meta FOR NO KEY UPDATE;
  SELECT no INTO STRICT v_no FROM ordo_wakes ORDER BY no DESC LIMIT 1;
  INSERT INTO ordo_wakes VALUES (v_no + 1);
  DELETE FROM ordo_wakes WHERE no = v_no;
  PERFORM pg_notify('ordo_' || 'ordo_meta'::regclass::oid, '');
END $$;

-- What this transaction wrote may interest sleepers; those of `p_store` are woken without the server. Reads their flags
-- after the write: a sleeper whose flag is not seen here takes its snapshot later and finds this transaction in progress.
-- An old snapshot might miss the flag.
CREATE FUNCTION ordo_tell(p_store bigint) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
  v_now bigint := ordo_now(NULL);
BEGIN
  IF current_setting('transaction_isolation') NOT LIKE 'read %'
     OR EXISTS (SELECT FROM ordo_sleeper WHERE until > v_now AND store <> p_store) THEN
    PERFORM pg_notify('ordo_' || 'ordo_meta'::regclass::oid, '');
  END IF;
END $$;

-- Returns the flag, for ordo_wake_up, or for `p_last` of the next one, which takes its place. Nothing is asked of a disk.
CREATE FUNCTION ordo_sleep(p_id bigint, p_store bigint, p_ms bigint, p_last bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
  v_until bigint := ordo_now(NULL) + p_ms * 1000;
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  DELETE FROM ordo_sleeper WHERE until = p_last AND id = p_id;
  INSERT INTO ordo_sleeper VALUES (v_until, p_id, p_store);
  RETURN v_until;
END $$;

CREATE FUNCTION ordo_wake_up(p_id bigint, p_until bigint) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  DELETE FROM ordo_sleeper WHERE until = p_until AND id = p_id;
END $$;

-- Called before an entry is written: throws if the queue is closed. It first takes the lock that the insertion needs, so
-- ordo_writers() sees every transaction that found the queue open until it has ended. A transaction with an old snapshot, which
-- would not see that the queue was closed, fails here if it was, or keeps it open.
CREATE FUNCTION ordo_check_open(p_queue bigint) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
BEGIN
  LOCK TABLE ordo_entry IN ROW EXCLUSIVE MODE;
  IF current_setting('transaction_isolation') NOT LIKE 'read %' THEN
    PERFORM FROM ordo_queue WHERE number = p_queue FOR SHARE;
  END IF;
  IF NOT EXISTS (SELECT FROM ordo_queue WHERE number = p_queue AND NOT closed) THEN
    RAISE EXCEPTION 'ordo: the queue is closed' USING ERRCODE = 'object_not_in_prerequisite_state';
  END IF;
END $$;

-- Appends all entries; or nothing, and returns the shards that do not exist or are closed. `p_places`: the place of each
-- entry among those of its shard.
CREATE FUNCTION ordo_append(p_store bigint, p_now bigint, p_known bigint[], p_shards bigint[],
                                       p_places bigint[], p_bodies bytea[])
RETURNS bigint[] LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
  v_unknown bigint[];
  v_first bigint;
  v_at bigint;
BEGIN
  LOCK TABLE ordo_entry IN ROW EXCLUSIVE MODE;
  SELECT array_agg(k.shard) INTO v_unknown FROM unnest(p_known) AS k(shard)
   WHERE NOT EXISTS (SELECT FROM ordo_shard s WHERE s.id = k.shard)
      OR EXISTS (SELECT FROM ordo_queue q WHERE q.number = k.shard >> 16 AND q.closed);
  IF v_unknown IS NOT NULL THEN
    RETURN v_unknown;
  END IF;
  PERFORM ordo_be_durable();
  v_first := ordo_transaction_seq();
  v_at := ordo_now(p_now);
  INSERT INTO ordo_entry(shard, seq, at, body)
    SELECT e.shard, v_first + e.place, v_at, e.body FROM unnest(p_shards, p_places, p_bodies) AS e(shard, place, body);
  PERFORM ordo_tell(p_store);
  RETURN '{}';
END $$;

-- The other transactions that write entries now.
CREATE FUNCTION ordo_writers() RETURNS text[] LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
BEGIN
  RETURN (SELECT coalesce(array_agg(DISTINCT virtualtransaction), '{}') FROM pg_locks
           WHERE locktype = 'relation' AND relation = 'ordo_entry'::regclass AND mode = 'RowExclusiveLock' AND granted
             AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
             AND pid IS DISTINCT FROM pg_backend_pid());
END $$;

-- Of these transactions, those that may have written entries: they hold the lock that this takes until they end.
CREATE FUNCTION ordo_writing(p_xids bigint[]) RETURNS bigint[] LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
BEGIN
  RETURN (SELECT coalesce(array_agg(DISTINCT p.xid), '{}')
            FROM pg_locks w JOIN pg_locks x ON x.virtualtransaction = w.virtualtransaction CROSS JOIN ordo_meta m
            JOIN unnest(p_xids) AS p(xid) ON (p.xid - m.xid_base) & 4294967295 = x.transactionid::text::bigint
           WHERE w.locktype = 'relation' AND w.relation = 'ordo_entry'::regclass AND w.mode = 'RowExclusiveLock' AND w.granted
             AND w.database = (SELECT oid FROM pg_database WHERE datname = current_database())
             AND x.locktype = 'transactionid' AND x.mode = 'ExclusiveLock' AND x.granted);
END $$;

-- Where the logs begin: below `low` there are only entries that the transactions in `unseen` left, or will leave.
CREATE FUNCTION ordo_starts(p_shards bigint[]) RETURNS TABLE(shard bigint, low bigint, unseen bigint[])
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY SELECT h.shard, h.low, h.unseen FROM ordo_newest_head h WHERE h.shard = ANY(p_shards);
END $$;

-- One snapshot of several shards. First a row that tells of the snapshot itself (kind 0: definitions, wakes, us, its text
-- and xid_base). `p_open`: transactions that an earlier snapshot saw in progress. Those that have ended may have left
-- entries before the place that was reached: an owner's (p_owned) are to be moved first (kind 3: their transaction as
-- `seq`). `p_skip_*`: transactions whose entries are to be moved wherever they stand.
-- Then a page: what is late for those who only look (kind 2), transaction by transaction, each from the number on that was
-- reached in the shard at `p_open_places`; and the entries behind each shard's place, shard by shard (kind 1). A page that
-- is full ends with the next entry without its body.
CREATE FUNCTION ordo_read_page(p_shards bigint[], p_after bigint[], p_owned boolean[], p_open bigint[],
                               p_open_places bigint[], p_open_from bigint[],
                               p_skip_shards bigint[], p_skip_xids bigint[], p_rows bigint, p_bytes bigint)
RETURNS TABLE(kind int, shard bigint, seq bigint, at bigint, body bytea) LANGUAGE plpgsql VOLATILE
SET work_mem = '64MB' AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY
    SELECT 0, m.definitions, (SELECT w.no FROM ordo_wakes w ORDER BY w.no DESC LIMIT 1), ordo_now(NULL),
           convert_to(pg_current_snapshot()::text || ':' || m.xid_base, 'UTF8')
      FROM ordo_meta m
  UNION ALL
    SELECT 3, s.shard, o.xid, 0::bigint, NULL
      FROM unnest(p_shards, p_after, p_owned) AS s(shard, after, owned)
      JOIN LATERAL unnest(p_open) AS o(xid) ON s.owned AND o.xid << 20 < s.after
      CROSS JOIN LATERAL (
        SELECT FROM ordo_entry e WHERE e.shard = s.shard AND e.seq >= o.xid << 20 AND e.seq < least((o.xid + 1) << 20, s.after)
         LIMIT 1) e
     WHERE EXISTS (SELECT FROM ordo_shard x WHERE x.id = s.shard)
  UNION ALL
    SELECT 3, s.shard, s.xid, 0::bigint, NULL FROM unnest(p_skip_shards, p_skip_xids) AS s(shard, xid)
      CROSS JOIN LATERAL (
        SELECT FROM ordo_entry e WHERE e.shard = s.shard AND e.seq >= s.xid << 20 AND e.seq < (s.xid + 1) << 20 LIMIT 1) e
  UNION ALL
    SELECT page.kind, page.shard, page.seq, page.at, CASE WHEN page.no <= p_rows AND page.before < p_bytes THEN page.body END
      FROM (
        SELECT found.*, row_number() OVER so_far AS no,
               sum(octet_length(found.body)) OVER so_far - octet_length(found.body) AS before,
               lag(octet_length(found.body), 1, 0) OVER so_far AS last
          FROM (
            SELECT 2 AS kind, s.shard, e.seq, e.at, e.body
              FROM unnest(p_open, p_open_places, p_open_from) AS o(xid, place, reached)
              JOIN LATERAL unnest(p_shards, p_after, p_owned) WITH ORDINALITY AS s(shard, after, owned, place)
                ON NOT s.owned AND s.place >= o.place AND o.xid << 20 < s.after
              CROSS JOIN LATERAL (
                SELECT e.seq, e.at, e.body FROM ordo_entry e
                 WHERE e.shard = s.shard AND e.seq < least((o.xid + 1) << 20, s.after)
                   AND e.seq >= greatest(o.xid << 20, CASE WHEN s.place = o.place THEN o.reached END)
                 ORDER BY e.seq LIMIT p_rows + 1) e
             WHERE EXISTS (SELECT FROM ordo_shard x WHERE x.id = s.shard)
          UNION ALL
            SELECT 1, s.shard, e.seq, e.at, e.body FROM unnest(p_shards, p_after) AS s(shard, after)
              CROSS JOIN LATERAL (
                SELECT e.seq, e.at, e.body FROM ordo_entry e WHERE e.shard = s.shard AND e.seq > s.after
                  AND (cardinality(p_skip_xids) = 0 OR NOT EXISTS (
                    SELECT FROM unnest(p_skip_shards, p_skip_xids) AS k(shard, xid)
                     WHERE k.shard = s.shard AND k.xid = e.seq >> 20))
                 ORDER BY e.seq LIMIT p_rows + 1) e
             WHERE EXISTS (SELECT FROM ordo_shard x WHERE x.id = s.shard)
             LIMIT p_rows + 1) found
        WINDOW so_far AS (ROWS UNBOUNDED PRECEDING)) page
     WHERE page.before - page.last < p_bytes;
END $$;

CREATE FUNCTION ordo_fetch(p_shard bigint, p_seqs bigint[])
RETURNS TABLE(kind int, shard bigint, seq bigint, at bigint, body bytea) LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY SELECT 1, e.shard, e.seq, e.at, e.body FROM unnest(p_seqs) AS w(seq)
    CROSS JOIN LATERAL (SELECT * FROM ordo_entry o WHERE o.shard = p_shard AND o.seq = w.seq OFFSET 0) e
    WHERE EXISTS (SELECT FROM ordo_shard x WHERE x.id = p_shard);
END $$;

-- Gives what the transactions left in the owner's shards new numbers: right behind all that this owner (p_after) or one
-- before it (seen) has read, where their old ones would sort them before entries that were acted upon; and before all
-- that nobody has read, as who pushed that may have waited for the end of these transactions. There is room: the numbers
-- behind a transaction's last entry are nobody else's. A bounded piece of each: what is left is moved by the next call,
-- behind it. Returns the pairs that were moved, or whose lease is stale (negative transaction).
CREATE FUNCTION ordo_move(p_shards bigint[], p_xids bigint[], p_tokens bigint[], p_holders bigint[],
                                     p_after bigint[], p_at bigint[])
RETURNS TABLE(shard bigint, xid bigint) LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
  v record;
  v_own bigint := ordo_transaction_seq();
  v_last bigint;
  v_rows bigint;
  v_moved bigint;
  v_room bigint := 10000;
BEGIN
  PERFORM ordo_be_durable();
  FOR v IN SELECT * FROM unnest(p_shards, p_xids, p_tokens, p_holders, p_after, p_at)
                           AS p(shard, xid, token, holder, after, at) ORDER BY p.shard, p.xid LOOP
    PERFORM FROM ordo_shard s
      WHERE s.id = v.shard AND s.token = v.token AND s.holder = v.holder AND s.owner <> '' FOR SHARE;
    IF NOT FOUND THEN
      RETURN QUERY SELECT v.shard, -v.xid;
      CONTINUE;
    END IF;
    SELECT greatest(h.seen, v.after) INTO STRICT v_last FROM ordo_newest_head h WHERE h.shard = v.shard;
    SELECT coalesce(max(e.seq), v_last) INTO v_last FROM ordo_entry e
     WHERE e.shard = v.shard AND e.seq >= v_last AND e.seq < ((v_last >> 20) + 1) << 20;
    SELECT count(*) INTO v_rows FROM ordo_entry e
     WHERE e.shard = v.shard AND e.seq >= v.xid << 20 AND e.seq < (v.xid + 1) << 20;
    IF (v_last + v_rows) >> 20 <> v_last >> 20 THEN
      v_last := v_own;  -- a million at one place: behind all, then, and whole, as a rest might fit there
      v_own := v_own + v_rows;
      EXIT WHEN v_own >> 20 <> v_last >> 20;
    ELSE
      v_rows := least(v_rows, v_room);
    END IF;
    UPDATE ordo_entry e SET seq = v_last + t.place, at = greatest(e.at, v.at)
      FROM (SELECT o.seq, row_number() OVER (ORDER BY o.seq) AS place FROM ordo_entry o
             WHERE o.shard = v.shard AND o.seq >= v.xid << 20 AND o.seq < (v.xid + 1) << 20
             ORDER BY o.seq LIMIT v_rows) t
     WHERE e.shard = v.shard AND e.seq = t.seq;
    GET DIAGNOSTICS v_moved = ROW_COUNT;
    RETURN QUERY SELECT v.shard, v.xid;
    v_room := v_room - v_moved;
    EXIT WHEN v_room <= 0;
  END LOOP;
END $$;
