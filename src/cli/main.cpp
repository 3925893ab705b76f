#include <sys/resource.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <string>

#include <ordo/cli.hpp>

namespace {

// jemalloc 5.3, whose memory this program has, may fault when it gets none for the arena or the cache of
// another thread. With one arena and no caches it says so instead, but it asks for its settings before
// main(): where memory is limited the program starts once more.
void keep_to_one_arena_if_memory_is_limited(char** argv) {
  constexpr const char* kSettings = "narenas:1,tcache:false";
  if (const char* given = std::getenv("MALLOC_CONF"); given != nullptr) {
    if (given == std::string(kSettings)) unsetenv("MALLOC_CONF");  // it is not for the workers
    return;
  }
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
  char path[PATH_MAX] = {};  // by its name, which `ps` then shows
  if (readlink("/proc/self/exe", path, sizeof path - 1) <= 0) return;
  setenv("MALLOC_CONF", kSettings, 1);
  execv(path, argv);
  unsetenv("MALLOC_CONF");
}

}  // namespace

int main(int argc, char** argv) {
  keep_to_one_arena_if_memory_is_limited(argv);
  return ordo::main(argc, argv);
}
