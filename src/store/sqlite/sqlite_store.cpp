// Ties the parts together: every write becomes a request of the committer, every read borrows a reader.
#include "store/sqlite/sqlite_store.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "base/assert.h"
#include "store/answer.h"
#include "store/global_reader.h"
#include "store/limits.h"
#include "store/question_id.h"
#include "store/sqlite/dead.h"
#include "store/sqlite/examine.h"
#include "store/sqlite/location.h"
#include "store/sqlite/questions.h"
#include "store/sqlite/registry.h"
#include "store/sqlite/schema.h"
#include "store/sqlite/waits.h"

namespace ordo::store::sqlite {
namespace {

class AppendRequest final : public Request {
 public:
  AppendRequest(std::vector<NewEntry> entries, Completion done)
      : entries_(std::move(entries)), done_(std::move(done)) {
    for (const auto& entry : entries_) bytes_ += entry.bytes.size();
  }

  void run(Writer& writer) override {
    refusal_ = writer.refusal_of(entries_);
    if (!refusal_) writer.append(entries_);
  }

  void finish(std::exception_ptr error) override {
    if (error == nullptr && refusal_) error = std::make_exception_ptr(std::move(*refusal_));
    refusal_.reset();  // before the other thread has it: copies of an Error share their text
    done_(std::move(error));
  }

  std::size_t records() const override { return entries_.size(); }
  std::size_t bytes() const override { return bytes_; }
  bool grows() const override { return true; }

 private:
  std::vector<NewEntry> entries_;
  Completion done_;
  std::size_t bytes_ = 0;
  std::optional<Error> refusal_;  // nothing was written
};

class CommitRequest final : public Request {
 public:
  CommitRequest(std::vector<Delta> deltas, CommitCompletion done)
      : deltas_(std::move(deltas)), done_(std::move(done)) {
    for (const auto& delta : deltas_) {
      records_ += delta.erase.size() + delta.states.size() + delta.erase_states.size() + delta.dead.size();
      for (const auto& state : delta.states) bytes_ += state.bytes.size();
      for (const auto& dead : delta.dead) bytes_ += dead.bytes.size();
      records_ += delta.erase_kept.size();
      if (delta.keep) bytes_ += delta.keep->head.size() + delta.keep->body.size();
      keeps_ = keeps_ || delta.keep;
    }
  }

  void run(Writer& writer) override {
    results_.clear();
    for (const auto& delta : deltas_) results_.push_back(writer.apply(delta, keeps_));
  }

  void finish(std::exception_ptr error) override {
    if (error != nullptr) results_.clear();
    done_(std::move(results_), std::move(error));
  }

  std::size_t records() const override { return records_; }
  std::size_t bytes() const override { return bytes_; }
  bool grows() const override { return keeps_; }
  bool shrink() override { return std::exchange(keeps_, false); }

 private:
  std::vector<Delta> deltas_;
  bool keeps_ = false;  // what they are to keep
  CommitCompletion done_;
  std::size_t records_ = 1;
  std::size_t bytes_ = 0;
  std::vector<CommitResult> results_;
};

// A verb whose caller waits for its result.
template <class Body>
class CallRequest final : public Request {
 public:
  using Result = std::invoke_result_t<Body&, Writer&>;

  CallRequest(Body& body, bool grows, Answer<Result>& answer) : body_(body), grows_(grows), answer_(answer) {}

  void run(Writer& writer) override { result_ = body_(writer); }

  void finish(std::exception_ptr error) override {
    if (error != nullptr) {
      answer_.fail(std::move(error));
    } else {
      answer_.give(std::move(*result_));
    }
  }

  bool grows() const override { return grows_; }

 private:
  Body& body_;  // the caller waits, so it lives
  const bool grows_;
  std::optional<Result> result_;
  Answer<Result>& answer_;
};

// Nobody waits for it.
class LaterRequest final : public Request {
 public:
  LaterRequest(std::function<void(Writer&)> body, std::function<void()> then)
      : body_(std::move(body)), then_(std::move(then)) {}

  void run(Writer& writer) override { body_(writer); }
  void finish(std::exception_ptr error) override {
    if (error == nullptr && then_) then_();
  }
  bool is_durable() const override { return false; }
  bool grows() const override { return true; }

 private:
  std::function<void(Writer&)> body_;
  std::function<void()> then_;
};

/// The database's path. SQLite would make the file for everybody to read.
std::string made(const Location& location) {
  auto path = locate(location.path);
  make_file(path, location.mode);
  return path;
}

Connection& checked(Connection& connection) {
  check_ours(connection);
  return connection;
}

}  // namespace

SqliteStore::SqliteStore(const std::string& location, Clock& clock, int busy_timeout_ms)
    : clock_(clock),
      connection_(made(parse_location(location)), Connection::Mode::read_write, busy_timeout_ms),
      files_(connection_.path()),
      wake_(checked(connection_).path()),
      node_locks_(connection_.path()),
      readers_(connection_.path(), files_),
      committer_(connection_, files_, clock, wake_) {}

template <class Body>
auto SqliteStore::write(Body body, Growth growth) {
  ORDO_ASSERT(!committer_.is_own_thread());  // a completion must not block
  Answer<typename CallRequest<Body>::Result> answer;
  committer_.submit(std::make_unique<CallRequest<Body>>(body, growth == Growth::grows, answer));
  return answer.wait();
}

void SqliteStore::write_later(std::function<void(Writer&)> body, std::function<void()> then) {
  committer_.submit(std::make_unique<LaterRequest>(std::move(body), std::move(then)));
}

// ----------------------------------------------------------------------------------------------------------
// log

void SqliteStore::append(std::vector<NewEntry> entries, Completion done) {
  committer_.submit(std::make_unique<AppendRequest>(std::move(entries), std::move(done)));
}

namespace {

class LogScanner final : public GlobalReader {
 public:
  LogScanner(ReaderPool& readers, WakeWord& wake) : readers_(readers), wake_(wake) {}

 private:
  Scan scan(Seq after, const ShardSet& shards, std::size_t max_rows) override {
    Scan scan;
    scan.chunk =
        readers_.with([&](Reader& reader) { return reader.read(after, shards, max_rows, scan.head); });
    return scan;
  }
  std::uint64_t count_wakes() override { return wake_.count(); }
  void wait_for_wake(std::uint64_t seen, Duration at_most) override { wake_.wait(seen, at_most); }

  ReaderPool& readers_;
  WakeWord& wake_;
};

}  // namespace

std::unique_ptr<LogReader> SqliteStore::open_log() { return std::make_unique<LogScanner>(readers_, wake_); }

LogChunk SqliteStore::fetch(ShardId shard, std::span<const Seq> seqs) {
  return readers_.with([&](Reader& reader) { return reader.fetch(shard, seqs); });
}

void SqliteStore::wake() { wake_.wake(); }

// --------------------------------------------------------------------------------------------------------
// owner

void SqliteStore::commit(std::vector<Delta> deltas, CommitCompletion done) {
  committer_.submit(std::make_unique<CommitRequest>(std::move(deltas), std::move(done)));
}

std::vector<ShardFacts> SqliteStore::load(std::span<const ShardId> shards) {
  return readers_.with([&](Reader& reader) { return reader.load(shards); });
}

std::vector<KeptRow> SqliteStore::kept_heads(ShardId shard, std::uint64_t from, std::size_t max_rows) {
  return readers_.with([&](Reader& reader) { return reader.kept_heads(shard, from, max_rows); });
}

std::vector<KeptRow> SqliteStore::kept(ShardId shard, std::span<const std::uint64_t> nos) {
  return readers_.with([&](Reader& reader) { return reader.kept(shard, nos); });
}

bool SqliteStore::replace_kept(ShardId shard, const KeptRow& row) {
  return write([&](Writer& writer) { return writer.replace_kept(shard, row); });
}

// -------------------------------------------------------------------------------------------------------
// queues

QueueList SqliteStore::queues() {
  return readers_.with([&](Reader& reader) {
    const Snapshot snapshot(reader.connection());
    std::vector<std::string> odd;
    auto list = read_queues(reader.connection(), odd);
    left_out_.set("queues", std::move(odd));
    return list;
  });
}

std::vector<QueueDefinition> SqliteStore::define_all(std::span<const QueueWish> queues) {
  for (const auto& queue : queues) check_definition(queue.name, queue.shards);
  return write([&](Writer& writer) { return define_queues(writer, queues); }, Growth::grows);
}

bool SqliteStore::set_paused(std::string_view name, bool paused) {
  return write([&](Writer& writer) { return pause_queue(writer, name, paused); });
}

bool SqliteStore::remove(std::string_view name) {
  return write([&](Writer& writer) { return remove_queue(writer, name); });
}

bool SqliteStore::close(std::string_view name) {
  return write([&](Writer& writer) { return close_queue(writer, name); });
}

bool SqliteStore::replace(std::string_view name, std::uint32_t by) {
  return write([&](Writer& writer) { return replace_queue(writer, name, by); });
}

// --------------------------------------------------------------------------------------------- nodes and
// leases

void SqliteStore::join(const std::string& node, const std::string& facts) {
  check_node(node);
  node_locks_.hold(node);
  {
    const std::lock_guard lock(asked_mutex_);
    own_nodes_.insert(node);
  }
  write([&](Writer& writer) {
    node_locks_.hold(node);  // again: somebody may have removed the node, and its file, in between
    join_node(writer, node, facts);
    return true;
  });
}

bool SqliteStore::renew(const std::string& node, Duration) {
  return write([&](Writer& writer) { return renew_node(writer, node); });
}

bool SqliteStore::request(const std::string& node, NodeRequest request) {
  return write([&](Writer& writer) { return request_of_node(writer, node, request); });
}

void SqliteStore::leave(const std::string& node, std::optional<std::uint64_t> seen_renewals) {
  {
    const std::lock_guard lock(asked_mutex_);
    looked_at_.erase(node);
  }
  write([&](Writer& writer) { return forget_node(writer, node_locks_, node, seen_renewals); });
  // Only when that is durable: a node with a row and without a file looks dead. And not beside a join.
  write([&](Writer& writer) {
    if (!has_node(writer, node)) {
      node_locks_.drop(node);
      const std::lock_guard lock(asked_mutex_);
      own_nodes_.erase(node);
    }
    return true;
  });
}

std::vector<NodeRow> SqliteStore::nodes() {
  return readers_.with([&](Reader& reader) { return read_nodes(reader.connection(), node_locks_); });
}

std::vector<ShardRow> SqliteStore::shards() {
  auto rows = readers_.with([](Reader& reader) { return read_shards(reader.connection()); });
  left_out_.set("shards", take_used_up(rows));
  return rows;
}

std::vector<Grant> SqliteStore::acquire(const std::string& node, std::uint64_t holder,
                                        std::span<const Claim> claims) {
  return write([&](Writer& writer) { return acquire_shards(writer, node_locks_, node, holder, claims); });
}

void SqliteStore::release(std::span<const Release> ends) {
  write([&](Writer& writer) {
    release_shards(writer, ends);
    return true;
  });
}

// ----------------------------------------------------------------------------------------------------- the
// dead

std::vector<DeadRow> SqliteStore::dead(std::uint32_t queue, std::uint64_t after, std::size_t max_rows) {
  return readers_.with(
      [&](Reader& reader) { return read_dead(reader.connection(), queue, after, max_rows); });
}

std::vector<ShardId> SqliteStore::oldest_dead(std::uint32_t queue, std::size_t max_rows) {
  return readers_.with(
      [&](Reader& reader) { return read_oldest_dead(reader.connection(), queue, max_rows); });
}

std::size_t SqliteStore::erase_dead(std::uint32_t queue, std::span<const std::uint64_t> nos) {
  return write([&](Writer& writer) { return erase_dead_rows(writer, queue, nos); });
}

std::size_t SqliteStore::revive(std::uint32_t queue, std::span<const std::uint64_t> nos,
                                std::vector<NewEntry> entries) {
  check_revive(nos.size(), entries.size());
  return write([&](Writer& writer) { return revive_rows(writer, queue, nos, entries); }, Growth::grows);
}

// ------------------------------------------------------------------------------------------------------
// waits

std::optional<std::string> SqliteStore::wait_row(std::string_view queue, std::string_view key) {
  check_wait_key(key);
  return readers_.with(
      [&](Reader& reader) { return read_wait(reader.connection(), queue, key, believed_now()); });
}

std::vector<WaitRow> SqliteStore::wait_rows(std::string_view queue, std::string_view after,
                                            std::size_t max_rows) {
  return readers_.with([&](Reader& reader) {
    return list_waits(reader.connection(), queue, after, max_rows, believed_now());
  });
}

// Most times there is nothing, and nobody is to wait for a transaction.
std::size_t SqliteStore::sweep_rows(std::string_view /*queue*/, std::size_t max_rows) {
  const auto now = believed_now();
  const bool has_any =
      readers_.with([&](Reader& reader) { return has_waits_over(reader.connection(), now); });
  if (!has_any) return 0;
  return write([&](Writer& writer) { return writer.waits().sweep_at_most(max_rows, now); });
}

std::vector<RowResult> SqliteStore::step_rows(std::string_view rows, std::vector<RowStep> steps) {
  for (const auto& step : steps) check_wait_key(step.row.key);
  return write([&](Writer& writer) { return writer.waits().step(writer, rows, steps, believed_now()); },
               Growth::grows);
}

// --------------------------------------------------------------------------------------------------
// questions

std::string SqliteStore::ask(const std::string& node, std::string bytes) {
  check_question(node, bytes);
  if (is_own(node)) {
    auto id = asked_here_.ask(node, std::move(bytes), now());
    wake_.ask();
    return id;
  }
  auto id = question_id(now());
  write_later([node, question = Question{id, std::move(bytes)}](
                  Writer& writer) { put_question(writer, node, question); },
              [this] { wake_.ask(); });
  return id;
}

bool SqliteStore::is_own(const std::string& node) {
  const std::lock_guard lock(asked_mutex_);
  return own_nodes_.contains(node);
}

std::vector<Question> SqliteStore::questions(const std::string& node) {
  const auto asked = wake_.questions();
  {
    const std::lock_guard lock(asked_mutex_);
    const auto before = looked_at_.find(node);
    if (before != looked_at_.end() && before->second == asked) return {};
  }
  auto questions =
      readers_.with([&](Reader& reader) { return read_questions(reader.connection(), node, now()); });
  std::ranges::move(asked_here_.open(node, now()), std::back_inserter(questions));
  std::ranges::sort(questions, {}, &Question::id);
  if (questions.size() > kMostQuestions) questions.resize(kMostQuestions);
  const std::lock_guard lock(asked_mutex_);
  looked_at_[node] = asked;
  return questions;
}

void SqliteStore::answer(const std::string& node, const std::string& id, std::string bytes) {
  check_answer(bytes);
  if (asked_here_.answer(node, id, bytes, now())) return;
  write_later([node, id, bytes = std::move(bytes)](Writer& writer) { put_answer(writer, node, id, bytes); });
}

std::optional<std::string> SqliteStore::take_answer(const std::string& node, const std::string& id) {
  if (auto answer = asked_here_.take_answer(node, id, now())) return answer;
  if (is_own(node)) return std::nullopt;
  auto answer =
      readers_.with([&](Reader& reader) { return read_answer(reader.connection(), node, id, now()); });
  if (answer) write_later([node, id](Writer& writer) { drop_answer(writer, node, id); });
  return answer;
}

std::vector<Finding> SqliteStore::examine() {
  return readers_.with([&](Reader& reader) { return examine_file(reader.connection(), now()); });
}

}  // namespace ordo::store::sqlite
