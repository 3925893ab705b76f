// Two options more for jobs that are pushed by SQL: how often one is retried, and a time that moves a job
// which waits. Repeats how the domain writes them (job_options.cpp); tests/contract/postgres_options_test.cpp
// compares.
#include "store/postgres/migrations.h"

namespace ordo::store::postgres {

const char* const kRules12 = R"sql(
-- What was given, in an error.
CREATE OR REPLACE FUNCTION ordo_quoted(p_value jsonb) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT left(p_value::text, 200) || CASE WHEN length(p_value::text) > 200 THEN '...' ELSE '' END
$$;

-- The options of a job that have no argument of their own, up to the unique key; empty: there are none.
CREATE OR REPLACE FUNCTION ordo_rules(p_options jsonb) RETURNS bytea LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_rules bytea := '';
  v_window jsonb;
BEGIN
  PERFORM ordo_check_names('options', p_options, '{expires,windows,weight,partition,critical,lock,unique,max_retries,replace_time}');
  IF p_options ? 'expires' THEN
    v_rules := v_rules || ordo_field(2, ordo_little_endian(int8send(ordo_expiry(p_options -> 'expires'))));
  END IF;
  IF p_options ? 'windows' THEN
    IF jsonb_typeof(p_options -> 'windows') <> 'array' OR jsonb_array_length(p_options -> 'windows') > 8 THEN
      RAISE EXCEPTION 'ordo_push: "windows" needs a list of at most 8' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    FOR v_window IN SELECT jsonb_array_elements(p_options -> 'windows') LOOP
      v_rules := v_rules || ordo_field(3, ordo_window(v_window));
    END LOOP;
  END IF;
  IF p_options ? 'weight' THEN
    v_rules := v_rules || ordo_field(4, ordo_little_endian(int8send(ordo_weight(p_options -> 'weight'))));
  END IF;
  IF p_options ? 'partition' THEN
    v_rules := v_rules || ordo_field(5, CASE WHEN p_options -> 'partition' <> '""'
                                             THEN ordo_name('partition', p_options -> 'partition') ELSE '' END);
  END IF;
  IF p_options ? 'critical' THEN
    IF jsonb_typeof(p_options -> 'critical') <> 'boolean' THEN
      RAISE EXCEPTION 'ordo_push: "critical" needs true or false' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    v_rules := v_rules || ordo_field(6, CASE WHEN (p_options -> 'critical')::boolean THEN '\x01'::bytea ELSE '\x00' END);
  END IF;
  IF p_options ? 'lock' THEN
    v_rules := v_rules || ordo_field(7, ordo_name('lock', p_options -> 'lock'));
  END IF;
  RETURN v_rules;
END $$;

-- The options behind the unique key; empty: there are none.
CREATE FUNCTION ordo_last_rules(p_options jsonb) RETURNS bytea LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  v_rules bytea := '';
BEGIN
  IF p_options ? 'max_retries' THEN
    IF p_options ->> 'max_retries' !~ '^[0-9]{1,10}$' OR jsonb_typeof(p_options -> 'max_retries') <> 'number'
       OR (p_options ->> 'max_retries')::bigint > 2147483647 THEN
      RAISE EXCEPTION 'ordo_push: "max_retries" needs a whole number from 0 on, not %', ordo_quoted(p_options -> 'max_retries')
        USING ERRCODE = 'invalid_parameter_value';
    END IF;
    v_rules := v_rules || ordo_field(10, ordo_little_endian(int4send((p_options ->> 'max_retries')::int)));
  END IF;
  IF p_options ? 'replace_time' THEN
    IF jsonb_typeof(p_options -> 'replace_time') <> 'boolean' THEN
      RAISE EXCEPTION 'ordo_push: "replace_time" needs true or false' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF (p_options -> 'replace_time')::boolean THEN
      v_rules := v_rules || ordo_field(9, '\x01');
    END IF;
  END IF;
  RETURN v_rules;
END $$;
)sql";

const char* const kPush12 = R"sql(
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
