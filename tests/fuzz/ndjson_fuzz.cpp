// The lines of `push --ndjson`: any line is either a job or refused with Error{invalid_argument}. The payload
// of a job that travels as JSON is read back as the same bytes.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include <ordo/error.hpp>

#include "base/json.h"
#include "faces/job_text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const ordo::NewJob job = ordo::parse_job(text);
    if (ordo::payload_from_json(ordo::payload_to_json(job.payload)) != job.payload) std::abort();
    if (job.score && !std::isfinite(*job.score)) std::abort();
  } catch (const ordo::Error& error) {
    if (error.kind() != ordo::ErrorKind::invalid_argument) std::abort();
  }
  return 0;
}
