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

}  // namespace ordo::domain
