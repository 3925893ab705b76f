-- The options of a pushed job as bytes. Repeats how the domain writes them (domain/entry.cpp);
-- tests/servers/postgres_options_test.cpp compares.

CREATE FUNCTION ordo_little_endian(p_bytes bytea) RETURNS bytea LANGUAGE sql IMMUTABLE AS $$
  SELECT string_agg(substring(p_bytes FROM i FOR 1), '' ORDER BY i DESC) FROM generate_series(1, octet_length(p_bytes)) AS i
$$;

-- One optional field of a record.
CREATE FUNCTION ordo_field(p_tag int, p_bytes bytea) RETURNS bytea LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  RETURN set_byte('\x00', 0, p_tag) || ordo_little_endian(int4send(octet_length(p_bytes))) || p_bytes;
END $$;

-- A length byte and the text.
CREATE FUNCTION ordo_short(p_what text, p_text text) RETURNS bytea LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  v_bytes bytea := convert_to(p_text, 'UTF8');
BEGIN
  IF octet_length(v_bytes) NOT BETWEEN 1 AND 255 THEN
    RAISE EXCEPTION 'ordo_push: the % has % bytes; 1 to 255 fit', p_what, octet_length(v_bytes)
      USING ERRCODE = 'invalid_parameter_value';
  END IF;
  RETURN set_byte('\x00', 0, octet_length(v_bytes)) || v_bytes;
END $$;

CREATE FUNCTION ordo_micros(p_at timestamptz) RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  RETURN (extract(epoch FROM p_at) * 1000000)::bigint;
END $$;

-- What was given, in an error.
CREATE FUNCTION ordo_quoted(p_value jsonb) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT left(p_value::text, 200) || CASE WHEN length(p_value::text) > 200 THEN '...' ELSE '' END
$$;

-- A name's bytes: of a text, or of {"$base64": "..."}.
CREATE FUNCTION ordo_name(p_what text, p_value jsonb) RETURNS bytea LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  v_bytes bytea;
BEGIN
  IF jsonb_typeof(p_value) = 'string' THEN
    v_bytes := convert_to(p_value #>> '{}', 'UTF8');
  ELSIF jsonb_typeof(p_value) = 'object' AND jsonb_typeof(p_value -> '$base64') = 'string' AND p_value - '$base64' = '{}' THEN
    v_bytes := decode(p_value ->> '$base64', 'base64');
  ELSE
    RAISE EXCEPTION 'ordo_push: "%" needs a text or {"$base64": "..."}, not %', p_what, ordo_quoted(p_value)
      USING ERRCODE = 'invalid_parameter_value';
  END IF;
  IF octet_length(v_bytes) NOT BETWEEN 1 AND 255 THEN
    RAISE EXCEPTION 'ordo_push: "%" has % bytes; 1 to 255 fit', p_what, octet_length(v_bytes)
      USING ERRCODE = 'invalid_parameter_value';
  END IF;
  RETURN v_bytes;
END $$;

CREATE FUNCTION ordo_check_names(p_what text, p_given jsonb, p_known text[]) RETURNS void LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  v_unknown text;
BEGIN
  IF jsonb_typeof(p_given) <> 'object' THEN
    RAISE EXCEPTION 'ordo_push: % takes a JSON object, not %', p_what, ordo_quoted(p_given) USING ERRCODE = 'invalid_parameter_value';
  END IF;
  SELECT k INTO v_unknown FROM jsonb_object_keys(p_given) AS k WHERE k <> ALL (p_known) LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION 'ordo_push: % takes no %', p_what, ordo_quoted(to_jsonb(v_unknown))
      USING ERRCODE = 'invalid_parameter_value', HINT = 'It takes ' || array_to_string(p_known, ', ') || '.';
  END IF;
END $$;

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

CREATE FUNCTION ordo_expiry(p_value jsonb) RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_text text := p_value #>> '{}';
BEGIN
  IF v_text = 'infinity' THEN
    RETURN 9223372036854775807;
  ELSIF jsonb_typeof(p_value) = 'string' AND v_text <> '-infinity' AND length(v_text) <= 100 THEN
    RETURN ordo_micros(CASE WHEN left(v_text, 1) = '+' THEN clock_timestamp() + substr(v_text, 2)::interval
                            ELSE v_text::timestamptz END);
  ELSIF jsonb_typeof(p_value) = 'number' AND v_text::numeric >= -62167219200 AND v_text::numeric < 253402300800 THEN
    RETURN trunc(v_text::numeric * 1000000)::bigint;
  END IF;
  RAISE EXCEPTION 'ordo_push: "expires" needs Unix seconds, a time, or a text like "+1h", not %', ordo_quoted(p_value)
    USING ERRCODE = 'invalid_parameter_value';
END $$;

CREATE FUNCTION ordo_weight(p_value jsonb) RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  v_weight numeric;
BEGIN
  IF p_value #>> '{}' ~ '^[0-9]{1,10}(\.[0-9]{1,6})?$' THEN
    v_weight := (p_value #>> '{}')::numeric;
  END IF;
  IF v_weight > 0 AND v_weight <= 1000000000 THEN
    RETURN v_weight * 1000000;
  END IF;
  RAISE EXCEPTION 'ordo_push: "weight" needs a number above 0 with at most six digits behind the point, not %', ordo_quoted(p_value)
    USING ERRCODE = 'invalid_parameter_value';
END $$;

CREATE FUNCTION ordo_clock(p_what text, p_value jsonb) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  v_parts text[] := regexp_match(p_value #>> '{}', '^([0-9]{2}):([0-5][0-9])(?::([0-5][0-9]))?$');
  v_clock int := v_parts[1]::int * 3600 + v_parts[2]::int * 60 + coalesce(v_parts[3], '0')::int;
BEGIN
  IF v_clock IS NULL OR v_clock > 86400 THEN
    RAISE EXCEPTION 'ordo_push: the "%" of a window needs a time of the day like "05:00", not %', p_what, ordo_quoted(p_value)
      USING ERRCODE = 'invalid_parameter_value';
  END IF;
  RETURN v_clock;
END $$;

-- A list of days and of ranges like "fri-mon": bit 0 is Monday.
CREATE FUNCTION ordo_days(p_value jsonb) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  v_names CONSTANT text[] := '{mon,tue,wed,thu,fri,sat,sun}';
  v_days int := 0;
  v_text text;
  v_day int;
  v_last int;
BEGIN
  IF p_value IS NULL THEN
    RETURN 127;
  ELSIF jsonb_typeof(p_value) = 'array' THEN
    FOR v_text IN SELECT part FROM jsonb_array_elements_text(p_value) AS e(t), regexp_split_to_table(e.t, ',') AS part LOOP
      v_day := array_position(v_names, split_part(v_text, '-', 1));
      v_last := CASE WHEN v_text LIKE '%-%' THEN array_position(v_names, substr(v_text, strpos(v_text, '-') + 1)) ELSE v_day END;
      v_days := CASE WHEN v_day IS NOT NULL AND v_last IS NOT NULL THEN v_days END;
      EXIT WHEN v_days IS NULL;
      LOOP
        v_days := v_days | (1 << (v_day - 1));
        EXIT WHEN v_day = v_last;
        v_day := v_day % 7 + 1;
      END LOOP;
    END LOOP;
    IF v_days > 0 THEN
      RETURN v_days;
    END IF;
  END IF;
  RAISE EXCEPTION 'ordo_push: the "days" of a window need a list like ["mon", "wed-fri"], not %', ordo_quoted(p_value)
    USING ERRCODE = 'invalid_parameter_value';
END $$;

CREATE FUNCTION ordo_window(p_value jsonb) RETURNS bytea LANGUAGE plpgsql STABLE AS $$
DECLARE
  v_start int;
  v_end int;
  v_zone text := coalesce(p_value ->> 'tz', 'UTC');
BEGIN
  PERFORM ordo_check_names('a window', p_value, '{start,end,days,tz}');
  v_start := ordo_clock('start', p_value -> 'start');
  v_end := ordo_clock('end', p_value -> 'end');
  IF v_start = v_end OR v_start = 86400 THEN
    RAISE EXCEPTION 'ordo_push: the window % starts when it ends; all day is 00:00 to 24:00', ordo_quoted(p_value)
      USING ERRCODE = 'invalid_parameter_value';
  ELSIF length(v_zone) > 64 OR v_zone !~ '^[A-Za-z0-9_+-]+(/[A-Za-z0-9_+-]+)*$' THEN
    RAISE EXCEPTION 'ordo_push: % is no time zone', ordo_quoted(to_jsonb(v_zone))
      USING ERRCODE = 'invalid_parameter_value', HINT = 'Names are those of the IANA, like Europe/Moscow.';
  END IF;
  PERFORM now() AT TIME ZONE v_zone;
  RETURN ordo_little_endian(int4send(v_start)) || ordo_little_endian(int4send(v_end))
         || set_byte('\x00', 0, ordo_days(p_value -> 'days')) || convert_to(v_zone, 'UTF8');
END $$;

-- The options of a job that have no argument of their own, up to the unique key; empty: there are none.
CREATE FUNCTION ordo_rules(p_options jsonb) RETURNS bytea LANGUAGE plpgsql VOLATILE AS $$
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
  IF p_options ? 'replace_time' THEN
    IF jsonb_typeof(p_options -> 'replace_time') <> 'boolean' THEN
      RAISE EXCEPTION 'ordo_push: "replace_time" needs true or false' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF (p_options -> 'replace_time')::boolean THEN
      v_rules := v_rules || ordo_field(9, '');
    END IF;
  END IF;
  IF p_options ? 'max_retries' THEN
    IF p_options ->> 'max_retries' !~ '^[0-9]{1,10}$' OR jsonb_typeof(p_options -> 'max_retries') <> 'number'
       OR (p_options ->> 'max_retries')::bigint > 2147483647 THEN
      RAISE EXCEPTION 'ordo_push: "max_retries" needs a whole number from 0 on, not %', ordo_quoted(p_options -> 'max_retries')
        USING ERRCODE = 'invalid_parameter_value';
    END IF;
    v_rules := v_rules || ordo_field(10, ordo_little_endian(int4send((p_options ->> 'max_retries')::int)));
  END IF;
  RETURN v_rules;
END $$;
