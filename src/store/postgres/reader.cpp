// The log as one owner or onlooker reads it. Sleeping is in reader_wait.cpp, the statements in
// schema/log.sql.
#include "store/postgres/reader.h"

#include <algorithm>

#include "base/random.h"
#include "store/limits.h"
#include "store/postgres/request.h"

namespace ordo::store::postgres {
namespace {

constexpr int kPlaceBits = 20;
enum Kind { kFacts = 0, kEntry = 1, kLateEntry = 2, kToMove = 3 };

std::int64_t xid_of(std::int64_t seq) { return seq >> kPlaceBits; }

}  // namespace

Reader::Reader(ReaderContext& context)
    : context_(context), id_(static_cast<std::int64_t>(Random::from_system().next() >> 1)) {
  context_.wakers.add(waker_);
}

Reader::~Reader() {
  context_.wakers.remove(waker_);
  for (const auto& [shard, place] : places_) context_.seen.forget(unpack(shard), place.lease);
}

void Reader::add(ShardId shard, Seq after, Lease lease) {
  if (!can_pack(shard)) return;
  auto& place = places_[pack(shard)];
  place = {.after = static_cast<std::int64_t>(after), .lease = lease};
  if (!place.is_owned()) return;
  // In this order: a place that knows of fewer setbacks was noted before them, so its lease has ended.
  context_.seen.note(shard, lease, place.after, {});
  place.setbacks = context_.connector.setbacks();
}

void Reader::remove(ShardId shard) {
  if (!can_pack(shard)) return;
  const auto found = places_.find(pack(shard));
  if (found == places_.end()) return;
  context_.seen.forget(shard, found->second.lease);
  places_.erase(found);
}

// What is remembered is of a past that did not happen.
void Reader::start_over() {
  setbacks_ = context_.connector.setbacks();
  for (auto& [shard, place] : places_) {
    if (!place.is_owned() || place.setbacks == setbacks_) continue;
    place.is_lost = place.is_adopted = true;
    place.inherited.clear();
  }
  open_.clear();
  late_.reset();
  end_ = 0;
  changes_.reset();
}

// A new connection begins where the old one stood: places and open transactions are no business of a session.
Connection& Reader::connection() {
  if (setbacks_ != context_.connector.setbacks()) start_over();
  if (connection_ != nullptr && connection_->is_usable()) return *connection_;
  connection_ = nullptr;
  flag_.reset();
  auto fresh = context_.connector.connect();
  if (setbacks_ != context_.connector.setbacks()) start_over();
  // Behind a pooler a LISTEN is lost with the end of its transaction; a pooler is told by the process number
  // that it made up.
  const auto facts =
      fresh->run("read the log of", "SELECT pg_backend_pid(), 'ordo_' || 'ordo_meta'::regclass::oid");
  can_listen_ = facts.number(0, 0) == fresh->backend();
  if (can_listen_) {
    fresh->run_script("listen to", ("LISTEN " + std::string(facts.bytes(0, 1))).c_str());
    // Flags of processes that have died. Here, as it walks all versions of flags.
    fresh->run("listen to", "DELETE FROM ordo_sleeper WHERE until < ordo_now(NULL) - 60000000");
  }
  connection_ = std::move(fresh);
  return *connection_;
}

// All that can fail comes before anything is taken: the next call goes on where this one stood.
LogChunk Reader::read(std::size_t max_rows) {
  waker_.reset();
  constexpr int kBusy = 3;  // from here on nobody needs to notify: the next read comes anyway
  if (busy_reads_ >= kBusy) wake_up();
  adopt();
  auto page = fetch_page(std::max<std::size_t>(max_rows, 1), kReadBytes);
  for (int moves = 0; !page.to_move.empty(); ++moves) {
    constexpr int kMoves = 100;
    if (moves == kMoves) return {.at_end = false};
    move(page.to_move);
    page = fetch_page(std::max<std::size_t>(max_rows, 1), kReadBytes);
  }

  LogChunk chunk;
  take_rows(page, chunk);
  settle(page);
  note_seen();
  for (auto& [shard, place] : places_) {
    // A full page tells nothing of the shards behind its last one.
    const bool is_read = !page.next || (!page.next->is_late && is_before(shard, page.next->shard));
    if (place.is_lost && !std::exchange(place.is_told, true))
      chunk.lost.emplace_back(unpack(shard), place.lease);
    if (place.is_caught_up || place.is_lost || !is_read) continue;
    place.is_caught_up = true;
    chunk.caught_up.push_back(unpack(shard));
  }
  if (page.next && !page.next->is_late) first_ = page.next->shard;
  chunk.at_end = !page.next;
  chunk.woken = page.changes != changes_;
  changes_ = page.changes;
  busy_reads_ = chunk.rows.empty() ? 0 : busy_reads_ + 1;
  return chunk;
}

// Where the entries begin, and what the owner before had not seen although it had read past it. An owner
// moves that; who only looks begins before it.
void Reader::adopt() {
  std::vector<std::int64_t> fresh;
  for (const auto& [shard, place] : places_) {
    if (!place.is_adopted) fresh.push_back(shard);
  }
  if (fresh.empty()) return;
  const auto starts =
      connection().run("read the log of", "SELECT * FROM ordo_starts($1)", Parameters().numbers(fresh));
  for (int row = 0; row < starts.rows(); ++row) {
    auto& place = places_.at(starts.number(row, 0));
    auto low = starts.number(row, 1);
    const auto unseen = starts.numbers(row, 2);
    if (place.is_owned()) place.inherited.insert(unseen.begin(), unseen.end());
    for (const auto xid : unseen) low = place.is_owned() ? low : std::min(low, xid << kPlaceBits);
    place.after = std::max(place.after, low - 1);
  }
  for (const auto shard : fresh) places_.at(shard).is_adopted = true;
}

// Shards are read in a circle.
bool Reader::is_before(std::int64_t shard, std::int64_t other) const {
  return std::pair(shard < first_, shard) < std::pair(other < first_, other);
}

Reader::Page Reader::fetch_page(std::size_t rows, std::int64_t bytes) {
  auto& connection = this->connection();  // first: it may make places void
  std::vector<std::int64_t> shards, after, skip_shards, skip_xids;
  for (const auto& [shard, place] : places_) {
    if (place.is_lost) continue;
    shards.push_back(shard);
    for (const auto xid : place.inherited) {
      skip_shards.push_back(shard);
      skip_xids.push_back(xid);
    }
  }
  const auto in_order = [this](std::int64_t a, std::int64_t b) { return is_before(a, b); };
  std::ranges::sort(shards, in_order);
  std::unique_ptr<bool[]> owned(new bool[shards.size()]);
  for (std::size_t i = 0; i < shards.size(); ++i) {
    after.push_back(places_.at(shards[i]).after);
    owned[i] = places_.at(shards[i]).is_owned();
  }
  const std::vector<std::int64_t> open(open_.begin(), open_.end());
  std::vector<std::int64_t> open_places(open.size(), 0), open_from(open.size(), 0);
  for (std::size_t i = 0; i < open.size() && late_; ++i) {
    if (open[i] != xid_of(late_->seq)) continue;
    const auto reached = std::ranges::lower_bound(shards, late_->shard, in_order);
    open_places[i] = reached - shards.begin() + 1;  // counted from 1 there
    open_from[i] = reached != shards.end() && *reached == late_->shard ? late_->seq : 0;
  }
  Parameters parameters;
  parameters.numbers(shards).numbers(after).flags({owned.get(), shards.size()});
  parameters.numbers(open).numbers(open_places).numbers(open_from);
  parameters.numbers(skip_shards).numbers(skip_xids);
  parameters.number(static_cast<std::int64_t>(rows)).number(bytes);

  const auto asked = context_.clock.steady();
  Page page;
  page.result = connection.run(
      "read the log of", "SELECT * FROM ordo_read_page($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)", parameters);
  const auto& result = *page.result;
  if (result.rows() == 0) {
    throw Error(ErrorKind::corrupt, "cannot read the log of " + connection.place() +
                                        ": the row of ordo_meta is gone; restore a backup");
  }
  context_.clock.learn(Time{Duration{result.number(0, 3)}}, asked);
  page.snapshot = Snapshot(result.bytes(0, 4));
  if (page.snapshot.end() < end_) {  // seen without a new connection only behind a pooler
    connection_ = nullptr;
    throw Error(ErrorKind::unavailable,
                "cannot read the log: the server has gone back to an older state; it is read anew");
  }
  end_ = page.snapshot.end();
  context_.connector.saw(end_);
  page.changes = result.unsigned_number(0, 1) + result.unsigned_number(0, 2);
  for (int row = 1; row < result.rows(); ++row) {
    const auto kind = result.number(row, 0);
    if (kind == kToMove) {
      page.to_move.emplace_back(result.number(row, 1), result.number(row, 2));
    } else if (result.is_null(row, 4)) {
      page.next = {
          .is_late = kind == kLateEntry, .shard = result.number(row, 1), .seq = result.number(row, 2)};
    }
  }
  return page;
}

void Reader::take_rows(const Page& page, LogChunk& chunk) {
  const auto& result = *page.result;
  chunk.rows.reserve(static_cast<std::size_t>(result.rows()));
  for (int row = 1; row < result.rows(); ++row) {
    if (result.number(row, 0) == kToMove || result.is_null(row, 4)) continue;
    const auto shard = result.number(row, 1);
    const auto seq = result.number(row, 2);
    auto& place = places_.at(shard);
    if (result.number(row, 0) == kEntry) place.after = seq;
    place.last_at = std::max(place.last_at, result.number(row, 3));
    chunk.add({.seq = static_cast<Seq>(seq), .shard = unpack(shard), .at = Time{Duration{place.last_at}}},
              result.bytes(row, 4));
  }
  if (!page.next) return;
  auto& last = chunk.rows.back();
  last.more = last.shard == unpack(page.next->shard) &&
              xid_of(static_cast<std::int64_t>(last.seq)) == xid_of(page.next->seq);
}

// What transactions in progress will bring may be late. Of those that have ended everything was found, but
// for what the page had no room for; late entries come first, so the places are then where they were.
void Reader::settle(const Page& page) {
  late_ = page.next && page.next->is_late ? page.next : std::nullopt;
  const auto has_ended = [&](std::int64_t xid) { return page.snapshot.has_ended(xid); };
  std::erase_if(open_,
                [&](std::int64_t xid) { return has_ended(xid) && (!late_ || xid < xid_of(late_->seq)); });
  open_.insert(page.snapshot.in_progress().begin(), page.snapshot.in_progress().end());
  for (auto& [shard, place] : places_) std::erase_if(place.inherited, has_ended);
}

void Reader::note_seen() {
  for (const auto& [shard, place] : places_) {
    if (!place.is_owned() || place.is_lost) continue;
    std::vector<std::int64_t> unseen(place.inherited.begin(), place.inherited.end());
    for (const auto xid : open_) {
      if (xid < xid_of(place.after) && !place.inherited.contains(xid)) unseen.push_back(xid);
    }
    context_.seen.note(unpack(shard), place.lease, place.after, std::move(unseen));
  }
}

void Reader::move(const std::vector<Pair>& pairs) {
  std::vector<std::int64_t> shards, xids, tokens, holders, after, at;
  for (const auto& [shard, xid] : pairs) {
    const auto& place = places_.at(shard);
    shards.push_back(shard);
    xids.push_back(xid);
    tokens.push_back(static_cast<std::int64_t>(place.lease.token));
    holders.push_back(static_cast<std::int64_t>(place.lease.holder));
    after.push_back(place.after);
    at.push_back(place.last_at);
  }
  Parameters parameters;
  parameters.numbers(shards).numbers(xids).numbers(tokens).numbers(holders).numbers(after).numbers(at);
  const auto moved =
      connection().run("move late entries of", "SELECT * FROM ordo_move($1, $2, $3, $4, $5, $6)", parameters);
  for (int row = 0; row < moved.rows(); ++row) {
    if (moved.number(row, 1) < 0) places_.at(moved.number(row, 0)).is_lost = true;
  }
}

}  // namespace ordo::store::postgres
