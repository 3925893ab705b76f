// Equal JSON is equal bytes, whoever pushes it: text in SQL becomes a payload as in every other client, json
// and jsonb are taken, and integers as ids and keys.
#include "store/postgres/migrations.h"

namespace ordo::store::postgres {

const char* const kPush13 = R"sql(
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

CREATE OR REPLACE FUNCTION ordo_push(
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
)sql";

}  // namespace ordo::store::postgres
