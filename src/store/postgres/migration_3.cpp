// Pushes of strangers: a role needs the right to push and no other, and a transaction has a size.
#include "store/postgres/migrations.h"

namespace ordo::store::postgres {

const char* const kPush3 = R"sql(
-- Puts one encoded entry into the caller's transaction; `p_crc` is that of its key. A transaction counts its entries and
-- their bytes in a setting of its own, which goes back with a savepoint, as the entries do; it is the caller's, who may
-- write anything there. A closed queue is waited for, unless that would not help: the resharding waits for who has pushed
-- before, and an old snapshot never sees its end.
CREATE OR REPLACE FUNCTION ordo_put(p_queue text, p_crc bigint, p_body bytea) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
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

CREATE FUNCTION ordo_reopen(p_name text) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
BEGIN
  UPDATE ordo_queue SET closed = false WHERE name = p_name;
  PERFORM ordo_definitions_changed();
END $$;

-- Who pushes needs no right on a table: the function has those of Ordo's role. So it is for those only who are granted it;
-- who could push until now still can.
DO $do$
DECLARE
  v_function regprocedure;
  v_role text;
BEGIN
  FOR v_function IN
    SELECT oid FROM pg_proc WHERE pronamespace = current_schema()::regnamespace AND proname = 'ordo_push'
  LOOP
    EXECUTE format('ALTER FUNCTION %s SECURITY DEFINER', v_function);
    EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', v_function);
    FOR v_role IN
      SELECT CASE WHEN a.grantee = 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END
        FROM pg_class c CROSS JOIN LATERAL aclexplode(c.relacl) a
       WHERE c.oid = 'ordo_entry'::regclass AND a.privilege_type = 'INSERT'
    LOOP
      EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO %s', v_function, v_role);
    END LOOP;
  END LOOP;
END $do$;
)sql";

// As kFunctionSettings1, and how literals are read. Who holds a shard in vain is put out before a client has
// given up.
const char* const kFunctionSettings3 = R"sql(
DO $do$
DECLARE
  v_function regprocedure;
  v_setting text;
BEGIN
  FOR v_function IN
    SELECT oid FROM pg_proc WHERE pronamespace = current_schema()::regnamespace AND proname LIKE 'ordo\_%'
                                  AND prolang <> (SELECT oid FROM pg_language WHERE lanname = 'sql')
  LOOP
    EXECUTE format('ALTER FUNCTION %s SET search_path = %I, pg_temp', v_function, current_schema());
    FOREACH v_setting IN ARRAY ARRAY['enable_seqscan', 'enable_hashjoin', 'enable_mergejoin', 'enable_bitmapscan', 'jit']
    LOOP
      EXECUTE format('ALTER FUNCTION %s SET %I = off', v_function, v_setting);
    END LOOP;
    EXECUTE format('ALTER FUNCTION %s SET plan_cache_mode = force_generic_plan', v_function);
    EXECUTE format('ALTER FUNCTION %s SET standard_conforming_strings = on', v_function);
  END LOOP;
  ALTER FUNCTION ordo_acquire SET lock_timeout = '1s';
END $do$;
)sql";

}  // namespace ordo::store::postgres
