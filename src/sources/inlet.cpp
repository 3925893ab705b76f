#include "sources/inlet.h"

#include <array>
#include <utility>

#include <ordo/error.hpp>

#include "base/shorten.h"
#include "domain/entry.h"
#include "domain/new_job.h"
#include "domain/plain_push.h"

namespace ordo::sources {

Inlet::Inlet(store::Store& store, const Config& config, std::string source)
    : store_(store), config_(config), source_(std::move(source)) {}

const domain::SourceRow& Inlet::row() {
  if (row_) return *row_;
  bytes_ = store_.wait_row(domain::kSourceRows, source_);
  if (!bytes_) return row_.emplace();
  auto row = domain::decode_source_row(*bytes_);
  if (row) return row_.emplace(*std::move(row));
  throw Error(row.needs() != 0 ? ErrorKind::unsupported : ErrorKind::corrupt,
              "cannot read how far the source '" + source_ + "' is: " + row.why());
}

const store::QueueDefinition& Inlet::definition(const std::string& queue) {
  if (const auto known = queues_.find(queue); known != queues_.end()) return known->second;
  const auto list = store_.queues();
  if (const auto* found = list.find(queue)) return queues_.emplace(queue, *found).first->second;
  const auto* options = config_.find(queue);
  if (options == nullptr) {
    throw Error(ErrorKind::invalid_argument,
                "cannot store jobs for queue " + in_quotes(queue) + ": neither config nor store has it");
  }
  auto made = store_.define(queue, options->shards.value_or(QueueOptions::kDefaultShards));
  return queues_.emplace(queue, std::move(made)).first->second;
}

store::NewEntry Inlet::placed(const std::string& queue, std::string_view key, std::string bytes) {
  const auto& known = definition(queue);
  return {{known.number, domain::shard_of(key, known.shards)}, std::move(bytes)};
}

store::NewEntry Inlet::entry(const std::string& queue, const NewJob& job,
                             std::vector<domain::UniqueHold> holds, std::optional<bool> keeps_dead,
                             std::string retried_by) {
  auto entry = entry_of(queue, job);
  entry.options.keeps_dead = keeps_dead;
  entry.options.retried_by = std::move(retried_by);
  entry.options.unique = std::move(holds);
  return placed(queue, entry.key, domain::encode(entry));
}

store::NewEntry Inlet::kill_entry(const std::string& queue, const NewJob& job) {
  domain::Entry kill;
  kill.type = domain::EntryType::kill;
  kill.kind = job.kind.empty() ? std::string_view(queue) : job.kind;
  kill.key = key_of(job);
  kill.id = job.id;
  return placed(queue, kill.key, domain::encode(kill));
}

store::NewEntry Inlet::dead_entry(const std::string& queue, const NewJob& job, std::string_view reason) {
  using Field = std::pair<std::string_view, std::string_view>;
  const std::array<Field, 2> fields{Field{domain::kRefused, reason}, Field{"payload", job.payload}};
  const auto& kind = job.kind.empty() ? queue : job.kind;
  return placed(queue, job.id, domain::encode_plain_push(fields, job.id, kind));
}

// A step that does not find the row as it says.
void Inlet::check(const std::string& queue) {
  std::vector<store::RowStep> steps(1);
  steps[0].row = {.key = source_, .bytes = {}, .listed = true};
  steps[0].seen = "no row is like this";
  steps[0].entries.push_back(placed(queue, source_, {}));
  store_.step_rows(domain::kSourceRows, std::move(steps));
}

Inlet::Appended Inlet::append(std::vector<store::NewEntry> entries, domain::SourceRow next) {
  auto bytes = domain::encode(next);
  store::RowStep step{{.key = source_, .bytes = bytes, .listed = true}, bytes_, std::move(entries)};
  row_.reset();  // whatever is thrown
  std::vector<store::RowStep> steps;
  steps.push_back(std::move(step));
  const auto result = store_.step_rows(domain::kSourceRows, std::move(steps)).at(0);
  switch (result.what) {
    case store::RowResult::What::done:
      row_ = std::move(next);
      bytes_ = std::move(bytes);
      return Appended::done;
    case store::RowResult::What::refused:
      queues_.clear();
      return Appended::resharded;
    case store::RowResult::What::conflict:
      break;
  }
  return Appended::another;
}

}  // namespace ordo::sources
