// Log and deltas go through the committer, readers have their connections; every other verb is one call of an
// SQL function on a connection of the pool.
#include "store/postgres/postgres_store.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/assert.h"
#include "base/random.h"
#include "store/limits.h"
#include "store/postgres/examine.h"

namespace ordo::store::postgres {
namespace {

std::vector<std::int64_t> all_signed(std::span<const std::uint64_t> numbers) {
  return {numbers.begin(), numbers.end()};
}

// For messages: the process of `l`, and `a`, its row of pg_stat_activity.
const std::string kProcess = R"sql(
       CASE WHEN coalesce(l.pid, 0) = 0 THEN 'a prepared transaction' ELSE
         format('process %s (%s, user %s)%s', l.pid, coalesce(nullif(a.application_name, ''), 'unnamed'), a.usename,
                to_char(a.xact_start, '" since "YYYY-MM-DD HH24:MI:SS')) END)sql";

constexpr std::int64_t kLoadRows = 5000;
constexpr std::int64_t kCrashed = -1;  // as holder of a free, unclean shard: its last owner was known dead

// Counts first, and what fits into one page belongs together: an owner may write. The states in their order,
// from where the last page ended: there is no plan that could begin with anything but the first shard.
constexpr const char* kLoad = R"sql(
SELECT shard, 0::bigint, counts, false FROM ordo_newest_head WHERE shard = ANY($1) AND $2
UNION ALL
(SELECT s.id, t.seq, t.body, true
   FROM unnest($1) WITH ORDINALITY s(id, place) CROSS JOIN LATERAL
        (SELECT seq, body FROM ordo_state
          WHERE shard = s.id AND seq > CASE place WHEN 1 THEN $3 ELSE -1 END AND EXISTS (SELECT FROM ordo_shard WHERE id = s.id)
          ORDER BY seq LIMIT $4) t
  LIMIT $4))sql";

// What ordo_define_any does, for all of them with one change of the definitions. By name, so that two who
// define the same ones do not wait for each other.
constexpr const char* kDefine = R"sql(
WITH made AS (
  INSERT INTO ordo_queue(name, shards)
  SELECT name, shards FROM unnest($1, $2) AS wish(name, shards)
   WHERE NOT EXISTS (SELECT FROM ordo_queue q WHERE q.name = wish.name) ORDER BY name COLLATE "C"
  ON CONFLICT (name) DO NOTHING RETURNING number, name, shards),
with_shards AS (
  INSERT INTO ordo_shard(id) SELECT (number << 16) + i FROM made, generate_series(0, shards - 1) AS i),
-- A queue of that name was removed before, and who responded to it had not ended yet.
swept AS (DELETE FROM ordo_response r USING made m WHERE r.queue = m.name)
SELECT ordo_definitions_changed() FROM (SELECT FROM made LIMIT 1) AS any_made)sql";

QueueDefinition definition_of(std::string_view name, const Result& result, int row, int column) {
  return {.number = static_cast<std::uint32_t>(result.number(row, column)),
          .name = std::string(name),
          .shards = static_cast<std::uint32_t>(result.number(row, column + 1)),
          .paused = result.flag(row, column + 2),
          .closed = result.flag(row, column + 3)};
}

}  // namespace

PostgresStore::PostgresStore(const std::string& url, Clock& clock, TimeSource time, Missing missing)
    : clock_(clock),
      time_(time),
      context_{.store = as_signed(Random::from_system().next() >> 1),
               .seen = {},
               .connector = Connector(url, context_.seen, missing),
               .clock = ServerClock(clock),
               .wakers = {}},
      pool_(context_.connector),
      committer_(pool_, context_.seen,
                 {.writer = [this] { return Writer{.store = context_.store, .now = given_now()}; },
                  .appended = [this] { context_.wakers.wake_all(); }}) {
  pool_.with([&](Connection& connection) {
    const auto asked = clock_.steady();
    const auto now = connection.run("ask the time of", "SELECT ordo_now(NULL)");
    context_.clock.learn(Time{Duration{now.number(0, 0)}}, asked);
    return true;
  });
}

std::optional<std::int64_t> PostgresStore::given_now() {
  if (time_ == TimeSource::server) return std::nullopt;
  return clock_.wall().time_since_epoch().count();
}

Time PostgresStore::now() { return time_ == TimeSource::server ? context_.clock.now() : clock_.wall(); }

Result PostgresStore::ask(std::string_view task, const char* sql, const Parameters& parameters,
                          Duration patience) {
  ORDO_ASSERT(!committer_.is_own_thread());  // a completion must not block
  return pool_.with([&](Connection& connection) { return connection.run(task, sql, parameters, patience); });
}

Result PostgresStore::ask_long(std::string_view task, const char* sql, const Parameters& parameters) {
  ORDO_ASSERT(!committer_.is_own_thread());
  static const std::string look = R"sql(
SELECT pg_try_advisory_xact_lock($1), coalesce((
  SELECT )sql" + kProcess + R"sql(
    FROM pg_locks own CROSS JOIN unnest(pg_blocking_pids(own.pid)) AS l(pid) LEFT JOIN pg_stat_activity a ON a.pid = l.pid
   WHERE own.locktype = 'advisory' AND own.granted AND (own.classid::bigint << 32 | own.objid::bigint) = $1
     AND own.database = (SELECT oid FROM pg_database WHERE datname = current_database())
   LIMIT 1), ''))sql";
  // Connections that are there may say as little by now.
  const auto look_at = [this](std::int64_t mark) {
    const auto row = context_.connector.connect()->run("ask about a long call of", look.c_str(),
                                                       Parameters().number(mark));
    return Connection::Progress{.goes_on = !row.flag(0, 0), .waits_for = std::string(row.bytes(0, 1))};
  };
  return pool_.with(
      [&](Connection& connection) { return connection.run_long(task, sql, parameters, look_at); });
}

std::vector<Finding> PostgresStore::examine() {
  return pool_.with([&](Connection& connection) { return examine_database(connection, now()); });
}

// ----------------------------------------------------------------------------------------------- log and
// owner

void PostgresStore::append(std::vector<NewEntry> entries, Completion done) {
  committer_.submit(AppendRequest{.entries = std::move(entries), .done = std::move(done)});
}

std::unique_ptr<LogReader> PostgresStore::open_log() { return std::make_unique<Reader>(context_); }

LogChunk PostgresStore::fetch(ShardId shard, std::span<const Seq> seqs) {
  LogChunk chunk;
  if (seqs.empty() || !can_pack(shard)) return chunk;
  const auto rows = ask("read entries of", "SELECT * FROM ordo_fetch($1, $2)",
                        Parameters().number(pack(shard)).numbers(all_signed(seqs)));
  for (int row = 0; row < rows.rows(); ++row) {
    chunk.add(
        {.seq = rows.unsigned_number(row, 2), .shard = shard, .at = Time{Duration{rows.number(row, 3)}}},
        rows.bytes(row, 4));
  }
  return chunk;
}

void PostgresStore::wake() {
  context_.wakers.wake_all();
  try {
    // Others wait for it, and it promises nothing that a disk must know.
    ask("wake nodes through", "SELECT set_config('synchronous_commit', 'off', true), ordo_wake()");
  } catch (const Error&) {
    // It only saves time: whoever sleeps looks again by itself. A node that ends must not fail here.
  }
}

void PostgresStore::commit(std::vector<Delta> deltas, CommitCompletion done) {
  committer_.submit(CommitRequest{.deltas = std::move(deltas), .done = std::move(done)});
}

std::vector<ShardFacts> PostgresStore::load(std::span<const ShardId> shards) {
  std::vector<ShardFacts> facts;
  std::unordered_multimap<std::int64_t, std::size_t> places;  // a caller may name a shard twice
  std::vector<std::int64_t> ids;                              // of what is still to be read
  for (const auto shard : shards) {
    if (can_pack(shard)) {
      places.emplace(pack(shard), facts.size());
      ids.push_back(pack(shard));
    }
    facts.emplace_back().shard = shard;
  }
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  std::int64_t after = -1;  // of the first one's states
  for (bool is_first = true;; is_first = false) {
    const auto rows = ask("load shards from", kLoad,
                          Parameters().numbers(ids).flag(is_first).number(after).number(kLoadRows));
    std::int64_t states = 0, shard = 0;
    for (int row = 0; row < rows.rows(); ++row) {
      const auto [first, last] = places.equal_range(rows.number(row, 0));
      const bool is_state = rows.flag(row, 3);
      for (auto place = first; place != last; ++place) {
        auto& fact = facts[place->second];
        if (is_state) {
          fact.states.push_back(
              {.seq = rows.unsigned_number(row, 1), .bytes = std::string(rows.bytes(row, 2))});
        } else {
          fact.counts = rows.bytes(row, 2);
        }
      }
      if (!is_state) continue;
      ++states;
      shard = rows.number(row, 0);
      after = rows.number(row, 1);
    }
    if (states < kLoadRows) return facts;
    ids.erase(ids.begin(), std::lower_bound(ids.begin(), ids.end(), shard));
  }
}

std::vector<KeptRow> PostgresStore::kept_heads(ShardId shard, std::uint64_t from, std::size_t max_rows) {
  std::vector<KeptRow> kept;
  if (!can_pack(shard)) return kept;
  const auto rows = ask("read what is kept in",
                        "SELECT no, head FROM ordo_kept WHERE shard = $1 AND no >= $2 ORDER BY no LIMIT $3",
                        Parameters().number(pack(shard)).number(from).number(std::uint64_t{max_rows}));
  for (int row = 0; row < rows.rows(); ++row)
    kept.push_back({rows.unsigned_number(row, 0), std::string(rows.bytes(row, 1)), {}});
  return kept;
}

// Their sizes are known without their bytes.
std::vector<KeptRow> PostgresStore::kept(ShardId shard, std::span<const std::uint64_t> nos) {
  std::vector<KeptRow> kept;
  if (nos.empty() || !can_pack(shard)) return kept;
  const auto rows =
      ask("read what is kept in", R"sql(
SELECT k.no, k.head, k.body FROM
  (SELECT no, head, body, sum(octet_length(body)) OVER (ORDER BY no) - octet_length(body) AS before FROM ordo_kept
    WHERE shard = $1 AND no = ANY($2)) k
 WHERE k.before < $3 ORDER BY k.no)sql",
          Parameters().number(pack(shard)).numbers(all_signed(nos)).number(std::uint64_t{kReadBytes}));
  for (int row = 0; row < rows.rows(); ++row)
    kept.push_back(
        {rows.unsigned_number(row, 0), std::string(rows.bytes(row, 1)), std::string(rows.bytes(row, 2))});
  return kept;
}

bool PostgresStore::replace_kept(ShardId shard, const KeptRow& row) {
  if (!can_pack(shard)) return false;
  const auto done = ask("change what is kept in", "SELECT ordo_replace_kept($1, $2, $3, $4)",
                        Parameters().number(pack(shard)).number(row.no).bytes(row.head).bytes(row.body));
  if (done.is_null(0, 0)) throw closed_queue(shard.queue);
  return done.flag(0, 0);
}

// ------------------------------------------------------------------------------------------------------
// queues

QueueList PostgresStore::queues() {
  QueueList list;
  std::vector<std::string> odd;
  const auto rows = ask("read the queues of",
                        "SELECT m.definitions, q.number, q.shards, q.paused, q.closed, q.name"
                        " FROM ordo_meta m LEFT JOIN ordo_queue q ON true ORDER BY q.number");
  for (int row = 0; row < rows.rows(); ++row) {
    list.version = rows.unsigned_number(row, 0);
    if (rows.is_null(row, 1)) continue;
    if (is_definition(rows.bytes(row, 5), rows.number(row, 1), rows.number(row, 2))) {
      list.queues.push_back(definition_of(rows.bytes(row, 5), rows, row, 1));
    } else {
      odd.push_back(odd_definition(rows.bytes(row, 5)));
    }
  }
  left_out_.set("queues", std::move(odd));
  return list;
}

std::vector<QueueDefinition> PostgresStore::define_all(std::span<const QueueWish> wishes) {
  std::vector<std::string> names;
  std::vector<std::int64_t> shards;
  for (const auto& queue : wishes) {
    check_definition(queue.name, queue.shards);
    names.push_back(queue.name);
    shards.push_back(queue.shards);
  }
  while (true) {
    ask("define queues in", kDefine, Parameters().texts(names).numbers(shards));
    context_.wakers.wake_all();
    std::unordered_map<std::string, QueueDefinition> known;
    const auto rows = ask("read queues of",
                          "SELECT number, shards, paused, closed, name FROM ordo_queue WHERE name = ANY($1)",
                          Parameters().texts(names));
    for (int row = 0; row < rows.rows(); ++row)
      known.emplace(rows.bytes(row, 4), definition_of(rows.bytes(row, 4), rows, row, 0));
    std::vector<QueueDefinition> definitions;
    for (const auto& name : names) {
      const auto found = known.find(name);
      if (found == known.end()) break;  // removed again
      definitions.push_back(found->second);
    }
    if (definitions.size() == names.size()) return definitions;
  }
}

bool PostgresStore::set_paused(std::string_view name, bool paused) {
  const auto row =
      ask("pause a queue of", "SELECT ordo_set_paused($1, $2)", Parameters().text(name).flag(paused));
  context_.wakers.wake_all();
  return row.flag(0, 0);
}

bool PostgresStore::remove(std::string_view name) {
  const auto row = ask_long("remove a queue of",
                            "WITH gone AS (DELETE FROM ordo_wait WHERE queue IN ($1, $1 || '!')"
                            " AND EXISTS (SELECT FROM ordo_queue WHERE name = $1))"
                            " SELECT ordo_remove($1)",
                            Parameters().text(name));
  const bool was_there = row.flag(0, 0);
  // What was written while it was still there.
  if (was_there) {
    ask("remove a queue of",
        "DELETE FROM ordo_wait WHERE queue IN ($1, $1 || '!')"
        " AND NOT EXISTS (SELECT FROM ordo_queue WHERE name = $1)",
        Parameters().text(name));
  }
  // And of those before it, what transactions have left that ended later.
  ask_long("remove a queue of",
           "DELETE FROM ordo_response r WHERE NOT EXISTS (SELECT FROM ordo_queue q WHERE q.name = r.queue)");
  context_.wakers.wake_all();
  return was_there;
}

// Who found the queue open before may still write to it, for as long as its transaction takes: longer than a
// closed queue is waited for. So those that are open now are waited for first.
bool PostgresStore::close(std::string_view name) {
  constexpr Duration kBefore = std::chrono::seconds{10}, kAfter = std::chrono::seconds{5};
  const auto list = queues();
  const auto* const queue = list.find(name);
  if (queue == nullptr) return false;
  if (!queue->closed) wait_for_writers(name, kBefore);
  const auto row = ask("close a queue of", "SELECT ordo_close($1)", Parameters().text(name));
  context_.wakers.wake_all();
  if (!row.flag(0, 0)) return false;
  try {
    wait_for_writers(name, kAfter);
  } catch (const Error&) {
    if (!queue->closed) ask("open a queue again in", "SELECT ordo_reopen($1)", Parameters().text(name));
    throw;
  }
  return true;
}

// Those that write entries now.
void PostgresStore::wait_for_writers(std::string_view queue, Duration at_most) {
  static const std::string look = "SELECT l.virtualtransaction, " + kProcess + R"sql(
  FROM pg_locks l LEFT JOIN pg_stat_activity a ON a.pid = l.pid
 WHERE l.locktype = 'relation' AND l.relation = 'ordo_entry'::regclass AND l.mode = 'RowExclusiveLock' AND l.granted
   AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
   AND l.pid IS DISTINCT FROM pg_backend_pid())sql";
  const auto writers = [&] {
    std::map<std::string, std::string> found;  // and how they are called
    const auto rows = ask("look for who pushes in", look.c_str());
    for (int i = 0; i < rows.rows(); ++i) found.emplace(rows.bytes(i, 0), rows.bytes(i, 1));
    return found;
  };
  const auto end = system_clock().steady() + at_most;  // on the system's clock: waiting is real
  for (auto before = writers(); !before.empty();) {
    const auto now = writers();
    std::erase_if(before, [&](const auto& writer) { return !now.contains(writer.first); });
    if (before.empty()) return;
    if (system_clock().steady() >= end) {
      throw Error(ErrorKind::unavailable,
                  "cannot close queue '" + std::string(queue) + "': " + before.begin()->second +
                      " has a transaction open that pushes; the queue stays as it was;"
                      " end that transaction, then try again");
    }
    ask("wait for who pushes in", "SELECT pg_sleep(0.02)");
  }
}

bool PostgresStore::replace(std::string_view name, std::uint32_t by) {
  const auto row = ask_long("replace a queue of", "SELECT ordo_replace($1, $2)",
                            Parameters().text(name).number(std::int64_t{by}));
  context_.wakers.wake_all();
  return row.flag(0, 0);
}

// -------------------------------------------------------------------------------------------- nodes and
// leases

void PostgresStore::join(const std::string& node, const std::string& facts) {
  check_node(node);
  ask("register a node in", "SELECT ordo_join($1, $2, $3)",
      Parameters().text(node).bytes(facts).maybe(given_now()));
}

bool PostgresStore::renew(const std::string& node, Duration patience) {
  return ask("renew a node in", "SELECT ordo_renew($1, $2)", Parameters().text(node).maybe(given_now()),
             std::min(patience, kAnswer))
      .flag(0, 0);
}

void PostgresStore::leave(const std::string& node, std::optional<std::uint64_t> seen_renewals) {
  const auto seen = seen_renewals ? std::optional(as_signed(*seen_renewals)) : std::nullopt;
  ask("remove a node from", "SELECT ordo_leave($1, $2)", Parameters().text(node).maybe(seen));
}

std::optional<Duration> PostgresStore::setback_age(bool is_known) {
  return pool_.with([&](Connection& connection) -> std::optional<Duration> {
    note_history(connection, is_known);
    const auto rows = connection.run("ask when it went back of", R"sql(
SELECT greatest(0, extract(epoch FROM clock_timestamp() - set_back_at) * 1000000)::bigint
  FROM ordo_history WHERE isfinite(set_back_at))sql");
    return rows.rows() > 0 ? std::optional(Duration{rows.number(0, 0)}) : std::nullopt;
  });
}

std::vector<NodeRow> PostgresStore::nodes() {
  std::vector<NodeRow> nodes;
  const auto rows =
      ask("read the nodes of", "SELECT id, renewals, facts, request FROM ordo_living_node ORDER BY id");
  for (int row = 0; row < rows.rows(); ++row) {
    nodes.push_back({.id = std::string(rows.bytes(row, 0)),
                     .renewals = rows.unsigned_number(row, 1),
                     .facts = std::string(rows.bytes(row, 2)),
                     .request = request_of(rows.unsigned_number(row, 3))});
  }
  return nodes;
}

bool PostgresStore::request(const std::string& node, NodeRequest request) {
  const auto row = ask("leave a request in", "SELECT ordo_request($1, $2::int)",
                       Parameters().text(node).number(static_cast<std::int64_t>(request)));
  context_.wakers.wake_all();
  return row.flag(0, 0);
}

std::vector<ShardRow> PostgresStore::shards() {
  std::vector<ShardRow> shards;
  const auto rows = ask("read the shards of",
                        "SELECT s.id, s.owner, s.token, h.batch, h.position, h.counts, h.dead, h.dead_trimmed"
                        " FROM ordo_shard s JOIN ordo_newest_head h ON h.shard = s.id ORDER BY s.id");
  for (int row = 0; row < rows.rows(); ++row) {
    shards.push_back({.shard = unpack(rows.number(row, 0)),
                      .owner = std::string(rows.bytes(row, 1)),
                      .token = rows.unsigned_number(row, 2),
                      .batch = rows.unsigned_number(row, 3),
                      .position = rows.unsigned_number(row, 4),
                      .counts = std::string(rows.bytes(row, 5)),
                      .dead = rows.unsigned_number(row, 6),
                      .dead_trimmed = rows.unsigned_number(row, 7)});
  }
  left_out_.set("shards", take_used_up(shards));
  return shards;
}

std::vector<Grant> PostgresStore::acquire(const std::string& node, std::uint64_t holder,
                                          std::span<const Claim> claims) {
  std::vector<std::int64_t> shards, tokens, renewals;
  std::vector<std::string> owners;
  std::unordered_set<ShardId> from_another;
  for (const auto& claim : claims) {
    if (claim.takes_from_another(node)) from_another.insert(claim.shard);
    if (!can_pack(claim.shard)) continue;
    shards.push_back(pack(claim.shard));
    owners.push_back(claim.seen_owner);
    tokens.push_back(as_signed(claim.seen_token));
    renewals.push_back(as_signed(claim.seen_renewals));
  }
  Parameters parameters;
  parameters.text(node).number(holder).maybe(given_now()).numbers(shards).texts(owners).numbers(tokens);
  // What was free stays as it is until it is granted, so the mark may be that of an earlier snapshot.
  const auto rows = ask("take shards in",
                        "SELECT a.*, (SELECT CASE WHEN s.owner = '' THEN s.holder END FROM ordo_shard s"
                        "              WHERE s.id = a.shard)"
                        "  FROM ordo_acquire($1, $2, $3, $4, $5, $6, $7) a",
                        parameters.numbers(renewals));
  std::vector<Grant> grants;
  for (int row = 0; row < rows.rows(); ++row) {
    const auto shard = unpack(rows.number(row, 0));
    const bool clean = rows.flag(row, 4);
    const bool is_marked = !clean && !rows.is_null(row, 5) && rows.number(row, 5) == kCrashed;
    grants.push_back({.shard = shard,
                      .lease = {.token = rows.unsigned_number(row, 1), .holder = holder},
                      .batch = rows.unsigned_number(row, 2),
                      .head = rows.unsigned_number(row, 3),
                      .clean = clean,
                      .crashed = is_marked || from_another.contains(shard)});
  }
  return grants;
}

// An unclean shard stays what it was made when it was acquired.
void PostgresStore::release(std::span<const Release> ends) {
  struct Ended {
    std::vector<std::int64_t> shards, tokens, holders, marks;
  } clean, unclean;
  for (const auto& end : ends) {
    if (!can_pack(end.shard)) continue;
    auto& ended = end.clean ? clean : unclean;
    ended.shards.push_back(pack(end.shard));
    ended.tokens.push_back(as_signed(end.lease.token));
    ended.holders.push_back(as_signed(end.lease.holder));
    ended.marks.push_back(end.crashed ? kCrashed : as_signed(end.lease.holder));
  }
  if (!clean.shards.empty()) {
    ask("release shards in", "SELECT ordo_release($1, $2, $3)",
        Parameters().numbers(clean.shards).numbers(clean.tokens).numbers(clean.holders));
  }
  if (unclean.shards.empty()) return;
  ask("give back shards in",
      "UPDATE ordo_shard s SET owner = '', holder = r.mark"
      "  FROM (SELECT o.id, e.mark"
      "          FROM ordo_shard o JOIN unnest($1, $2, $3, $4) AS e(shard, token, holder, mark)"
      "            ON o.id = e.shard AND o.token = e.token AND o.holder = e.holder AND o.owner <> ''"
      "         ORDER BY o.id FOR UPDATE OF o) r"
      " WHERE s.id = r.id",
      Parameters()
          .numbers(unclean.shards)
          .numbers(unclean.tokens)
          .numbers(unclean.holders)
          .numbers(unclean.marks));
}

// ---------------------------------------------------------------------------------------------------- the
// dead

std::vector<DeadRow> PostgresStore::dead(std::uint32_t queue, std::uint64_t after, std::size_t max_rows) {
  std::vector<DeadRow> dead;
  const auto rows =
      ask("read the dead of", "SELECT * FROM ordo_list_dead($1, $2, $3)",
          Parameters().number(std::int64_t{queue}).number(after).number(std::uint64_t{max_rows}));
  for (int row = 0; row < rows.rows(); ++row) {
    dead.push_back({.shard = unpack(rows.number(row, 1)),
                    .no = rows.unsigned_number(row, 0),
                    .at = Time{Duration{rows.number(row, 2)}},
                    .bytes = std::string(rows.bytes(row, 3))});
  }
  return dead;
}

std::vector<ShardId> PostgresStore::oldest_dead(std::uint32_t queue, std::size_t max_rows) {
  std::vector<ShardId> oldest;
  const auto rows =
      ask("read the dead of", "SELECT shard FROM ordo_dead WHERE queue = $1 ORDER BY no LIMIT $2",
          Parameters().number(std::int64_t{queue}).number(std::uint64_t{max_rows}));
  for (int row = 0; row < rows.rows(); ++row) oldest.push_back(unpack(rows.number(row, 0)));
  return oldest;
}

std::size_t PostgresStore::erase_dead(std::uint32_t queue, std::span<const std::uint64_t> nos) {
  const auto row = ask("erase the dead of", "SELECT ordo_take_dead($1, $2)",
                       Parameters().number(std::int64_t{queue}).numbers(all_signed(nos)));
  if (row.is_null(0, 0)) throw closed_queue(queue);
  return row.numbers(0, 0).size();
}

std::size_t PostgresStore::revive(std::uint32_t queue, std::span<const std::uint64_t> nos,
                                  std::vector<NewEntry> entries) {
  check_revive(nos.size(), entries.size());
  std::vector<std::int64_t> shards;
  std::vector<std::string_view> bodies;
  std::size_t bytes = 0;
  for (const auto& entry : entries) {
    if (!can_pack(entry.shard)) throw unknown_shard(entry.shard.queue, entry.shard.index);
    shards.push_back(pack(entry.shard));
    bodies.push_back(entry.bytes);
    bytes += entry.bytes.size();
  }
  if (bytes > kMaxAppendBytes) throw too_much_to_append(bytes);
  Parameters parameters;
  parameters.number(context_.store).maybe(given_now()).number(std::int64_t{queue}).numbers(all_signed(nos));
  parameters.numbers(shards).byte_strings(std::span<const std::string_view>(bodies));
  const auto row = ask("revive the dead of", "SELECT ordo_revive($1, $2, $3, $4, $5, $6)", parameters);
  if (row.is_null(0, 0)) throw closed_queue(queue);
  const auto revived = row.number(0, 0);
  if (revived < 0) {
    const auto stranger = entries[static_cast<std::size_t>(-revived - 1)].shard;
    throw unknown_shard(stranger.queue, stranger.index);
  }
  context_.wakers.wake_all();
  return static_cast<std::size_t>(revived);
}

// ------------------------------------------------------------------------------------------------------
// waits

std::optional<std::string> PostgresStore::wait_row(std::string_view queue, std::string_view key) {
  check_wait_key(key);
  const auto rows =
      ask("read a wait of",
          "SELECT body FROM ordo_wait WHERE queue = $1 AND key = $2 AND until > ordo_now($3) - $4",
          Parameters().text(queue).bytes(key).maybe(given_now()).number(excess().count()));
  return rows.rows() == 0 ? std::nullopt : std::optional(std::string(rows.bytes(0, 0)));
}

std::size_t PostgresStore::sweep_rows(std::string_view /*queue*/, std::size_t max_rows) {
  const auto rows =
      ask("take rows away that are over in", R"sql(
WITH gone AS (DELETE FROM ordo_wait w USING (SELECT o.queue, o.key FROM ordo_wait o
                                              WHERE o.until <= ordo_now($1) - $3 AND o.until < 9223372036854775807
                                              ORDER BY o.until LIMIT $2 FOR UPDATE SKIP LOCKED) over
               WHERE w.queue = over.queue AND w.key = over.key RETURNING 1)
SELECT count(*) FROM gone)sql",
          Parameters().maybe(given_now()).number(std::uint64_t{max_rows}).number(excess().count()));
  return static_cast<std::size_t>(rows.number(0, 0));
}

std::vector<WaitRow> PostgresStore::wait_rows(std::string_view queue, std::string_view after,
                                              std::size_t max_rows) {
  const auto rows = ask("read the waits of",
                        "SELECT key, until, body FROM ordo_wait"
                        " WHERE queue = $1 AND key > $2 AND listed AND until > ordo_now($3) - $5"
                        " ORDER BY key LIMIT $4",
                        Parameters()
                            .text(queue)
                            .bytes(after)
                            .maybe(given_now())
                            .number(std::uint64_t{max_rows})
                            .number(excess().count()));
  std::vector<WaitRow> waits;
  for (int row = 0; row < rows.rows(); ++row) {
    waits.push_back({.key = std::string(rows.bytes(row, 0)),
                     .bytes = std::string(rows.bytes(row, 2)),
                     .listed = true,
                     .until = Time{Duration{rows.number(row, 1)}}});
  }
  return waits;
}

// ------------------------------------------------------------------------------------------------ unique
// keys

// A statement for each, which commits by itself: of two that have the same two rows to write, none waits for
// the other's.
std::vector<RowResult> PostgresStore::step_rows(std::string_view rows, std::vector<RowStep> steps) {
  using What = RowResult::What;
  for (const auto& step : steps) check_wait_key(step.row.key);
  // A conflict is the answer even if the entries would be refused, and the server looks at the entries first.
  // A queue that is closed or gone never comes back, so the row may be read a moment later.
  const auto refused = [&](const RowStep& step) -> RowResult {
    auto there = wait_row(rows, step.row.key);
    if (there != step.seen) return {What::conflict, std::move(there)};
    return {What::refused, {}};
  };
  std::vector<RowResult> results;
  for (const auto& step : steps) {
    const auto& [row, seen, entries] = step;
    std::vector<std::int64_t> shards;
    std::vector<std::string_view> bodies;
    const bool can_be = std::ranges::all_of(entries, [](const auto& entry) { return can_pack(entry.shard); });
    for (const auto& entry : entries) {
      shards.push_back(can_be ? pack(entry.shard) : 0);
      bodies.push_back(entry.bytes);
    }
    if (!can_be) {
      results.push_back(refused(step));
      continue;
    }
    Parameters parameters;
    parameters.number(context_.store).maybe(given_now()).number(excess().count()).text(rows).bytes(row.key);
    parameters.flag(row.listed).number(row.until.time_since_epoch().count()).bytes(row.bytes);
    parameters.flag(seen.has_value()).bytes(seen.value_or(""));
    parameters.numbers(shards).byte_strings(std::span<const std::string_view>(bodies));
    const auto answer =
        ask("write a row beside the logs of",
            "SELECT r, t FROM ordo_step_row($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)"
            " AS a(r, t)",
            parameters);
    RowResult result{static_cast<What>(answer.number(0, 0)), {}};
    if (result.what == What::refused) result = refused(step);
    if (!answer.is_null(0, 1)) result.there = std::string(answer.bytes(0, 1));
    results.push_back(std::move(result));
  }
  context_.wakers.wake_all();
  return results;
}

}  // namespace ordo::store::postgres
