#include "store/postgres/connector.h"

#include <algorithm>
#include <vector>

#include "base/redact.h"
#include "store/no_store.h"
#include "store/postgres/request.h"
#include "store/postgres/schema.h"

namespace ordo::store::postgres {
namespace {

/// The number of the server's timeline.
const std::string kTimeline =
    "('x' || substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8))::bit(32)::bigint";

}  // namespace

std::unique_ptr<Connection> Connector::connect() {
  auto connection = std::make_unique<Connection>(url_);
  const std::lock_guard lock(mutex_);
  if (!incarnation_) {
    if (missing_ == Missing::refused && !has_schema(*connection)) throw no_store(redact(url_));
    ensure_schema(*connection);
  }
  const auto seen = end_.load();  // first: what others see in the meantime is newer than this answer
  const auto now = incarnation_of(*connection);
  if (!now) return connection;
  if (incarnation_ && has_gone_back(*now, seen)) {
    ensure_schema(*connection);
    end_leases(*connection);
    end_ = 0;
  }
  incarnation_ = now;
  return connection;
}

void Connector::saw(std::int64_t end) {
  for (auto last = end_.load(); last < end && !end_.compare_exchange_weak(last, end);) {
  }
}

// Nothing of a standby: it refuses all that matters.
std::optional<Connector::Incarnation> Connector::incarnation_of(Connection& connection) {
  static const std::string look = R"sql(
SELECT (SELECT system_identifier FROM pg_control_system()), )sql" +
                                  kTimeline + R"sql(,
       (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint,
       (split_part(next_xid, ':', 1)::bigint << 32) + split_part(next_xid, ':', 2)::bigint + xid_base,
       pg_snapshot_xmax(pg_current_snapshot())::text::bigint + xid_base
  FROM pg_control_checkpoint(), ordo_meta WHERE NOT pg_is_in_recovery())sql";
  const auto row = connection.run("recognise", look.c_str());
  if (row.rows() == 0) return std::nullopt;
  return Incarnation{row.number(0, 0), row.number(0, 1), row.number(0, 2), row.number(0, 3),
                     row.number(0, 4)};
}

// Ids that came since a start would hide how far back it went; the checkpoint of the start does not move on
// for minutes.
bool Connector::has_gone_back(const Incarnation& now, std::int64_t seen) const {
  const auto& before = *incarnation_;
  const auto first_free = now.started == before.started ? now.end : std::min(now.end, now.checkpoint);
  return now.system != before.system || now.timeline != before.timeline || first_free < seen;
}

// The shards stay this node's, for runs of theirs may go on here: it takes them anew once these are over.
void Connector::end_leases(Connection& connection) {
  ++setbacks_;  // first: see Reader::add
  std::vector<std::int64_t> shards, tokens, holders;
  for (const auto& [shard, lease] : seen_.leases()) {
    shards.push_back(pack(shard));
    tokens.push_back(static_cast<std::int64_t>(lease.token));
    holders.push_back(static_cast<std::int64_t>(lease.holder));
  }
  connection.run("end the leases of shards that have gone back in",
                 "UPDATE ordo_shard s SET token = s.token + 1, clean = false"
                 "  FROM unnest($1, $2, $3) AS r(shard, token, holder)"
                 " WHERE s.id = r.shard AND s.token = r.token AND s.holder = r.holder",
                 Parameters().numbers(shards).numbers(tokens).numbers(holders));
}

// A start alone is no setback: what was acknowledged before it is there. Nor is a time ahead of the clock
// one.
void note_history(Connection& connection, bool is_setback) {
  static const std::string note = R"sql(
INSERT INTO ordo_history AS h (system, timeline, set_back_at)
SELECT system_identifier, )sql" + kTimeline +
                                  R"sql(, CASE WHEN $1 THEN clock_timestamp() END
  FROM pg_control_system()
    ON CONFLICT (one) DO UPDATE SET system = excluded.system, timeline = excluded.timeline,
                                    set_back_at = clock_timestamp()
 WHERE $1 OR (h.system, h.timeline) <> (excluded.system, excluded.timeline) OR h.set_back_at > clock_timestamp())sql";
  connection.run("note the history of", note.c_str(), Parameters().flag(is_setback));
}

}  // namespace ordo::store::postgres
