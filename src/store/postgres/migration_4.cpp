// Pages of the log that end where they are full, late entries that are moved in pieces, the rule for names.
#include "store/postgres/migrations.h"

namespace ordo::store::postgres {

const char* const kLog4 = R"sql(
-- One snapshot of several shards. First a row that tells of the snapshot itself (kind 0: definitions, wakes, us, its text
-- and xid_base). `p_open`: transactions that an earlier snapshot saw in progress. Those that have ended may have left
-- entries before the place that was reached: an owner's (p_owned) are to be moved first (kind 3: their transaction as
-- `seq`). `p_skip_*`: transactions whose entries are to be moved wherever they stand.
-- Then a page: what is late for those who only look (kind 2), transaction by transaction, each from the number on that was
-- reached in the shard at `p_open_places`; and the entries behind each shard's place, shard by shard (kind 1). A page that is full
-- ends with the next entry without its body.
CREATE FUNCTION ordo_read_page(p_shards bigint[], p_after bigint[], p_owned boolean[], p_open bigint[],
                               p_open_places bigint[], p_open_from bigint[],
                               p_skip_shards bigint[], p_skip_xids bigint[], p_rows bigint, p_bytes bigint)
RETURNS TABLE(kind int, shard bigint, seq bigint, at bigint, body bytea) LANGUAGE plpgsql VOLATILE
SET work_mem = '64MB' AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY
    SELECT 0, m.definitions, m.wakes, ordo_now(NULL), convert_to(pg_current_snapshot()::text || ':' || m.xid_base, 'UTF8')
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
     WHERE EXISTS (SELECT FROM ordo_entry e
                    WHERE e.shard = s.shard AND e.seq >= s.xid << 20 AND e.seq < (s.xid + 1) << 20)
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

-- Gives what the transactions left in the owner's shards new numbers: right behind all that this owner (p_after) or one
-- before it (seen) has read, where their old ones would sort them before entries that were acted upon; and before all
-- that nobody has read, as who pushed that may have waited for the end of these transactions. There is room: the numbers
-- behind a transaction's last entry are nobody else's. A bounded piece of each: what is left is moved by the next call,
-- behind it. Returns the pairs that were moved, or whose lease is stale (negative transaction).
CREATE OR REPLACE FUNCTION ordo_move(p_shards bigint[], p_xids bigint[], p_tokens bigint[], p_holders bigint[],
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
)sql";

// What a program's own SQL may define. The store's own name for it knows no rule: it is told what is hidden.
const char* const kDefine4 = R"sql(
ALTER FUNCTION ordo_define(text, int) RENAME TO ordo_define_any;

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
)sql";

}  // namespace ordo::store::postgres
