#include "faces/ndjson_push.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <future>
#include <memory>
#include <utility>

#include <ordo/error.hpp>

#include "faces/job_text.h"

namespace ordo {
namespace {

constexpr std::size_t kLinesPerCommit = 1000;
constexpr std::size_t kMostLines = 10'000;  // what one push takes
constexpr std::size_t kBytesPerCommit = 8U << 20;

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

NdjsonPush::NdjsonPush(Client& client, std::string queue) : client_(client), queue_(std::move(queue)) {}

bool NdjsonPush::add(std::string_view line) {
  ++line_;
  if (result_.line != 0) return false;
  if (line_ < from_line_) return true;
  if (line_ == 1 && line.starts_with("\xEF\xBB\xBF")) line.remove_prefix(3);
  if (line.find_first_not_of(" \t\r") == std::string_view::npos) return true;
  NewJob job;
  try {
    job = parse_job(line);
  } catch (const Error& error) {
    return refuse(line, error.what());
  }
  batch_bytes_ += sizeof(NewJob) + job.payload.size() + job.id.size() + job.key.size() + job.kind.size();
  batch_lines_.push_back(line_);
  batch_.push_back(std::move(job));
  if (aside_) batch_texts_.emplace_back(line);
  if (batch_bytes_ < kBytesPerCommit && batch_.size() < (is_under_way() ? kMostLines : kLinesPerCommit))
    return true;
  submit();
  progress_(result_.pushed);
  return result_.line == 0;
}

bool NdjsonPush::flush() {
  if (!batch_.empty()) submit();
  return settle();
}

NdjsonResult NdjsonPush::end() {
  flush();
  return result_;
}

NdjsonResult NdjsonPush::end_failed(std::string why) {
  stop_behind(std::max(line_ + 1, from_line_), std::move(why));
  return result_;
}

NdjsonResult NdjsonPush::interrupt() {
  settle();
  if (result_.line != 0) return result_;
  result_.interrupted = true;
  result_.line = batch_lines_.empty() ? std::max(line_ + 1, from_line_) : batch_lines_.front();
  return result_;
}

/// As add().
bool NdjsonPush::refuse(std::string_view line, const std::string& why) {
  if (!aside_) return stop_behind(line_, why);
  try {
    put_aside({line_, line, why});
    return true;
  } catch (const Error& error) {
    return stop_behind(line_, error.what());
  }
}

bool NdjsonPush::is_under_way() const {
  return under_way_.valid() && under_way_.wait_for(std::chrono::seconds{0}) != std::future_status::ready;
}

/// Waits for what is under way. False: something has failed.
bool NdjsonPush::settle() {
  if (!under_way_.valid()) return result_.line == 0;
  if (const auto error = under_way_.get()) {
    stop(under_way_line_, text_of_exception(error), ErrorKind::unavailable);
  } else {
    result_.pushed += under_way_jobs_;
  }
  return result_.line == 0;
}

/// False: one of the jobs cannot be pushed. It has to be found, and those before it are to be pushed.
bool NdjsonPush::send_batch() {
  const auto end = std::make_shared<std::promise<std::exception_ptr>>();
  under_way_line_ = batch_lines_.front();
  under_way_jobs_ = batch_.size();
  try {
    client_.push_async(queue_, batch_, [end](std::exception_ptr error) { end->set_value(std::move(error)); });
  } catch (const Error&) {
    return false;
  }
  under_way_ = end->get_future();
  return true;
}

// One commit at a time, and the next is read meanwhile: were more under way, a later one could be stored
// although one before it was not, and whoever pushes again would bring the lines of a key in another order.
void NdjsonPush::submit() {
  if (!settle()) return;
  const auto is_unique = [](const NewJob& job) { return job.unique.has_value(); };
  const bool asks = asks_of_each_ || std::ranges::any_of(batch_, is_unique);
  if (asks || !send_batch()) submit_parts(0, batch_.size());
  batch_.clear();
  batch_lines_.clear();
  batch_texts_.clear();
  batch_bytes_ = 0;
}

void NdjsonPush::submit_parts(std::size_t begin, std::size_t end) {
  const auto at = [&](std::size_t index) { return batch_.begin() + static_cast<std::ptrdiff_t>(index); };
  try {
    const auto results = client_.push_each(queue_, {at(begin), at(end)});
    for (std::size_t i = 0; i < results.size(); ++i) {
      result_.pushed += results[i].is_stored() ? 1 : 0;
      if (results[i].what != Pushed::What::rejected || result_.rejected++ > 0) continue;
      result_.rejected_line = batch_lines_.at(begin + i);
      result_.existing = results[i].id;
    }
  } catch (const Error& error) {
    const bool is_bad = error.kind() == ErrorKind::invalid_argument;
    if (end - begin == 1 && is_bad && aside_) return leave_out(begin, error.what());
    if (end - begin == 1 || !is_bad) return stop(batch_lines_[begin], error.what(), error.kind());
    const auto middle = begin + (end - begin) / 2;
    submit_parts(begin, middle);
    if (result_.line == 0) submit_parts(middle, end);
  }
}

// Those before it are pushed: where it cannot be set aside, it is the one to go on from.
void NdjsonPush::leave_out(std::size_t place, const std::string& why) {
  try {
    put_aside({batch_lines_[place], batch_texts_[place], why});
  } catch (const Error& error) {
    stop(batch_lines_[place], error.what());
  }
}

void NdjsonPush::put_aside(const BadLine& bad) {
  aside_(bad);
  if (result_.bad++ > 0) return;
  result_.bad_line = bad.line;
  result_.bad_reason = bad.reason;
}

/// The lines before it are pushed.
bool NdjsonPush::stop_behind(std::uint64_t line, std::string error) {
  flush();
  stop(line, std::move(error));
  return false;
}

void NdjsonPush::stop(std::uint64_t line, std::string error, ErrorKind kind) {
  if (result_.line != 0) return;
  result_.line = line;
  result_.error_kind = kind;
  result_.error = std::move(error);
}

}  // namespace ordo
