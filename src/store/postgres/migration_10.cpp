// The inbox by queues: what a round of a node costs is that of the queues which have something in it, and
// none of them holds up the others.
#include "store/postgres/migrations.h"

namespace ordo::store::postgres {

// The collation is that of queues' names, by which they are compared.
const char* const kInbox10 = R"sql(
CREATE INDEX ordo_response_by_queue ON ordo_response(queue COLLATE "C", id);

-- What this node is to give: that of the queues whose first shard it owns, and none of those that take nothing just now.
-- In their order for each queue, the first ones of all before the second ones.
CREATE OR REPLACE FUNCTION ordo_inbox(p_node text, p_most bigint)
RETURNS TABLE(id bigint, queue text, key bytea, message_id bytea, body bytea) LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY
    WITH RECURSIVE named AS (
      (SELECT r.queue COLLATE "C" AS name FROM ordo_response r ORDER BY r.queue COLLATE "C" LIMIT 1)
      UNION ALL
      SELECT (SELECT r.queue COLLATE "C" FROM ordo_response r WHERE r.queue COLLATE "C" > n.name
               ORDER BY r.queue COLLATE "C" LIMIT 1)
        FROM named n WHERE n.name IS NOT NULL
    ), first AS (
      SELECT f.id, f.place FROM named n
        JOIN ordo_queue q ON q.name = n.name
        JOIN ordo_shard s ON s.id = q.number << 16
        CROSS JOIN LATERAL
          (SELECT l.id, row_number() OVER (ORDER BY l.id) AS place FROM
            (SELECT r.id FROM ordo_response r WHERE r.queue COLLATE "C" = n.name
              ORDER BY r.queue COLLATE "C", r.id LIMIT p_most) l) f
       WHERE s.owner = p_node AND NOT q.closed ORDER BY f.place, f.id LIMIT p_most
    )
    SELECT r.id, r.queue, r.key, r.message_id, r.body
      FROM first f JOIN ordo_response r ON r.id = f.id ORDER BY f.place, f.id;
END $$;
)sql";

}  // namespace ordo::store::postgres
