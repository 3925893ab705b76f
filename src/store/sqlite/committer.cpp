// Group commit: there is no timer; while one transaction is on its way to the disk the next one gathers. Also
// decides what a failed transaction means for each of its requests, and when the WAL is copied back into the
// file.
#include "store/sqlite/committer.h"

#include <algorithm>
#include <utility>

#include "base/saturate.h"
#include "base/start_thread.h"
#include "store/sqlite/schema.h"

namespace ordo::store::sqlite {
namespace {

constexpr std::size_t kGroupRecords = 16'384;
constexpr std::size_t kGroupBytes = 16u << 20;
constexpr int kWalPages = 10'000;
// A WAL file that a long reader let grow beyond this is cut, not only started again.
constexpr int kWalPagesToCut = 4 * kWalPages;
// How long a checkpoint waits for readers to leave the WAL.
constexpr int kReaderPatienceMs = 50;
// A checkpoint that a reader kept from starting the WAL anew is tried again after this long.
constexpr Duration kPauseBehindReader = std::chrono::seconds{1};

Connection& prepared(Connection& connection, OpenFiles& files, FileLock& lock) {
  const FileLock::Hold hold(lock);
  ensure_schema(connection);
  connection.run(
      "PRAGMA synchronous=FULL; PRAGMA secure_delete=0; PRAGMA cache_size=-65536; PRAGMA temp_store=memory");
  connection.set_task("write");
  {
    const Snapshot opens_the_wal(connection);
    static_cast<void>(connection.number("SELECT count(*) FROM counter"));
  }
  files.note(connection);
  return connection;
}

bool may_be_one_requests_fault(int code) {
  return code == SQLITE_FULL || code == SQLITE_TOOBIG || code == SQLITE_CONSTRAINT;
}

}  // namespace

std::exception_ptr Committer::Failure::error() const {
  return kind ? std::make_exception_ptr(Error(*kind, message)) : nullptr;
}

Committer::Committer(Connection& connection, OpenFiles& files, Clock& clock, WakeWord& wake)
    : connection_(connection),
      files_(files),
      clock_(clock),
      file_lock_(connection.path()),
      reserve_(connection.path()),
      writer_(prepared(connection_, files, file_lock_), clock),
      wake_(wake),
      thread_(start_thread([this](const std::stop_token& stop) { loop(stop); })) {}

Committer::~Committer() {
  thread_.request_stop();
  thread_.join();
}

void Committer::submit(std::unique_ptr<Request> request) { waiting_.push(std::move(request)); }

void Committer::loop(const std::stop_token& stop) {
  Group group;
  while (take_group(stop, group)) {
    commit_together(group);
    group.clear();
    checkpoint_when_large();
  }
}

bool Committer::take_group(const std::stop_token& stop, Group& group) {
  std::size_t records = 0;
  std::size_t bytes = 0;
  waiting_.take(stop, group, {}, [&](const std::unique_ptr<Request>& request) {
    if (records >= kGroupRecords || bytes >= kGroupBytes) return false;
    records += request->records();
    bytes += request->bytes();
    return true;
  });
  return !group.empty();
}

void Committer::commit_together(Group& group) {
  const auto failure = attempt(group);
  if (failure.may_be_one_requests) return commit_one_by_one(group);
  for (auto& request : group) request->finish(failure.error());
}

void Committer::commit_one_by_one(Group& group) {
  Failure full;
  for (auto& request : group) {
    if (full.kind && request->grows() && !request->shrink()) {
      request->finish(full.error());
      continue;
    }
    auto failure = attempt({&request, 1});
    if (failure.code == SQLITE_FULL) {
      if (request->grows()) full = failure;
      if (!request->grows() || request->shrink()) failure = attempt_on_full_disk(request);
    }
    request->finish(failure.error());
  }
}

Committer::Failure Committer::attempt(std::span<std::unique_ptr<Request>> requests) noexcept {
  try {
    transact(requests);
  } catch (const DatabaseError& error) {
    return {error.kind(), error.what(), error.code(), may_be_one_requests_fault(error.code())};
  } catch (const Error& error) {
    return {error.kind(), error.what(), SQLITE_OK, error.kind() != ErrorKind::unavailable};
  } catch (const std::exception& error) {
    return {ErrorKind::unavailable, "cannot write in " + connection_.path() + ": " + error.what(), SQLITE_OK,
            true};
  }
  if (writer_.wakes()) wake_.wake();
  return {};
}

void Committer::transact(std::span<std::unique_ptr<Request>> requests) {
  const FileLock::Hold hold(file_lock_);
  files_.check();
  const bool grows =
      std::any_of(requests.begin(), requests.end(), [](const auto& request) { return request->grows(); });
  if (grows && !reserve_.fill()) connection_.fail(SQLITE_FULL);
  set_durable(std::ranges::any_of(requests, [](const auto& request) { return request->is_durable(); }));
  Writer::Transaction transaction(writer_);
  for (const auto& request : requests) request->run(writer_);
  transaction.commit();
}

// The next one that waits for the disk takes those before it there, too: they are in the same file.
void Committer::set_durable(bool durable) {
  if (durable == is_durable_) return;
  connection_.run(durable ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=NORMAL");
  is_durable_ = durable;
}

Committer::Failure Committer::attempt_on_full_disk(std::unique_ptr<Request>& request) {
  reserve_.give_up();
  held_pages_ = 0;  // worth a wait
  checkpoint();
  return attempt({&request, 1});
}

void Committer::checkpoint_when_large() {
  if (writer_.wal_pages() < kWalPages) {
    held_pages_ = 0;  // another process may have managed it
  } else if (held_pages_ == 0 || clock_.steady() >= checkpoint_not_before_) {
    checkpoint();
  }
}

// PASSIVE copies while readers go on; RESTART then has nothing left to copy and waits only for those who
// still read the WAL, so that the next commit writes at its beginning. A failure costs nothing but space. A
// reader that stayed last time is not waited for again: only once more can be copied than he had to see.
void Committer::checkpoint() {
  auto* const handle = connection_.handle();
  const int mode =
      writer_.wal_pages() < kWalPagesToCut ? SQLITE_CHECKPOINT_RESTART : SQLITE_CHECKPOINT_TRUNCATE;
  int code = SQLITE_BUSY, pages = 0, copied = 0;
  try {
    FileLock::Hold hold(file_lock_);
    if (mode == SQLITE_CHECKPOINT_TRUNCATE) hold.expect_long_work();
    files_.check();
    code = sqlite3_wal_checkpoint_v2(handle, nullptr, SQLITE_CHECKPOINT_PASSIVE, &pages, &copied);
    if (code == SQLITE_OK && copied < pages && copied <= held_pages_) code = SQLITE_BUSY;
    sqlite3_busy_timeout(handle, kReaderPatienceMs);
    if (code == SQLITE_OK) code = sqlite3_wal_checkpoint_v2(handle, nullptr, mode, nullptr, nullptr);
    sqlite3_busy_timeout(handle, connection_.busy_timeout_ms());
  } catch (const Error&) {
    code =
        SQLITE_BUSY;  // somebody is stuck in the lock, or the files are not ours: the next commit will say so
  }
  held_pages_ = code == SQLITE_OK ? 0 : std::max(pages, 1);
  checkpoint_not_before_ = saturating_add(clock_.steady(), kPauseBehindReader);
}

}  // namespace ordo::store::sqlite
