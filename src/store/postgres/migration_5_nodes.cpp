// Nodes, whose counters and facts change all the time.
#include "store/postgres/migrations.h"

namespace ordo::store::postgres {

const char* const kNodes5 = R"sql(
-- A node's counter and what it tells of itself: the highest (see ordo_head).
CREATE TABLE ordo_pulse(
  node text COLLATE "C" NOT NULL, renewals bigint NOT NULL, facts bytea NOT NULL, PRIMARY KEY (node, renewals)
) WITH (autovacuum_vacuum_threshold = 200, autovacuum_vacuum_scale_factor = 0);
INSERT INTO ordo_pulse SELECT id, renewals, facts FROM ordo_node;
ALTER TABLE ordo_node DROP COLUMN renewals, DROP COLUMN facts;

CREATE VIEW ordo_living_node AS
  SELECT n.id, p.renewals, p.facts, n.request FROM ordo_node n
   CROSS JOIN LATERAL (SELECT * FROM ordo_pulse o WHERE o.node = n.id ORDER BY o.renewals DESC LIMIT 1) p;

CREATE OR REPLACE FUNCTION ordo_join(p_node text, p_facts bytea, p_now bigint) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
  v_last bigint;
BEGIN
  LOOP
    INSERT INTO ordo_node(id) VALUES (p_node) ON CONFLICT (id) DO NOTHING;
    PERFORM FROM ordo_node WHERE id = p_node FOR NO KEY UPDATE;
    EXIT WHEN FOUND;
  END LOOP;
  SELECT p.renewals INTO v_last FROM ordo_pulse p WHERE p.node = p_node ORDER BY p.renewals DESC LIMIT 1;
  INSERT INTO ordo_pulse VALUES (p_node, greatest(v_last + 1, ordo_now(p_now)), p_facts);
  DELETE FROM ordo_pulse WHERE node = p_node AND renewals = v_last;
END $$;

CREATE OR REPLACE FUNCTION ordo_renew(p_node text) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
  v_last ordo_pulse;
BEGIN
  PERFORM FROM ordo_node WHERE id = p_node FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  SELECT * INTO STRICT v_last FROM ordo_pulse p WHERE p.node = p_node ORDER BY p.renewals DESC LIMIT 1;
  INSERT INTO ordo_pulse VALUES (p_node, v_last.renewals + 1, v_last.facts);
  DELETE FROM ordo_pulse WHERE node = p_node AND renewals = v_last.renewals;
  RETURN true;
END $$;

CREATE OR REPLACE FUNCTION ordo_leave(p_node text, p_seen bigint) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
BEGIN
  PERFORM FROM ordo_node WHERE id = p_node FOR UPDATE;
  IF NOT FOUND OR p_seen <> (SELECT renewals FROM ordo_living_node WHERE id = p_node) THEN
    RETURN;
  END IF;
  PERFORM FROM ordo_shard WHERE owner = p_node ORDER BY id FOR UPDATE;
  UPDATE ordo_shard SET owner = '' WHERE owner = p_node;
  DELETE FROM ordo_pulse WHERE node = p_node;
  DELETE FROM ordo_node WHERE id = p_node;
END $$;
)sql";

}  // namespace ordo::store::postgres
