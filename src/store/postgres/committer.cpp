// Group commit: there is no timer; while one transaction is on its way the next one gathers. Also decides
// what a failed transaction means for each of its requests.
#include "store/postgres/committer.h"

#include <algorithm>
#include <utility>

#include "base/start_thread.h"
#include "store/limits.h"

namespace ordo::store::postgres {
namespace {

constexpr std::size_t kGroupRecords = 16'384;
constexpr std::size_t kGroupBytes = 16u << 20;
constexpr int kAttempts = 4;
// Places of a transaction's entries in a shard have 20 bits.
constexpr std::size_t kMaxEntries = 1u << 20;

std::size_t records_of(const Request& request) {
  if (const auto* append = std::get_if<AppendRequest>(&request)) return append->entries.size();
  std::size_t records = 1;
  for (const auto& delta : std::get<CommitRequest>(request).deltas) {
    records += delta.erase.size() + delta.states.size() + delta.erase_states.size() + delta.dead.size() +
               delta.erase_kept.size();
  }
  return records;
}

std::size_t bytes_of(const AppendRequest& append) {
  std::size_t bytes = 0;
  for (const auto& entry : append.entries) bytes += entry.bytes.size();
  return bytes;
}

std::size_t bytes_of(const CommitRequest& commit) {
  std::size_t bytes = 0;
  for (const auto& delta : commit.deltas) {
    for (const auto& state : delta.states) bytes += state.bytes.size();
    for (const auto& dead : delta.dead) bytes += dead.bytes.size();
    if (delta.keep) bytes += delta.keep->head.size() + delta.keep->body.size();
  }
  return bytes;
}

std::size_t bytes_of(const Request& request) {
  return std::visit([](const auto& one) { return bytes_of(one); }, request);
}

// To write what is given in bytes; the answer comes when all is done.
Duration time_for(std::span<AppendRequest* const> appends, std::span<CommitRequest* const> commits) {
  constexpr std::size_t kBytesPerSecond = 8u << 20;
  std::size_t bytes = 0;
  for (const auto* append : appends) bytes += bytes_of(*append);
  for (const auto* commit : commits) bytes += bytes_of(*commit);
  return std::chrono::seconds{bytes / kBytesPerSecond};
}

std::optional<Error> refusal_of(const AppendRequest& append) {
  for (const auto& entry : append.entries) {
    if (!can_pack(entry.shard)) return unknown_shard(entry.shard.queue, entry.shard.index);
  }
  if (const auto bytes = bytes_of(append); bytes > kMaxAppendBytes) return too_much_to_append(bytes);
  if (append.entries.size() > kMaxEntries) {
    return Error(ErrorKind::invalid_argument, "cannot append " + std::to_string(append.entries.size()) +
                                                  " entries in one call: send at most " +
                                                  std::to_string(kMaxEntries));
  }
  return std::nullopt;
}

void finish(CommitRequest& commit, std::exception_ptr error) {
  if (error != nullptr) commit.results.clear();
  commit.done(std::move(commit.results), std::move(error));
}

}  // namespace

std::exception_ptr Committer::Failure::error() const {
  return kind ? std::make_exception_ptr(Error(*kind, message)) : nullptr;
}

// Serialization failures and deadlocks: nothing happened, and the next attempt meets others.
bool Committer::Failure::is_worth_repeating() const { return kind && state.starts_with("40"); }

// Somebody holds the row of a shard.
bool Committer::Failure::is_held_up() const { return kind && state == "55P03"; }

bool Committer::Failure::may_be_one_requests() const {
  return kind && !state.empty() && !is_held_up() && !state.starts_with("57") && !state.starts_with("53");
}

Committer::Committer(ConnectionPool& connections, SeenBook& seen, Hooks hooks)
    : connections_(connections),
      seen_(seen),
      hooks_(std::move(hooks)),
      thread_(start_thread([this](const std::stop_token& stop) { loop(stop); })) {}

Committer::~Committer() {
  thread_.request_stop();
  thread_.join();
}

void Committer::submit(Request request) { waiting_.push(std::move(request)); }

void Committer::loop(const std::stop_token& stop) {
  Group group;
  while (take_group(stop, group)) {
    write(group);
    group.clear();
  }
}

bool Committer::take_group(const std::stop_token& stop, Group& group) {
  std::size_t records = 0;
  std::size_t bytes = 0;
  waiting_.take(stop, group, {}, [&](const Request& request) {
    const auto more = records_of(request);
    const bool is_full = records >= kGroupRecords || bytes >= kGroupBytes || records + more > kMaxEntries;
    if (is_full && !group.empty()) return false;
    records += more;
    bytes += bytes_of(request);
    return true;
  });
  return !group.empty();
}

void Committer::write(std::span<Request> requests) {
  std::vector<AppendRequest*> appends;
  std::vector<CommitRequest*> commits;
  for (auto& request : requests) {
    if (auto* const commit = std::get_if<CommitRequest>(&request)) {
      commits.push_back(commit);
      continue;
    }
    auto& append = std::get<AppendRequest>(request);
    const auto refusal = refusal_of(append);
    if (refusal || append.entries.empty()) {
      append.done(refusal ? std::make_exception_ptr(*refusal) : nullptr);
    } else {
      appends.push_back(&append);
    }
  }
  if (appends.empty() && commits.empty()) return;
  std::vector<std::int64_t> unknown;
  Failure failure = attempt(appends, commits, unknown);
  for (int i = 1; i < kAttempts && (failure.is_worth_repeating() || (i == 1 && failure.is_held_up())); ++i) {
    if (failure.is_held_up()) evict();
    failure = attempt(appends, commits, unknown);
  }
  if (failure.may_be_one_requests() && appends.size() + commits.size() > 1) {
    // Those that were refused above are complete.
    for (auto* const append : appends) {
      failure = attempt({&append, 1}, {}, unknown);
      if (failure.kind || unknown.empty()) {
        append->done(failure.error());
      } else {
        write_appends_of_known_shards({append}, unknown);
      }
    }
    for (auto* const commit : commits) finish(*commit, attempt({}, {&commit, 1}, unknown).error());
    return;
  }
  for (auto* const commit : commits) finish(*commit, failure.error());
  if (!failure.kind && !unknown.empty()) return write_appends_of_known_shards(std::move(appends), unknown);
  for (auto* const append : appends) append->done(failure.error());
}

// One of them named a shard that is not there, so none was written.
void Committer::write_appends_of_known_shards(std::vector<AppendRequest*> appends,
                                              std::span<const std::int64_t> unknown) {
  std::erase_if(appends, [&](AppendRequest* append) {
    const auto stranger =
        std::find_if(append->entries.begin(), append->entries.end(), [&](const NewEntry& entry) {
          return std::find(unknown.begin(), unknown.end(), pack(entry.shard)) != unknown.end();
        });
    if (stranger == append->entries.end()) return false;
    append->done(std::make_exception_ptr(unknown_shard(stranger->shard.queue, stranger->shard.index)));
    return true;
  });
  if (appends.empty()) return;
  std::vector<std::int64_t> more;
  const auto failure = attempt(appends, {}, more);
  if (!failure.kind && !more.empty()) return write_appends_of_known_shards(std::move(appends), more);
  for (auto* const append : appends) append->done(failure.error());
}

Committer::Failure Committer::attempt(std::span<AppendRequest* const> appends,
                                      std::span<CommitRequest* const> commits,
                                      std::vector<std::int64_t>& unknown) noexcept {
  try {
    unknown = transact(appends, commits);
  } catch (const DatabaseError& error) {
    if (error.state().empty()) connections_.forget_idle();
    return {error.kind(), error.what(), error.state()};
  } catch (const Error& error) {
    return {error.kind(), error.what(), ""};
  } catch (const std::exception& error) {
    return {ErrorKind::unavailable, std::string("cannot write to PostgreSQL: ") + error.what(), ""};
  }
  if (!appends.empty() && unknown.empty()) hooks_.appended();
  return {};
}

void Committer::evict() noexcept {
  try {
    connection_->evict();
  } catch (const std::exception&) {
    // what waits for it tells
  }
}

// The fences come last: what a client that stops half way has locked until then is nobody's shard.
std::vector<std::int64_t> Committer::transact(std::span<AppendRequest* const> appends,
                                              std::span<CommitRequest* const> commits) {
  if (connection_ == nullptr || !connection_->is_usable()) {
    connection_ = nullptr;  // first: the server may count connections
    connection_ = connections_.take();
  }
  auto deltas = CommitStatement::of(commits);
  connection_->begin_pipeline(kAnswer + time_for(appends, commits));
  if (!appends.empty()) {
    connection_->send("append to", AppendStatement::kSql,
                      AppendStatement(appends).parameters(hooks_.writer()));
  }
  for (auto& statement : deltas) {
    connection_->send("commit to", statement.sql(), statement.parameters(seen_));
  }
  const auto results = connection_->finish_pipeline();
  std::size_t next = 0;
  std::vector<std::int64_t> unknown;
  if (!appends.empty()) unknown = results[next++].numbers(0, 0);
  for (auto& statement : deltas) statement.take(results[next++]);
  return unknown;
}

}  // namespace ordo::store::postgres
