// The config parser: any text is either a config or refused with Error{invalid_argument}.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include <ordo/config.hpp>
#include <ordo/error.hpp>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    ordo::parse_config(text);
  } catch (const ordo::Error& error) {
    if (error.kind() != ordo::ErrorKind::invalid_argument) std::abort();
  }
  return 0;
}
