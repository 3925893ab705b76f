// ordo_push with every option of a job, and unique keys in a caller's transaction (rules: uniqueness).
#include "store/postgres/migrations.h"

namespace ordo::store::postgres {

const char* const kUniquePush8 = R"sql(
-- FNV-1a of 128 bits.
CREATE FUNCTION ordo_fnv(p_bytes bytea) RETURNS bytea LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  v_prime CONSTANT numeric := 309485009821345068724781371;
  v_all CONSTANT numeric := 340282366920938463463374607431768211456;
  v_hash numeric := 144066263297769815596495629667062367629;
  v_low int;
  v_digest bytea := '';
BEGIN
  FOR i IN 0 .. octet_length(p_bytes) - 1 LOOP
    v_low := v_hash % 256;
    v_hash := (v_hash - v_low + (v_low # get_byte(p_bytes, i))) * v_prime % v_all;
  END LOOP;
  FOR i IN 1 .. 16 LOOP
    v_low := v_hash % 256;
    v_hash := div(v_hash, 256);
    v_digest := set_byte('\x00', 0, v_low) || v_digest;
  END LOOP;
  RETURN v_digest;
END $$;

-- Names in a row of a unique key, for people.
CREATE FUNCTION ordo_shown(p_name bytea) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  RETURN convert_from(p_name, 'UTF8');
EXCEPTION WHEN character_not_in_repertoire OR untranslatable_character THEN
  RETURN encode(p_name, 'escape');
END $$;

-- Who a row says has the key.
CREATE FUNCTION ordo_holder(p_row bytea, OUT kind text, OUT key text, OUT id text) LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  v_at int := 11 + get_byte(p_row, 10);  -- behind version, scope, first and token
BEGIN
  IF get_byte(p_row, 0) <> 1 THEN
    RAISE EXCEPTION 'ordo_push: a newer version of Ordo wrote who has the unique key; nothing was stored'
      USING ERRCODE = 'feature_not_supported';
  END IF;
  kind := ordo_shown(substring(p_row FROM v_at + 2 FOR get_byte(p_row, v_at)));
  v_at := v_at + 1 + get_byte(p_row, v_at);
  key := ordo_shown(substring(p_row FROM v_at + 2 FOR get_byte(p_row, v_at)));
  id := ordo_shown(substring(p_row FROM v_at + 2 + get_byte(p_row, v_at)));
END $$;

-- Takes a unique key for the job that is about to be pushed: `hold` is what it has of the row (empty: nobody has to take
-- that away), or `there` the id of the job that has the key, if that is to be ignored. The row is inserted and never
-- changed, so nobody waits for the caller's transaction but who wants this key; and this one waits 5 s for another's.
CREATE FUNCTION ordo_take_key(p_queue text, p_kind text, p_key text, p_id text, p_run_at timestamptz, p_unique jsonb,
                              OUT hold bytea, OUT there text) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_scopes CONSTANT text[] := '{queued,queued_or_running,period}';
  v_scope int := array_position(v_scopes, coalesce(p_unique ->> 'scope', 'queued')) - 1;
  v_conflict text := coalesce(p_unique ->> 'on_conflict', 'reject');
  v_period interval;
  v_kind bytea := convert_to(p_kind, 'UTF8');
  v_row bytea;
  v_now bigint := ordo_now(NULL);
  v_first bytea := ordo_little_endian(int8send(coalesce(ordo_micros(p_run_at), v_now)));
  v_token bytea := ordo_short('token', ordo_ulid());
  v_there bytea;
  v_holder record;
BEGIN
  PERFORM ordo_check_names('unique', p_unique, '{key,scope,period,on_conflict}');
  IF v_scope IS NULL THEN
    RAISE EXCEPTION 'ordo_push: the "scope" of unique is queued, queued_or_running or period, not %', ordo_quoted(p_unique -> 'scope')
      USING ERRCODE = 'invalid_parameter_value';
  ELSIF v_conflict NOT IN ('reject', 'ignore') THEN
    RAISE EXCEPTION 'ordo_push: the "on_conflict" of unique is reject or ignore, not %', ordo_quoted(p_unique -> 'on_conflict')
      USING ERRCODE = 'invalid_parameter_value',
            HINT = 'What changes a job that is there would have to wait for its owner inside this transaction. '
                   'throttle is ignore with the scope period.';
  END IF;
  v_period := left(coalesce(p_unique ->> 'period', '1h'), 100);
  IF v_period < interval '1 ms' OR v_period > interval '168 h' THEN
    RAISE EXCEPTION 'ordo_push: the "period" of unique takes 1ms to 168h' USING ERRCODE = 'invalid_parameter_value';
  END IF;
  v_row := ordo_fnv(convert_to(octet_length(v_kind)::text, 'UTF8') || ':' || v_kind
                    || ordo_name('key of unique', p_unique -> 'key'));
  DELETE FROM ordo_wait w WHERE w.queue = p_queue || '!' AND w.key = v_row AND w.until <= v_now;
  LOOP
    INSERT INTO ordo_wait AS w VALUES (
      p_queue || '!', v_row, true,
      CASE WHEN v_scope = 2 THEN v_now + (extract(epoch FROM v_period) * 1000000)::bigint ELSE 9223372036854775807 END,
      set_byte('\x0100', 1, v_scope) || v_first || v_token || ordo_short('kind', p_kind) || ordo_short('key', p_key)
        || convert_to(p_id, 'UTF8')) ON CONFLICT DO NOTHING;
    IF FOUND THEN
      hold := CASE WHEN v_scope = 2 THEN '' ELSE ordo_field(8, set_byte('\x00', 0, v_scope) || v_first || v_token || v_row) END;
      RETURN;
    END IF;
    SELECT w.body INTO v_there FROM ordo_wait w WHERE w.queue = p_queue || '!' AND w.key = v_row;
    EXIT WHEN FOUND;
  END LOOP;
  v_holder := ordo_holder(v_there);
  IF v_conflict = 'reject' THEN
    RAISE EXCEPTION 'ordo_push: job "%" has the unique key already; nothing was stored', v_holder.id
      USING ERRCODE = 'unique_violation', DETAIL = to_jsonb(v_holder)::text;
  END IF;
  there := v_holder.id;
EXCEPTION WHEN lock_not_available THEN
  RAISE EXCEPTION 'ordo_push: another transaction has pushed the unique key and stays open; nothing was stored'
    USING ERRCODE = 'lock_not_available';
END $$;

-- The queue stays until the transaction ends: its rows of unique keys are removed with it, and one that came later would
-- be nobody's.
CREATE FUNCTION ordo_keep_queue(p_queue text, p_number bigint) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  PERFORM FROM ordo_queue WHERE name = p_queue AND number = p_number FOR KEY SHARE;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'ordo_push: queue "%" was removed or resharded meanwhile; nothing was stored', p_queue
      USING ERRCODE = 'object_not_in_prerequisite_state', HINT = 'Roll back and try again.';
  END IF;
END $$;
)sql";

const char* const kPush8 = R"sql(
ALTER FUNCTION ordo_push(text, bytea, text, text, text, float8, timestamptz, interval, int, interval) RENAME TO ordo_push_3;
ALTER FUNCTION ordo_push(text, text, text, text, text, float8, timestamptz, interval, int, interval) RENAME TO ordo_push_3;

-- Pushes one job as a part of the caller's transaction: it is there for workers from COMMIT on, and never was after
-- ROLLBACK. `options`: what has no argument, by the names that all clients have. Returns the job's id, or that of the job
-- that has its unique key, if this is to be ignored.
CREATE FUNCTION ordo_push(
  queue text, payload bytea, id text DEFAULT NULL, key text DEFAULT NULL, kind text DEFAULT NULL,
  score double precision DEFAULT NULL, run_at timestamptz DEFAULT NULL, delay interval DEFAULT NULL,
  priority int DEFAULT NULL, timeout interval DEFAULT NULL, options jsonb DEFAULT NULL
) RETURNS text LANGUAGE plpgsql VOLATILE SECURITY DEFINER AS $$
DECLARE
  v_id text := coalesce(nullif(id, ''), ordo_ulid());
  v_key text := coalesce(nullif(key, ''), v_id);
  v_kind text := coalesce(nullif(kind, ''), queue);
  v_run_at timestamptz := coalesce(run_at, clock_timestamp() + delay);
  v_flags int := 0;
  v_fields bytea := '';
  v_tail bytea := '';
  v_rules bytea := '';
  v_level int := CASE WHEN options ?| '{weight,partition,critical,lock}' THEN 3 ELSE 2 END;  -- of the formats
  v_number bigint;
  v_taken record;
BEGIN
  IF queue IS NULL OR payload IS NULL THEN
    RAISE EXCEPTION 'ordo_push: queue and payload are needed' USING ERRCODE = 'null_value_not_allowed';
  ELSIF length(queue) > 64 THEN
    RAISE EXCEPTION 'ordo_push: there is no queue %', ordo_quoted(to_jsonb(queue)) USING ERRCODE = 'invalid_parameter_value';
  ELSIF octet_length(payload) > 1 << 20 THEN
    RAISE EXCEPTION 'ordo_push: the payload has % bytes, at most % fit', octet_length(payload), 1 << 20
      USING ERRCODE = 'program_limit_exceeded', HINT = 'Store it elsewhere and push its place.';
  ELSIF run_at IS NOT NULL AND delay IS NOT NULL THEN
    RAISE EXCEPTION 'ordo_push: give run_at or delay, not both' USING ERRCODE = 'invalid_parameter_value';
  ELSIF score IN ('NaN', 'Infinity', '-Infinity') THEN
    RAISE EXCEPTION 'ordo_push: the score is not a finite number' USING ERRCODE = 'invalid_parameter_value';
  ELSIF timeout <= interval '0' THEN
    RAISE EXCEPTION 'ordo_push: the timeout is not positive' USING ERRCODE = 'invalid_parameter_value';
  END IF;
  IF options IS NOT NULL THEN
    v_rules := ordo_rules(options);
  END IF;
  IF options ? 'unique' THEN
    SELECT q.number INTO v_number FROM ordo_queue q WHERE q.name = queue;
    v_taken := ordo_take_key(queue, v_kind, v_key, v_id, v_run_at, options -> 'unique');
    IF v_taken.there IS NOT NULL THEN
      RETURN v_taken.there;
    END IF;
    IF v_taken.hold <> '' THEN
      v_rules := v_rules || v_taken.hold;
      v_level := 4;
    END IF;
  END IF;
  IF v_key <> v_id THEN
    v_flags := v_flags | 1;
    v_tail := v_tail || ordo_short('key', v_key);
  END IF;
  IF score IS NOT NULL THEN
    v_flags := v_flags | 2;
    v_tail := v_tail || ordo_little_endian(float8send(score));
  END IF;
  IF v_run_at IS NOT NULL THEN
    v_flags := v_flags | 4;
    v_tail := v_tail || ordo_little_endian(int8send(ordo_micros(v_run_at)));
  END IF;
  IF priority IS NOT NULL THEN
    v_flags := v_flags | 8;
    v_tail := v_tail || ordo_little_endian(int4send(priority));
  END IF;
  IF timeout IS NOT NULL THEN
    v_flags := v_flags | 16;
    v_tail := v_tail || ordo_little_endian(int8send((extract(epoch FROM timeout) * 1000000)::bigint));
  END IF;
  IF v_rules <> '' THEN
    v_flags := v_flags | 96;
    v_fields := ordo_field(1, set_byte('\x0000', 0, v_level));
    v_fields := ordo_little_endian(int4send(octet_length(v_fields))) || v_fields;
    v_tail := v_tail || ordo_little_endian(int4send(octet_length(v_rules))) || v_rules;
  END IF;
  PERFORM ordo_put(queue, ordo_crc32(convert_to(v_key, 'UTF8')),
                   set_byte('\x0100', 1, v_flags) || v_fields || ordo_short('kind', v_kind)
                   || ordo_short('id', v_id) || v_tail || payload);
  IF options ? 'unique' THEN
    PERFORM ordo_keep_queue(queue, v_number);
  END IF;
  RETURN v_id;
END $$;

CREATE FUNCTION ordo_push(
  queue text, payload text DEFAULT '', id text DEFAULT NULL, key text DEFAULT NULL, kind text DEFAULT NULL,
  score double precision DEFAULT NULL, run_at timestamptz DEFAULT NULL, delay interval DEFAULT NULL,
  priority int DEFAULT NULL, timeout interval DEFAULT NULL, options jsonb DEFAULT NULL
) RETURNS text LANGUAGE plpgsql VOLATILE SECURITY DEFINER AS $$
BEGIN
  RETURN ordo_push(queue, convert_to(payload, 'UTF8'), id, key, kind, score, run_at, delay, priority, timeout, options);
END $$;

-- Who could push until now still can.
DO $do$
DECLARE
  v_grant record;
BEGIN
  REVOKE ALL ON FUNCTION ordo_push(text, bytea, text, text, text, float8, timestamptz, interval, int, interval, jsonb),
                         ordo_push(text, text, text, text, text, float8, timestamptz, interval, int, interval, jsonb) FROM PUBLIC;
  FOR v_grant IN
    SELECT p.proargtypes[1]::regtype AS payload, CASE WHEN a.grantee = 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END AS role
      FROM pg_proc p CROSS JOIN LATERAL aclexplode(p.proacl) a
     WHERE p.pronamespace = current_schema()::regnamespace AND p.proname = 'ordo_push_3'
  LOOP
    EXECUTE format('GRANT EXECUTE ON FUNCTION ordo_push(text, %s, text, text, text, float8, timestamptz, interval, int, interval, jsonb) TO %s',
                   v_grant.payload, v_grant.role);
  END LOOP;
END $do$;
DROP FUNCTION ordo_push_3(text, bytea, text, text, text, float8, timestamptz, interval, int, interval),
              ordo_push_3(text, text, text, text, text, float8, timestamptz, interval, int, interval);
)sql";

// Of those that wait for others' transactions.
const char* const kPushSettings8 = R"sql(
ALTER FUNCTION ordo_take_key SET lock_timeout = '5s';
ALTER FUNCTION ordo_keep_queue SET lock_timeout = '5s';
)sql";

}  // namespace ordo::store::postgres
