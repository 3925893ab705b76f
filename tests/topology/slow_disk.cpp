// A disk whose syncs take as long as a file says, in milliseconds: a library that is loaded before the C
// library (LD_PRELOAD). The file is named by ORDO_SYNC_MS; FILE.waits appears with the first sync that is to
// take a minute.

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>

namespace {

long told_ms() {
  const char* const path = std::getenv("ORDO_SYNC_MS");
  std::FILE* const file = path != nullptr ? std::fopen(path, "re") : nullptr;
  if (file == nullptr) return 0;
  long ms = 0;
  if (std::fscanf(file, "%ld", &ms) != 1) ms = 0;
  std::fclose(file);
  return ms;
}

// Looks again now and then: it may be told to hurry.
void wait_as_told() {
  if (told_ms() >= 60'000) {
    const auto mark = std::string(std::getenv("ORDO_SYNC_MS")) + ".waits";
    if (std::FILE* const file = std::fopen(mark.c_str(), "we")) std::fclose(file);
  }
  constexpr long kLook = 20;
  for (long waited = 0; waited < told_ms(); waited += kLook) {
    const timespec look{0, kLook * 1'000'000};
    ::nanosleep(&look, nullptr);
  }
}

}  // namespace

extern "C" int fdatasync(int file) {
  wait_as_told();
  return static_cast<int>(::syscall(SYS_fdatasync, file));
}

extern "C" int fsync(int file) {
  wait_as_told();
  return static_cast<int>(::syscall(SYS_fsync, file));
}
