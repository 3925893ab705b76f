// Transactional enqueue from any language. Repeats two rules of the domain, the record of a push and the
// shard of a key; tests/contract/postgres_push_test.cpp compares both.
#include "store/postgres/migrations.h"

namespace ordo::store::postgres {

const char* const kPushFunctions1 = R"sql(
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

CREATE FUNCTION ordo_little_endian(p_bytes bytea) RETURNS bytea LANGUAGE sql IMMUTABLE AS $$
  SELECT string_agg(substring(p_bytes FROM i FOR 1), '' ORDER BY i DESC) FROM generate_series(1, octet_length(p_bytes)) AS i
$$;

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

-- Puts one encoded entry into the caller's transaction; `p_crc` is that of its key. A transaction counts its entries in a
-- setting of its own, which goes back with a savepoint, as the entries do.
CREATE FUNCTION ordo_put(p_queue text, p_crc bigint, p_body bytea) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
  v_queue ordo_queue;
  v_first bigint := ordo_transaction_seq();
  v_count text[] := string_to_array(current_setting('ordo.count', true), ':');
  v_place bigint := 0;
BEGIN
  SELECT * INTO v_queue FROM ordo_queue WHERE name = p_queue;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'ordo_push: there is no queue "%"', p_queue
      USING ERRCODE = 'invalid_parameter_value',
            HINT = 'Start a node that serves it, or create it: SELECT ordo_define(name, shards).';
  END IF;
  IF v_count[1] = v_first::text THEN
    v_place := v_count[2]::bigint;
  END IF;
  IF v_place >= 1 << 20 THEN
    RAISE EXCEPTION 'ordo_push: one transaction can push % jobs', 1 << 20 USING ERRCODE = 'program_limit_exceeded';
  END IF;
  PERFORM set_config('ordo.count', v_first || ':' || v_place + 1, true);
  INSERT INTO ordo_entry(shard, seq, at, body)
    VALUES ((v_queue.number << 16) + p_crc % v_queue.shards, v_first + v_place, ordo_now(NULL), p_body);
  PERFORM ordo_tell(0);
END $$;

-- Pushes one job as a part of the caller's transaction: it is there for workers from COMMIT on, and never was after
-- ROLLBACK. Options as in every client; returns the job's id.
CREATE FUNCTION ordo_push(
  queue text, payload bytea, id text DEFAULT NULL, key text DEFAULT NULL, kind text DEFAULT NULL,
  score double precision DEFAULT NULL, run_at timestamptz DEFAULT NULL, delay interval DEFAULT NULL,
  priority int DEFAULT NULL, timeout interval DEFAULT NULL
) RETURNS text LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_id text := coalesce(nullif(id, ''), ordo_ulid());
  v_key text := coalesce(nullif(key, ''), v_id);
  v_run_at timestamptz := coalesce(run_at, clock_timestamp() + delay);
  v_flags int := 0;
  v_tail bytea := '';
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
    v_tail := v_tail || ordo_little_endian(int8send((extract(epoch FROM v_run_at) * 1000000)::bigint));
  END IF;
  IF priority IS NOT NULL THEN
    v_flags := v_flags | 8;
    v_tail := v_tail || ordo_little_endian(int4send(priority));
  END IF;
  IF timeout IS NOT NULL THEN
    v_flags := v_flags | 16;
    v_tail := v_tail || ordo_little_endian(int8send((extract(epoch FROM timeout) * 1000000)::bigint));
  END IF;
  PERFORM ordo_put(queue, ordo_crc32(convert_to(v_key, 'UTF8')),
                   set_byte('\x0100', 1, v_flags) || ordo_short('kind', coalesce(nullif(kind, ''), queue))
                   || ordo_short('id', v_id) || v_tail || payload);
  RETURN v_id;
END $$;

CREATE FUNCTION ordo_push(
  queue text, payload text DEFAULT '', id text DEFAULT NULL, key text DEFAULT NULL, kind text DEFAULT NULL,
  score double precision DEFAULT NULL, run_at timestamptz DEFAULT NULL, delay interval DEFAULT NULL,
  priority int DEFAULT NULL, timeout interval DEFAULT NULL
) RETURNS text LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  RETURN ordo_push(queue, convert_to(payload, 'UTF8'), id, key, kind, score, run_at, delay, priority, timeout);
END $$;
)sql";

}  // namespace ordo::store::postgres
