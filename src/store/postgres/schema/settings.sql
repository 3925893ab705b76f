-- Settings of the functions and rights to call them; the last file, as it finds the functions by name.

-- A plan made while the table was small stays a sequential scan and gets slower with every dead row. Settings of the
-- functions themselves hold behind a transaction pooler, too. An explicit path and how literals are read: the functions run
-- in other programs' transactions.
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
END $do$;

-- These wait for others' transactions, but not for ever. A session that blocks a shard in vain is ended before a client
-- has given up.
ALTER FUNCTION ordo_acquire SET lock_timeout = '1s';
ALTER FUNCTION ordo_take_key SET lock_timeout = '5s';
ALTER FUNCTION ordo_keep_queue SET lock_timeout = '5s';

-- A role that pushes or responds needs the right to call these functions and none on a table: they run with the rights of
-- Ordo's role. So nobody may call them before it is granted.
REVOKE ALL ON FUNCTION ordo_push(text, bytea, text, text, text, float8, timestamptz, interval, int, interval, jsonb),
                       ordo_push(text, text, text, text, text, float8, timestamptz, interval, int, interval, jsonb),
                       ordo_respond(text, text, bytea, text), ordo_respond(text, text, text, text) FROM PUBLIC;
