#include "cli/ndjson_push.h"

#include <condition_variable>
#include <deque>
#include <exception>
#include <utility>

#include <ordo/error.hpp>

#include "cli/job_text.h"

namespace ordo::cli {
namespace {

constexpr std::size_t kLinesPerCommit = 1000;
constexpr std::size_t kBytesPerCommit = 8U << 20;
constexpr std::size_t kCommitsUnderWay = 8;

std::string text_of_exception(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& thrown) {
    return thrown.what();
  } catch (...) {
    return "unknown error";
  }
}

}  // namespace

/// What has been asked of the store and what it has answered, in the order of the lines.
struct NdjsonPush::Ledger {
  struct Commit {
    std::uint64_t first_line = 0;
    std::size_t jobs = 0;
    bool answered = false;
    std::exception_ptr error;
  };

  std::mutex mutex;
  std::condition_variable answered;
  std::deque<Commit> commits;  ///< the first one is not answered, or failed
  std::uint64_t first = 0;     ///< number of the first of them
  std::uint64_t pushed = 0;
  std::uint64_t stop_line = 0;
  std::string stop_error;

  bool has_failed() const { return !commits.empty() && commits.front().answered; }
  std::size_t under_way() const {
    std::size_t count = 0;
    for (const Commit& commit : commits) count += commit.answered ? 0 : 1;
    return count;
  }

  std::uint64_t begin(std::uint64_t first_line, std::size_t jobs) {
    const std::scoped_lock lock(mutex);
    commits.push_back({first_line, jobs, false, {}});
    return first + commits.size() - 1;
  }

  void end(std::uint64_t number, std::exception_ptr error) {
    const std::scoped_lock lock(mutex);
    Commit& commit = commits[number - first];
    commit.answered = true;
    commit.error = std::move(error);
    while (!commits.empty() && commits.front().answered && !commits.front().error) {
      pushed += commits.front().jobs;
      commits.pop_front();
      ++first;
    }
    answered.notify_all();
  }

  /// The last commit was not even begun.
  void take_back() {
    const std::scoped_lock lock(mutex);
    commits.pop_back();
  }

  /// Until at most `most` are under way, or one has failed. False: one has.
  bool wait(std::size_t most) {
    std::unique_lock lock(mutex);
    answered.wait(lock, [&] { return under_way() <= most || (most > 0 && has_failed()); });
    return !has_failed();
  }
};

NdjsonPush::NdjsonPush(Client& client, std::string queue, std::function<void(std::uint64_t)> progress)
    : client_(client),
      queue_(std::move(queue)),
      progress_(std::move(progress)),
      ledger_(std::make_shared<Ledger>()) {}

NdjsonResult NdjsonPush::run(LineReader& lines) {
  read(lines);
  ledger_->wait(0);
  const std::scoped_lock lock(ledger_->mutex);
  if (ledger_->has_failed()) {
    const auto& commit = ledger_->commits.front();
    return {ledger_->pushed, commit.first_line, text_of_exception(commit.error)};
  }
  return {ledger_->pushed, ledger_->stop_line, ledger_->stop_error};
}

void NdjsonPush::read(LineReader& lines) {
  try {
    for (line_ = 1; const auto line = lines.next(); ++line_) {
      if (!add(*line)) return;
      if (!batch_.empty() && lines.would_wait()) submit();  // nothing waits for a producer that pauses
    }
  } catch (const Error& error) {  // the line cannot be read or is no job: those before it are pushed
    if (!batch_.empty()) submit();
    stop(line_, error.what());
    return;
  }
  if (!batch_.empty()) submit();
}

/// False: no more lines are wanted.
bool NdjsonPush::add(std::string_view line) {
  if (line_ == 1 && line.starts_with("\xEF\xBB\xBF")) line.remove_prefix(3);
  if (line.find_first_not_of(" \t\r") == std::string_view::npos) return true;
  NewJob job = parse_job(line);
  batch_bytes_ += sizeof(NewJob) + job.payload.size() + job.id.size() + job.key.size() + job.kind.size();
  batch_lines_.push_back(line_);
  batch_.push_back(std::move(job));
  if (batch_.size() < kLinesPerCommit && batch_bytes_ < kBytesPerCommit) return true;
  submit();
  const std::scoped_lock lock(ledger_->mutex);
  progress_(ledger_->pushed);
  return !ledger_->has_failed() && ledger_->stop_line == 0;
}

void NdjsonPush::submit() {
  if (!ledger_->wait(kCommitsUnderWay - 1)) return;
  const std::uint64_t number = ledger_->begin(batch_lines_.front(), batch_.size());
  try {
    client_.push_async(queue_, batch_, [ledger = ledger_, number](std::exception_ptr error) {
      ledger->end(number, std::move(error));
    });
  } catch (const Error&) {  // one of the jobs cannot be pushed: find it, and push those before it
    ledger_->take_back();
    if (ledger_->wait(0)) submit_one_by_one();
  }
  batch_.clear();
  batch_lines_.clear();
  batch_bytes_ = 0;
}

void NdjsonPush::submit_one_by_one() {
  for (std::size_t i = 0; i < batch_.size(); ++i) {
    try {
      client_.push(queue_, batch_[i]);
    } catch (const Error& error) {
      stop(batch_lines_[i], error.what());
      return;
    }
    const std::scoped_lock lock(ledger_->mutex);
    ++ledger_->pushed;
  }
}

void NdjsonPush::stop(std::uint64_t line, std::string error) {
  const std::scoped_lock lock(ledger_->mutex);
  if (ledger_->stop_line != 0) return;
  ledger_->stop_line = line;
  ledger_->stop_error = std::move(error);
}

}  // namespace ordo::cli
