// Appending to the log, reading it, moving what became visible late, and waking who sleeps.
#include "store/postgres/migrations.h"

namespace ordo::store::postgres {

const char* const kLogFunctions1 = R"sql(
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

-- What this transaction wrote may interest sleepers; those of `p_store` are woken without the server. Reads their flags
-- after the write: a sleeper whose flag is not seen here takes its snapshot later and finds this transaction in progress.
-- An old snapshot might miss the flag.
CREATE FUNCTION ordo_tell(p_store bigint) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
BEGIN
  IF current_setting('transaction_isolation') NOT LIKE 'read %'
     OR EXISTS (SELECT FROM ordo_sleeper WHERE store <> p_store AND until > clock_timestamp()) THEN
    PERFORM pg_notify('ordo_' || 'ordo_meta'::regclass::oid, '');
  END IF;
END $$;

CREATE FUNCTION ordo_wake() RETURNS void LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
BEGIN
  UPDATE ordo_meta SET wakes = wakes + 1;
  PERFORM pg_notify('ordo_' || 'ordo_meta'::regclass::oid, '');
END $$;

-- Nothing is asked of a disk for a flag.
CREATE FUNCTION ordo_sleep(p_id bigint, p_store bigint, p_ms bigint) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  INSERT INTO ordo_sleeper VALUES (p_id, p_store, clock_timestamp() + p_ms * interval '1 millisecond')
  ON CONFLICT (id) DO UPDATE SET until = excluded.until;
END $$;

CREATE FUNCTION ordo_wake_up(p_id bigint) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  DELETE FROM ordo_sleeper WHERE id = p_id OR until < clock_timestamp() - interval '1 minute';
END $$;

-- Appends all, or nothing and returns the shards that do not exist. `p_places`: of each entry among those of its shard.
CREATE FUNCTION ordo_append(p_store bigint, p_now bigint, p_known bigint[], p_shards bigint[], p_places bigint[],
                            p_bodies bytea[]) RETURNS bigint[] LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
  v_unknown bigint[];
  v_first bigint;
  v_at bigint;
BEGIN
  SELECT array_agg(k.shard) INTO v_unknown FROM unnest(p_known) AS k(shard)
   WHERE NOT EXISTS (SELECT FROM ordo_shard s WHERE s.id = k.shard);
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

-- One snapshot of several shards. First a row that tells of the snapshot itself (kind 0: definitions, wakes, us, its text
-- and xid_base); then the entries behind each shard's place, shard by shard (kind 1). `p_open`: transactions that an
-- earlier snapshot saw in progress. Those that have ended may have left entries before the place that was reached: an
-- owner's (p_owned) are to be moved first (kind 3: their transaction as `seq`), others are returned here (kind 2).
-- `p_skip_*`: transactions whose entries are to be moved wherever they stand.
CREATE FUNCTION ordo_read(p_shards bigint[], p_after bigint[], p_owned boolean[], p_open bigint[],
                          p_skip_shards bigint[], p_skip_xids bigint[], p_rows bigint, p_bytes bigint)
RETURNS TABLE(kind int, shard bigint, seq bigint, at bigint, body bytea) LANGUAGE plpgsql VOLATILE
SET work_mem = '64MB' AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY
    SELECT 0, m.definitions, m.wakes, ordo_now(NULL), convert_to(pg_current_snapshot()::text || ':' || m.xid_base, 'UTF8')
      FROM ordo_meta m
  UNION ALL
    SELECT late.* FROM (
      SELECT CASE WHEN s.owned THEN 3 ELSE 2 END, s.shard, CASE WHEN s.owned THEN o.xid ELSE e.seq END, e.at, e.body
        FROM unnest(p_shards, p_after, p_owned) AS s(shard, after, owned)
        JOIN LATERAL unnest(p_open) AS o(xid) ON o.xid << 20 < s.after
        CROSS JOIN LATERAL (
          SELECT e.seq, e.at, CASE WHEN s.owned THEN NULL ELSE e.body END AS body FROM ordo_entry e
           WHERE e.shard = s.shard AND e.seq >= o.xid << 20 AND e.seq < least((o.xid + 1) << 20, s.after)
           ORDER BY e.seq LIMIT CASE WHEN s.owned THEN 1 END) e
       WHERE EXISTS (SELECT FROM ordo_shard x WHERE x.id = s.shard)) late
  UNION ALL
    SELECT 3, s.shard, s.xid, 0::bigint, NULL FROM unnest(p_skip_shards, p_skip_xids) AS s(shard, xid)
     WHERE EXISTS (SELECT FROM ordo_entry e
                    WHERE e.shard = s.shard AND e.seq >= s.xid << 20 AND e.seq < (s.xid + 1) << 20)
  UNION ALL
    SELECT 1, page.shard, page.seq, page.at, page.body FROM (
      SELECT found.*, sum(octet_length(found.body)) OVER (ROWS UNBOUNDED PRECEDING) - octet_length(found.body) AS before
        FROM (
          SELECT s.shard, e.seq, e.at, e.body FROM unnest(p_shards, p_after) AS s(shard, after)
            CROSS JOIN LATERAL (
              SELECT e.seq, e.at, e.body FROM ordo_entry e WHERE e.shard = s.shard AND e.seq > s.after
                AND (cardinality(p_skip_xids) = 0 OR NOT EXISTS (
                  SELECT FROM unnest(p_skip_shards, p_skip_xids) AS k(shard, xid)
                   WHERE k.shard = s.shard AND k.xid = e.seq >> 20))
               ORDER BY e.seq LIMIT p_rows) e
           WHERE EXISTS (SELECT FROM ordo_shard x WHERE x.id = s.shard)
           LIMIT p_rows) found) page
     WHERE page.before < p_bytes;
END $$;

-- The rest of a transaction that a page ended in.
CREATE FUNCTION ordo_read_rest(p_shard bigint, p_after bigint)
RETURNS TABLE(kind int, shard bigint, seq bigint, at bigint, body bytea) LANGUAGE plpgsql VOLATILE
SET work_mem = '64MB' AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY SELECT 1, e.shard, e.seq, e.at, e.body FROM ordo_entry e
    WHERE e.shard = p_shard AND e.seq > p_after AND e.seq < ((p_after >> 20) + 1) << 20 ORDER BY e.seq;
END $$;

-- Gives what the transactions left in the owner's shards new numbers: right behind all that this owner (p_after) or one
-- before it (seen) has read, where their old ones would sort them before entries that were acted upon; and before all
-- that nobody has read, as who pushed that may have waited for the end of these transactions. There is room: the numbers
-- behind a transaction's last entry are nobody else's. Returns the pairs that were moved, or whose lease is stale
-- (negative transaction); the rest waits for the next call.
CREATE FUNCTION ordo_move(p_shards bigint[], p_xids bigint[], p_tokens bigint[], p_holders bigint[], p_after bigint[],
                          p_at bigint[])
RETURNS TABLE(shard bigint, xid bigint) LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
  v record;
  v_own bigint := ordo_transaction_seq();
  v_last bigint;
  v_rows bigint;
BEGIN
  PERFORM ordo_be_durable();
  FOR v IN SELECT * FROM unnest(p_shards, p_xids, p_tokens, p_holders, p_after, p_at)
                           AS p(shard, xid, token, holder, after, at) ORDER BY p.shard, p.xid LOOP
    SELECT greatest(s.seen, v.after) INTO v_last FROM ordo_shard s
     WHERE s.id = v.shard AND s.token = v.token AND s.holder = v.holder AND s.owner <> '' FOR SHARE;
    IF NOT FOUND THEN
      RETURN QUERY SELECT v.shard, -v.xid;
      CONTINUE;
    END IF;
    SELECT coalesce(max(e.seq), v_last) INTO v_last FROM ordo_entry e
     WHERE e.shard = v.shard AND e.seq >= v_last AND e.seq < ((v_last >> 20) + 1) << 20;
    SELECT count(*) INTO v_rows FROM ordo_entry e
     WHERE e.shard = v.shard AND e.seq >= v.xid << 20 AND e.seq < (v.xid + 1) << 20;
    IF (v_last + v_rows) >> 20 <> v_last >> 20 THEN
      v_last := v_own;  -- a million at one place: behind all, then
      v_own := v_own + v_rows;
      EXIT WHEN v_own >> 20 <> v_last >> 20;
    END IF;
    UPDATE ordo_entry e SET seq = v_last + t.place, at = greatest(e.at, v.at)
      FROM (SELECT o.seq, row_number() OVER (ORDER BY o.seq) AS place FROM ordo_entry o
             WHERE o.shard = v.shard AND o.seq >= v.xid << 20 AND o.seq < (v.xid + 1) << 20) t
     WHERE e.shard = v.shard AND e.seq = t.seq;
    RETURN QUERY SELECT v.shard, v.xid;
  END LOOP;
END $$;

-- What an owner before left to be moved.
CREATE FUNCTION ordo_unseen(p_shards bigint[]) RETURNS TABLE(shard bigint, xid bigint) LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY SELECT s.id, u.xid FROM ordo_shard s CROSS JOIN LATERAL unnest(s.unseen) AS u(xid)
    WHERE s.id = ANY(p_shards);
END $$;

CREATE FUNCTION ordo_fetch(p_shard bigint, p_seqs bigint[])
RETURNS TABLE(kind int, shard bigint, seq bigint, at bigint, body bytea) LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY SELECT 1, e.shard, e.seq, e.at, e.body FROM unnest(p_seqs) AS w(seq)
    JOIN ordo_entry e ON e.shard = p_shard AND e.seq = w.seq
    WHERE EXISTS (SELECT FROM ordo_shard x WHERE x.id = p_shard);
END $$;
)sql";

}  // namespace ordo::store::postgres
