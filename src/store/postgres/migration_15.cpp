// An expiry like "+1h" counts from the time of its job, and moves with it. Repeats how the domain writes that
// (entry.cpp); tests/servers/postgres_options_test.cpp compares.
#include "store/postgres/migrations.h"

namespace ordo::store::postgres {

const char* const kExpiry15 = R"sql(
-- How many microseconds behind its time a job expires; null: that is given as a time.
CREATE FUNCTION ordo_expires_after(p_value jsonb) RETURNS bigint LANGUAGE plpgsql STABLE AS $$
DECLARE
  v_text text := p_value #>> '{}';
BEGIN
  IF jsonb_typeof(p_value) IS DISTINCT FROM 'string' OR left(v_text, 1) <> '+' OR length(v_text) > 100 THEN
    RETURN NULL;
  END IF;
  RETURN (extract(epoch FROM substr(v_text, 2)::interval) * 1000000)::bigint;
END $$;

-- That time, as ordo_expiry takes it.
CREATE FUNCTION ordo_expires_at(p_start timestamptz, p_after bigint) RETURNS jsonb LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  RETURN to_jsonb(greatest(least((ordo_micros(p_start)::numeric + p_after) / 1000000, 253402300799.999999), -62167219200));
END $$;
)sql";

const char* const kPush15 = R"sql(
-- Pushes one job as a part of the caller's transaction: it is there for workers from COMMIT on, and never was after
-- ROLLBACK. `options`: what has no argument, by the names that all clients have. Returns the job's id, or that of the job
-- that has its unique key, if this is to be ignored.
CREATE OR REPLACE FUNCTION ordo_push(
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
  v_last bytea;
  v_after bigint;
  v_number bigint;
  v_taken record;
BEGIN
  IF queue IS NULL OR payload IS NULL THEN
    RAISE EXCEPTION 'ordo_push: queue and payload are needed' USING ERRCODE = 'null_value_not_allowed';
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
    v_after := ordo_expires_after(options -> 'expires');
    IF v_after IS NOT NULL THEN
      options := jsonb_set(options, '{expires}', ordo_expires_at(coalesce(v_run_at, clock_timestamp()), v_after));
    END IF;
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
  v_last := ordo_last_rules(options);
  IF v_last <> '' THEN
    v_rules := v_rules || v_last;
    v_level := 5;
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
    IF v_after IS NOT NULL THEN
      v_fields := v_fields || ordo_field(10, ordo_little_endian(int8send(v_after)));
    END IF;
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
)sql";

}  // namespace ordo::store::postgres
