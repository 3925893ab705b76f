-- The options of a pushed job as the texts that an XADD on Redis has (docs/options.md). What is stored are these; C++ makes
-- an entry of them when it reads (domain/plain_push.cpp). tests/servers/postgres_options_test.cpp compares.

-- A text with its length, and a field of a push. Nothing of a value that is null. They are put into the statements that use
-- them only if what they are given is cheap, and if they claim no more than what they call: convert_to() is stable.
CREATE FUNCTION ordo_long(p_bytes bytea) RETURNS bytea LANGUAGE sql IMMUTABLE AS $$
  SELECT int4send(octet_length(p_bytes)) || p_bytes
$$;
CREATE FUNCTION ordo_field(p_name text, p_value bytea) RETURNS bytea LANGUAGE sql STABLE AS $$
  SELECT coalesce(int4send(octet_length(convert_to(p_name, 'UTF8'))) || convert_to(p_name, 'UTF8')
                  || int4send(octet_length(p_value)) || p_value, '')
$$;
CREATE FUNCTION ordo_field(p_name text, p_value text) RETURNS bytea LANGUAGE sql STABLE AS $$
  SELECT ordo_field(p_name, convert_to(p_value, 'UTF8'))
$$;

-- The bytes of a name that has 1 to 255 of them.
CREATE FUNCTION ordo_checked(p_what text, p_text text) RETURNS bytea LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  v_bytes bytea := convert_to(p_text, 'UTF8');
BEGIN
  IF octet_length(v_bytes) NOT BETWEEN 1 AND 255 THEN
    RAISE EXCEPTION 'ordo_push: the % has % bytes; 1 to 255 fit', p_what, octet_length(v_bytes)
      USING ERRCODE = 'invalid_parameter_value';
  END IF;
  RETURN v_bytes;
END $$;

-- RFC 3339, within the years that it has; to_char() knows no year 0.
CREATE FUNCTION ordo_rfc3339(p_at timestamptz) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT CASE WHEN p_at < '0001-01-01 00:00:00+00' THEN '0000-01-01T00:00:00Z'
              ELSE to_char(least(p_at, '9999-12-31 23:59:59.999999+00') AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') END
$$;

-- All digits of a number, whatever the caller's settings are.
CREATE FUNCTION ordo_real(p_number double precision) RETURNS text LANGUAGE sql IMMUTABLE STRICT SET extra_float_digits = 1 AS $$
  SELECT p_number::text
$$;

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

-- When a job expires: a time, `never`, or a span behind its time.
CREATE FUNCTION ordo_expiry(p_value jsonb) RETURNS text LANGUAGE plpgsql STABLE AS $$
DECLARE
  v_text text := p_value #>> '{}';
BEGIN
  IF v_text IN ('infinity', 'never') THEN
    RETURN 'never';
  ELSIF jsonb_typeof(p_value) = 'string' AND v_text <> '-infinity' AND length(v_text) <= 100 THEN
    RETURN CASE WHEN left(v_text, 1) = '+'
                THEN '+' || greatest((extract(epoch FROM substr(v_text, 2)::interval) * 1000000)::bigint, 0) || 'us'
                ELSE ordo_rfc3339(v_text::timestamptz) END;
  ELSIF jsonb_typeof(p_value) = 'number' AND v_text::numeric >= -62167219200 AND v_text::numeric < 253402300800 THEN
    RETURN ordo_rfc3339(to_timestamp(v_text::double precision));
  END IF;
  RAISE EXCEPTION 'ordo_push: "expires" needs Unix seconds, a time, or a text like "+1h", not %', ordo_quoted(p_value)
    USING ERRCODE = 'invalid_parameter_value';
END $$;

-- The text of a number whose JSON looks like this, within bounds.
CREATE FUNCTION ordo_number(p_what text, p_value jsonb, p_pattern text, p_least numeric, p_most numeric, p_needs text)
RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  IF p_value::text ~ p_pattern THEN
    IF (p_value #>> '{}')::numeric BETWEEN p_least AND p_most THEN
      RETURN p_value #>> '{}';
    END IF;
  END IF;
  RAISE EXCEPTION 'ordo_push: "%" needs %, not %', p_what, p_needs, ordo_quoted(p_value)
    USING ERRCODE = 'invalid_parameter_value';
END $$;

CREATE FUNCTION ordo_clock(p_what text, p_value jsonb) RETURNS interval LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  IF p_value #>> '{}' ~ '^(([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9])?|24:00(:00)?)$' THEN
    RETURN p_value #>> '{}';
  END IF;
  RAISE EXCEPTION 'ordo_push: the "%" of a window needs a time of the day like "05:00", not %', p_what, ordo_quoted(p_value)
    USING ERRCODE = 'invalid_parameter_value';
END $$;

-- A list of days and of ranges like "fri-mon".
CREATE FUNCTION ordo_days(p_value jsonb) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  v_day CONSTANT text := '(mon|tue|wed|thu|fri|sat|sun)';
  v_days text;
BEGIN
  IF p_value IS NULL THEN
    RETURN 'mon-sun';
  ELSIF jsonb_typeof(p_value) = 'array' THEN
    SELECT string_agg(day, ',') INTO v_days FROM jsonb_array_elements_text(p_value) AS day;
    IF length(v_days) <= 100 AND v_days ~ ('^' || v_day || '(-' || v_day || ')?(,' || v_day || '(-' || v_day || ')?)*$') THEN
      RETURN v_days;
    END IF;
  END IF;
  RAISE EXCEPTION 'ordo_push: the "days" of a window need a list like ["mon", "wed-fri"], not %', ordo_quoted(p_value)
    USING ERRCODE = 'invalid_parameter_value';
END $$;

CREATE FUNCTION ordo_window(p_value jsonb) RETURNS text LANGUAGE plpgsql STABLE AS $$
DECLARE
  v_start interval;
  v_end interval;
  v_zone text := coalesce(p_value ->> 'tz', 'UTC');
BEGIN
  PERFORM ordo_check_names('a window', p_value, '{start,end,days,tz}');
  v_start := ordo_clock('start', p_value -> 'start');
  v_end := ordo_clock('end', p_value -> 'end');
  IF v_start = v_end OR v_start = '24:00' THEN
    RAISE EXCEPTION 'ordo_push: the window % starts when it ends; all day is 00:00 to 24:00', ordo_quoted(p_value)
      USING ERRCODE = 'invalid_parameter_value';
  ELSIF length(v_zone) > 64 OR v_zone !~ '^[A-Za-z0-9_+-]+(/[A-Za-z0-9_+-]+)*$' THEN
    RAISE EXCEPTION 'ordo_push: % is no time zone', ordo_quoted(to_jsonb(v_zone))
      USING ERRCODE = 'invalid_parameter_value', HINT = 'Names are those of the IANA, like Europe/Moscow.';
  END IF;
  PERFORM now() AT TIME ZONE v_zone;
  RETURN concat_ws(' ', (p_value ->> 'start') || '-' || (p_value ->> 'end'), v_zone, ordo_days(p_value -> 'days'));
END $$;

CREATE FUNCTION ordo_flag(p_what text, p_value jsonb) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  IF jsonb_typeof(p_value) <> 'boolean' THEN
    RAISE EXCEPTION 'ordo_push: "%" needs true or false', p_what USING ERRCODE = 'invalid_parameter_value';
  END IF;
  RETURN p_value #>> '{}';
END $$;

-- The fields of the options that have no argument of their own; `unique` is not among them.
CREATE FUNCTION ordo_option_fields(p_options jsonb) RETURNS bytea LANGUAGE plpgsql STABLE AS $$
DECLARE
  v_fields bytea := '';
  v_name text;
  v_value jsonb;
  v_window jsonb;
BEGIN
  PERFORM ordo_check_names('options', p_options, '{expires,windows,weight,partition,critical,lock,unique,max_retries,replace_time}');
  FOR v_name, v_value IN SELECT o.key, o.value FROM jsonb_each(p_options) AS o LOOP
    IF v_name = 'windows' THEN
      IF jsonb_typeof(v_value) <> 'array' OR jsonb_array_length(v_value) > 8 THEN
        RAISE EXCEPTION 'ordo_push: "windows" needs a list of at most 8' USING ERRCODE = 'invalid_parameter_value';
      END IF;
      FOR v_window IN SELECT jsonb_array_elements(v_value) LOOP
        v_fields := v_fields || ordo_field('window', ordo_window(v_window));
      END LOOP;
    ELSE
      v_fields := v_fields || CASE v_name
        WHEN 'expires' THEN ordo_field(v_name, ordo_expiry(v_value))
        WHEN 'weight' THEN ordo_field(v_name, ordo_number(v_name, v_value, '^"?[0-9]{1,10}([.][0-9]{1,6})?"?$', 0.000001, 1000000000,
                                                          'a number above 0 with at most six digits behind the point'))
        WHEN 'partition' THEN ordo_field(v_name, CASE WHEN v_value <> '""' THEN ordo_name(v_name, v_value) ELSE '' END)
        WHEN 'lock' THEN ordo_field(v_name, ordo_name(v_name, v_value))
        WHEN 'max_retries' THEN ordo_field(v_name, ordo_number(v_name, v_value, '^[0-9]{1,10}$', 0, 2147483647, 'a whole number from 0 on'))
        WHEN 'critical' THEN ordo_field(v_name, ordo_flag(v_name, v_value))
        WHEN 'replace_time' THEN ordo_field(v_name, ordo_flag(v_name, v_value))
        ELSE '' END;
    END IF;
  END LOOP;
  RETURN v_fields;
END $$;
