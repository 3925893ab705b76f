-- The unique key of a pushed job. Repeats the domain's rule (domain/unique.cpp);
-- tests/servers/postgres_options_test.cpp compares.

CREATE FUNCTION ordo_little_endian(p_bytes bytea) RETURNS bytea LANGUAGE sql IMMUTABLE AS $$
  SELECT string_agg(substring(p_bytes FROM i FOR 1), '' ORDER BY i DESC) FROM generate_series(1, octet_length(p_bytes)) AS i
$$;

CREATE FUNCTION ordo_micros(p_at timestamptz) RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  RETURN (extract(epoch FROM p_at) * 1000000)::bigint;
END $$;

-- A length byte and a name.
CREATE FUNCTION ordo_short(p_what text, p_text text) RETURNS bytea LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  v_bytes bytea := ordo_checked(p_what, p_text);
BEGIN
  RETURN set_byte('\x00', 0, octet_length(v_bytes)) || v_bytes;
END $$;

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

-- What a unique key is compared by (base/json_key.h). Lists and objects are not compared here as everywhere else.
CREATE FUNCTION ordo_key_text(p_key bytea) RETURNS bytea LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  v_text text;
  v_type text;
  v_parts text[];
  v_digits text;
  v_exponent bigint;
BEGIN
  BEGIN
    v_text := btrim(convert_from(p_key, 'UTF8'), E' \t\n\r');
    v_type := json_typeof(v_text::json);
  EXCEPTION WHEN data_exception THEN
    RETURN p_key;
  END;
  IF v_type IN ('array', 'object') THEN
    RAISE EXCEPTION 'ordo_push: the "key" of unique is a JSON %, which SQL cannot compare by its value', v_type
      USING ERRCODE = 'invalid_parameter_value', HINT = 'Give a number or a text that is the same for equal ones, or push with a client.';
  ELSIF v_type = 'string' THEN
    BEGIN
      v_digits := v_text::jsonb #>> '{}';
    EXCEPTION WHEN data_exception THEN
      RAISE EXCEPTION 'ordo_push: the "key" of unique has a character that PostgreSQL does not take'
        USING ERRCODE = 'invalid_parameter_value', HINT = 'Push with a client.';
    END;
    BEGIN
      PERFORM v_digits::json;
      RETURN convert_to(to_json(v_digits)::text, 'UTF8');
    EXCEPTION WHEN data_exception THEN
      RETURN convert_to(v_digits, 'UTF8');
    END;
  ELSIF v_type <> 'number' THEN
    RETURN convert_to(v_text, 'UTF8');
  END IF;
  v_parts := regexp_match(v_text, '^(-?)(\d+)(?:[.](\d+))?(?:[eE][+]?(-?)0*(\d*))?$');
  v_digits := ltrim(v_parts[2] || coalesce(v_parts[3], ''), '0');
  IF v_digits = '' THEN
    RETURN '0';
  ELSIF length(v_parts[5]) > 18 THEN
    RETURN convert_to(v_text, 'UTF8');
  END IF;
  v_exponent := (coalesce(v_parts[4], '') || coalesce(nullif(v_parts[5], ''), '0'))::bigint
                - length(coalesce(v_parts[3], '')) + length(v_digits) - length(rtrim(v_digits, '0'));
  v_digits := rtrim(v_digits, '0');
  IF v_exponent >= 0 AND length(v_digits) + v_exponent <= 21 THEN
    v_digits := v_digits || repeat('0', v_exponent::int);
  ELSIF v_exponent < 0 AND v_exponent > -21 THEN
    v_digits := lpad(v_digits, greatest(length(v_digits), 1 - v_exponent::int), '0');
    v_digits := left(v_digits, v_exponent::int) || '.' || right(v_digits, -v_exponent::int);
  ELSE
    v_digits := v_digits || 'e' || v_exponent;
  END IF;
  RETURN convert_to(v_parts[1] || v_digits, 'UTF8');
END $$;

-- Names in a row of a unique key, for people.
CREATE FUNCTION ordo_shown(p_name bytea) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  RETURN convert_from(p_name, 'UTF8');
EXCEPTION WHEN character_not_in_repertoire OR untranslatable_character THEN
  RETURN encode(p_name, 'escape');
END $$;

-- The job that has the key, as its row says.
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

-- Takes a unique key for the job that is about to be pushed: `hold` is what it has of the row (null: nobody has to take
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
  -- A period begins now, whenever the job is due.
  v_first bytea := ordo_little_endian(int8send(CASE WHEN v_scope = 2 THEN v_now ELSE coalesce(ordo_micros(p_run_at), v_now) END));
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
                    || ordo_key_text(ordo_name('key of unique', p_unique -> 'key')));
  DELETE FROM ordo_wait w WHERE w.queue = p_queue || '!' AND w.key = v_row AND w.until <= v_now;
  LOOP
    INSERT INTO ordo_wait AS w VALUES (
      p_queue || '!', v_row, true,
      CASE WHEN v_scope = 2 THEN v_now + (extract(epoch FROM v_period) * 1000000)::bigint ELSE 9223372036854775807 END,
      set_byte('\x0100', 1, v_scope) || v_first || v_token || ordo_short('kind', p_kind) || ordo_short('key', p_key)
        || convert_to(p_id, 'UTF8')) ON CONFLICT DO NOTHING;
    IF FOUND THEN
      hold := CASE WHEN v_scope <> 2 THEN set_byte('\x00', 0, v_scope) || v_first || v_token || v_row END;
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
