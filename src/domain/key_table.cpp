#include "domain/key_table.h"

#include <algorithm>
#include <iterator>

#include "base/assert.h"

namespace ordo::domain {
namespace {

// It leaves its key to others.
bool is_waiting(const Job& job) {
  return job.place == Place::later || job.place == Place::closed || job.place == Place::deferred ||
         job.place == Place::expired;
}

bool is_active(const Job& job) {
  return job.place == Place::running || job.place == Place::awaiting || job.place == Place::ending;
}

}  // namespace

KeyTable::~KeyTable() {
  for (const auto slot : slots_) {
    if (Line* line = slot.line()) {
      if (line->active != nullptr) Job::destroy(line->active);
      for (Job* job : line->queued) Job::destroy(job);
      delete line;
    } else {
      Job::destroy(slot.job());
    }
  }
}

Job* KeyTable::find_queued(std::uint16_t kind, std::string_view id, std::string_view key) const {
  const auto slot = slots_.find(key);
  if (slot == slots_.end()) return nullptr;
  if (const Line* line = slot->line()) {
    const auto found = line->queued.find(JobId{kind, id});
    return found == line->queued.end() ? nullptr : *found;
  }
  Job* job = slot->job();
  return job->is(kind, id) && !is_active(*job) ? job : nullptr;
}

Job* KeyTable::find_running(std::uint16_t kind, std::string_view id, std::string_view key) const {
  const auto slot = slots_.find(key);
  if (slot == slots_.end()) return nullptr;
  Job* job = slot->line() != nullptr ? slot->line()->active : slot->job();
  const bool runs = job != nullptr && (job->place == Place::running || job->place == Place::awaiting);
  return runs && job->is(kind, id) ? job : nullptr;
}

std::vector<Job*> KeyTable::find_all(std::uint16_t kind, std::string_view id, std::string_view key) const {
  std::vector<Job*> found;
  for (Job* job : {find_running(kind, id, key), find_queued(kind, id, key)}) {
    if (job != nullptr) found.push_back(job);
  }
  return found;
}

std::vector<Job*> KeyTable::find_all(std::uint16_t kind, std::string_view id) {
  auto found = find_all(kind, id, id);
  if (keyed_ == 0) return found;
  if (!by_id_) {
    by_id_.emplace();
    each([&](Job& job) {
      if (job.key_size != 0) by_id_->insert(&job);
    });
  }
  const auto [first, last] = by_id_->equal_range(id);
  std::copy_if(first, last, std::back_inserter(found),
               [&](const Job* job) { return job->kind == kind && job->place != Place::ending; });
  return found;
}

void KeyTable::insert(Job& job) {
  ++size_;
  if (job.key_size != 0) {
    ++keyed_;
    if (by_id_) by_id_->insert(&job);
  }
  const auto [slot, is_new] = slots_.insert(Slot(&job));
  if (is_new) return;
  Line* line = slot->line();
  if (line == nullptr) {
    Job* first = slot->job();
    line = new Line(before_);
    if (is_active(*first)) {
      line->active = first;
    } else {
      line->queued.insert(first);
    }
    // A lone job has its key unless it merely waits for its time.
    if (first->held || !is_waiting(*first)) line->front = first;
    first->in_line = true;
    slots_.erase(slot);
    slots_.insert(Slot(line));
  }
  job.in_line = true;
  line->queued.insert(&job);
}

void KeyTable::erase(Job& job) {
  --size_;
  if (is_active(job)) --active_;
  if (job.key_size != 0) {
    --keyed_;
    if (by_id_) by_id_->erase(&job);
  }
  const auto slot = slots_.find(job.key());
  ORDO_ASSERT(slot != slots_.end());
  Line* line = slot->line();
  if (line == nullptr) {
    slots_.erase(slot);
    return;
  }
  if (line->active == &job) {
    line->active = nullptr;
  } else {
    line->queued.erase(&job);
  }
  if (line->size() > 1) return;
  ORDO_ASSERT(line->size() == 1 && line->parked.empty());
  Job* last = line->active != nullptr ? line->active : *line->queued.begin();
  last->in_line = false;
  slots_.erase(slot);
  slots_.insert(Slot(last));
  delete line;
}

Line* KeyTable::line_of(const Job& job) const {
  if (!job.in_line) return nullptr;
  const auto slot = slots_.find(job.key());
  ORDO_ASSERT(slot != slots_.end() && slot->line() != nullptr);
  return slot->line();
}

void KeyTable::activate(Job& job) {
  ++active_;
  if (Line* line = line_of(job)) {
    ORDO_ASSERT(line->active == nullptr && line->front == &job);
    line->queued.erase(&job);
    line->active = &job;
  }
}

void KeyTable::deactivate(Job& job) {
  --active_;
  if (Line* line = line_of(job)) {
    ORDO_ASSERT(line->active == &job);
    line->active = nullptr;
    line->queued.insert(&job);
  }
}

}  // namespace ordo::domain
