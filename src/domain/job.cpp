#include "domain/job.h"

#include <algorithm>
#include <new>

namespace ordo::domain {

Job* Job::create(std::uint16_t kind, std::string_view id, std::string_view key, Piece first) {
  if (key == id) key = {};
  auto* job = new (::operator new(sizeof(Job) + id.size() + key.size())) Job;
  job->payloads = PayloadSet(std::move(first));
  job->kind = kind;
  job->id_size = static_cast<std::uint8_t>(id.size());
  job->key_size = static_cast<std::uint8_t>(key.size());
  char* names = reinterpret_cast<char*>(job + 1);
  names = std::copy(id.begin(), id.end(), names);
  std::copy(key.begin(), key.end(), names);
  return job;
}

void Job::destroy(Job* job) {
  job->~Job();
  ::operator delete(job);
}

JobExtra& Job::more() {
  if (!extra) {
    extra = std::make_unique<JobExtra>();
    extra->through = payloads.last();
  }
  return *extra;
}

OpenWait* JobWaits::find(std::string_view wait) {
  const auto found = std::ranges::find(open, wait, &OpenWait::wait);
  return found == open.end() ? nullptr : &*found;
}

OpenWait* JobWaits::answered() {
  if (!awaits) return nullptr;
  const auto found = std::ranges::find_if(
      open, [&](const OpenWait& each) { return each.response != 0 && each.key == awaits.key; });
  return found == open.end() ? nullptr : &*found;
}

JobState state_of(const Job& job) {
  const auto& extra = *job.extra;
  JobState state;
  state.through = extra.through;
  state.run_at = job.run_at;
  state.own_time = job.own_time;
  state.retry_count = extra.retry_count;
  state.crashes = extra.crashes;
  state.last_crash = extra.last_crash;
  state.mark = extra.mark;
  state.alone = extra.alone;
  state.held = job.held;
  state.chosen_time = job.chosen_time;
  state.options = extra.options;
  if (!extra.scores.empty()) {
    for (const auto& piece : job.payloads.pieces()) {
      const auto changed = extra.scores.find(piece.seq);
      if (changed != extra.scores.end()) state.scores.push_back(changed->second);
    }
  }
  state.error_kind = extra.error_kind;
  state.error = extra.error;
  state.pushed = extra.pushed;
  state.first_start = extra.first_start;
  state.set_at = extra.set_at;
  if (extra.waits) state.awaits = extra.waits->awaits;
  if (extra.foreign) state.fields = extra.foreign->state_fields;
  return state;
}

}  // namespace ordo::domain
