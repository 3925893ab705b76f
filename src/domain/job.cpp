#include "domain/job.h"

#include <cstring>
#include <new>

namespace ordo::domain {

Job* Job::create(std::uint16_t kind, std::string_view id, std::string_view key, Piece first) {
  const bool own_key = key != id;
  const std::size_t tail = id.size() + (own_key ? key.size() : 0);
  auto* job = new (::operator new(offsetof(Job, names) + std::max(tail, sizeof(Job) - offsetof(Job, names)))) Job;
  job->payloads = PayloadSet(std::move(first));
  job->kind = kind;
  job->id_size = static_cast<std::uint8_t>(id.size());
  job->key_size = static_cast<std::uint8_t>(own_key ? key.size() : 0);
  std::memcpy(job->names, id.data(), id.size());
  if (own_key) std::memcpy(job->names + id.size(), key.data(), key.size());
  return job;
}

void Job::destroy(Job* job) {
  job->~Job();
  ::operator delete(job);
}

JobExtra& Job::more() {
  if (!extra) {
    extra = std::make_unique<JobExtra>();
    extra->through = payloads.arrival();
  }
  return *extra;
}

}  // namespace ordo::domain
