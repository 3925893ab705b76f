#include "store/sqlite/reserve.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace ordo::store::sqlite {

Reserve::Reserve(const std::string& database) : file_(open_beside(database, "-reserve")) {}

bool Reserve::fill() {
  struct stat facts {};
  // Any process may have given the space up meanwhile.
  if (fstat(file_.number(), &facts) == 0 && facts.st_size >= kBytes) return true;
  if (posix_fallocate(file_.number(), 0, kBytes) == 0) return true;
  give_up();  // what a failed attempt has taken
  return false;
}

void Reserve::give_up() { [[maybe_unused]] const int ignored = ftruncate(file_.number(), 0); }

}  // namespace ordo::store::sqlite
