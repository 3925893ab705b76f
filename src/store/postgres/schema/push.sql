-- ordo_push(): pushes a job as part of the caller's transaction.

-- CRC-32 as in zlib, a nibble at a time.
CREATE FUNCTION ordo_crc32(p_bytes bytea) RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  v_table CONSTANT bigint[] := '{0,498536548,997073096,651767980,1994146192,1802195444,1303535960,1342533948,
                                 3988292384,4027552580,3604390888,3412177804,2607071920,2262029012,2685067896,3183342108}';
  v_crc bigint := 4294967295;
BEGIN
  FOR i IN 0 .. octet_length(p_bytes) - 1 LOOP
    v_crc := v_crc # get_byte(p_bytes, i);
    v_crc := (v_crc >> 4) # v_table[(v_crc & 15) + 1];
    v_crc := (v_crc >> 4) # v_table[(v_crc & 15) + 1];
  END LOOP;
  RETURN v_crc # 4294967295;
END $$;

CREATE FUNCTION ordo_ulid() RETURNS text LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_alphabet CONSTANT text := '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
  v_ms bigint := (extract(epoch FROM clock_timestamp()) * 1000)::bigint;
  v_chance bytea := uuid_send(gen_random_uuid());
  v_ulid text := '';
BEGIN
  FOR i IN 0 .. 9 LOOP
    v_ulid := substr(v_alphabet, (v_ms >> (5 * i) & 31)::int + 1, 1) || v_ulid;
  END LOOP;
  FOR i IN 0 .. 15 LOOP
    v_ulid := v_ulid || substr(v_alphabet, (get_byte(v_chance, i) & 31) + 1, 1);
  END LOOP;
  RETURN v_ulid;
END $$;

-- The bytes of a payload that is given as text, as payload_from_json() (base/json.h) has them: JSON without insignificant
-- white space and otherwise as it stands, "" as none, {"$base64":"..."} as the bytes it means; what is no JSON, as it is.
CREATE FUNCTION ordo_payload(p_text text) RETURNS bytea LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  v_text text;
  v_base64 text;
BEGIN
  IF p_text !~ '[ \n\r\t]|^""$|^\{"\$base64"' THEN
    RETURN convert_to(p_text, 'UTF8');
  END IF;
  BEGIN
    PERFORM p_text::json;
  EXCEPTION WHEN data_exception OR program_limit_exceeded THEN
    RETURN convert_to(p_text, 'UTF8');
  END;
  v_text := regexp_replace(p_text, '("(?:[^"\\]|\\.)*")|[ \n\r\t]+', '\1', 'g');
  IF v_text = '""' THEN
    RETURN '';
  END IF;
  v_base64 := substring(v_text FROM '^\{"\$base64":"((?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?)"\}$');
  RETURN coalesce(decode(v_base64, 'base64'), convert_to(v_text, 'UTF8'));
END $$;

-- Puts one encoded entry into the caller's transaction; `p_crc` is that of its key. A transaction counts its entries and
-- their bytes in a setting of its own, which goes back with a savepoint, as the entries do; it is the caller's, who may
-- write anything there. A closed queue is waited for, unless that would not help: the resharding waits for who has pushed
-- before, and an old snapshot never sees its end.
CREATE FUNCTION ordo_put(p_queue text, p_crc bigint, p_body bytea) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
  v_queue ordo_queue;
  v_first bigint := ordo_transaction_seq();
  v_count text[] := string_to_array(current_setting('ordo.count', true), ':');
  v_place bigint := 0;
  v_bytes bigint := octet_length(p_body);
  v_patience timestamptz := clock_timestamp() + interval '30 s';
BEGIN
  LOOP
    SELECT * INTO v_queue FROM ordo_queue WHERE name = p_queue;
    IF NOT FOUND THEN
      RAISE EXCEPTION 'ordo_push: there is no queue "%"', p_queue
        USING ERRCODE = 'invalid_parameter_value',
              HINT = 'Start a node that serves it, or create it: SELECT ordo_define(name, shards).';
    END IF;
    IF v_queue.closed THEN
      IF clock_timestamp() >= v_patience OR v_count[1] = v_first::text
         OR current_setting('transaction_isolation') NOT LIKE 'read %' THEN
        RAISE EXCEPTION 'ordo_push: queue "%" is being resharded; nothing was stored', p_queue
          USING ERRCODE = 'object_not_in_prerequisite_state',
                HINT = 'Roll back and try again. If `ordo reshard` was stopped, run it again.';
      END IF;
      PERFORM pg_sleep(0.02);
    ELSE
      BEGIN  -- gives the lock back if the queue was closed just now
        PERFORM ordo_check_open(v_queue.number);
        EXIT;
      EXCEPTION WHEN object_not_in_prerequisite_state THEN
        NULL;
      END;
    END IF;
  END LOOP;
  IF v_count[1] = v_first::text THEN
    v_place := greatest(v_count[2]::bigint, 0);
    v_bytes := v_bytes + greatest(v_count[3]::bigint, 0);
  END IF;
  IF v_place >= 1 << 20 THEN
    RAISE EXCEPTION 'ordo_push: one transaction can push % jobs', 1 << 20 USING ERRCODE = 'program_limit_exceeded';
  ELSIF v_bytes > 256 << 20 THEN
    RAISE EXCEPTION 'ordo_push: one transaction can push % bytes', 256 << 20
      USING ERRCODE = 'program_limit_exceeded', HINT = 'Push in several transactions.';
  END IF;
  PERFORM set_config('ordo.count', v_first || ':' || v_place + 1 || ':' || v_bytes, true);
  INSERT INTO ordo_entry(shard, seq, at, body)
    VALUES ((v_queue.number << 16) + p_crc % v_queue.shards, v_first + v_place, ordo_now(NULL), p_body);
  PERFORM ordo_tell(0);
END $$;

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
  v_timeout bigint := extract(epoch FROM timeout) * 1000000;  -- not as intervals are compared, with years of 360 days
  v_id_bytes bytea;
  v_kind_bytes bytea;
  v_fields bytea := '';
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
  ELSIF NOT isfinite(v_run_at) THEN
    RAISE EXCEPTION 'ordo_push: run_at is not a finite time' USING ERRCODE = 'invalid_parameter_value';
  ELSIF score IN ('NaN', 'Infinity', '-Infinity') THEN
    RAISE EXCEPTION 'ordo_push: the score is not a finite number' USING ERRCODE = 'invalid_parameter_value';
  ELSIF v_timeout <= 0 THEN
    RAISE EXCEPTION 'ordo_push: the timeout is not positive' USING ERRCODE = 'invalid_parameter_value';
  END IF;
  IF options IS NOT NULL THEN
    v_fields := ordo_option_fields(options);
  END IF;
  IF options ? 'unique' THEN
    SELECT q.number INTO v_number FROM ordo_queue q WHERE q.name = queue;
    v_taken := ordo_take_key(queue, v_kind, v_key, v_id, v_run_at, options -> 'unique');
    IF v_taken.there IS NOT NULL THEN
      RETURN v_taken.there;
    END IF;
    v_fields := v_fields || ordo_field('hold', v_taken.hold);
  END IF;
  IF v_key <> v_id THEN  -- each only where it is given: a call costs more than the rest of a push
    v_fields := v_fields || ordo_field('key', ordo_checked('key', v_key));
  END IF;
  IF score IS NOT NULL THEN
    v_fields := v_fields || ordo_field('score', ordo_real(score));
  END IF;
  IF v_run_at IS NOT NULL THEN
    v_fields := v_fields || ordo_field('run_at', ordo_rfc3339(v_run_at));
  END IF;
  IF priority IS NOT NULL THEN
    v_fields := v_fields || ordo_field('priority', priority::text);
  END IF;
  IF v_timeout IS NOT NULL THEN
    v_fields := v_fields || ordo_field('timeout', v_timeout || 'us');
  END IF;
  v_id_bytes := ordo_checked('id', v_id);
  v_kind_bytes := ordo_checked('kind', v_kind);
  PERFORM ordo_put(queue, ordo_crc32(convert_to(v_key, 'UTF8')),
                   '\x0050'::bytea || ordo_long(v_id_bytes) || ordo_long(v_kind_bytes)
                   || v_fields || ordo_field('payload', payload));
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
  RETURN ordo_push(queue, ordo_payload(payload), id, key, kind, score, run_at, delay, priority, timeout, options);
END $$;

-- The others are these with other types, and need the right to call these alone. Only an id may be left out where it is no
-- integer: so no call fits two of them.
DO $do$
DECLARE
  v_payload text;
  v_names text;
  v_queue_id text;
BEGIN
  FOR v_payload, v_names IN
    SELECT p, n FROM unnest('{text,bytea,json,jsonb}'::text[]) p CROSS JOIN unnest(ARRAY[
      'id text DEFAULT NULL, key text DEFAULT NULL', 'id bigint, key text DEFAULT NULL', 'id bigint, key bigint',
      'id text, key bigint']) n
     WHERE p IN ('json', 'jsonb') OR n LIKE '%bigint%'
  LOOP
    EXECUTE format($f$
      CREATE FUNCTION ordo_push(
        queue text, payload %s, %s, kind text DEFAULT NULL, score double precision DEFAULT NULL,
        run_at timestamptz DEFAULT NULL, delay interval DEFAULT NULL, priority int DEFAULT NULL,
        timeout interval DEFAULT NULL, options jsonb DEFAULT NULL
      ) RETURNS text LANGUAGE plpgsql VOLATILE AS $$
      BEGIN
        RETURN ordo_push(queue, payload%s, id::text, key::text, kind, score, run_at, delay, priority, timeout, options);
      END $$ $f$, v_payload, v_names, CASE WHEN v_payload IN ('json', 'jsonb') THEN '::text' ELSE '' END);
  END LOOP;
END $do$;
