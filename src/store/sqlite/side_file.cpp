#include "store/sqlite/side_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include <ordo/error.hpp>

namespace ordo::store::sqlite {

Descriptor::~Descriptor() {
  if (number_ >= 0) close(number_);
}

void fail_on_file(const char* tried, const std::string& path, int error_number) {
  throw Error(ErrorKind::unavailable, std::string("cannot ") + tried + " " + path + ": " +
                                          std::strerror(error_number) +
                                          "; check the directory, its free space and this user's rights");
}

Descriptor open_beside(const std::string& database, const std::string& suffix) {
  const std::string path = database + suffix;
  Descriptor known(open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (known.number() >= 0) return known;
  if (errno != ENOENT) fail_on_file("open", path, errno);

  struct stat facts {};
  if (stat(database.c_str(), &facts) != 0) fail_on_file("look at", database, errno);
  Descriptor made(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, facts.st_mode & 0777));
  if (made.number() < 0) fail_on_file("create", path, errno);
  // The umask must not lock out who may use the database. Not being the owner is no reason to fail.
  if (fchmod(made.number(), facts.st_mode & 0777) != 0 && errno != EPERM)
    fail_on_file("set the mode of", path, errno);
  if (fchown(made.number(), facts.st_uid, facts.st_gid) != 0 && errno != EPERM) {
    fail_on_file("set the owner of", path, errno);
  }
  return made;
}

namespace {

struct flock byte_range(short type, off_t byte) {
  struct flock range {};
  range.l_type = type;
  range.l_whence = SEEK_SET;
  range.l_start = byte;
  range.l_len = 1;
  return range;
}

}  // namespace

bool try_lock_byte(const Descriptor& file, off_t byte, const std::string& path) {
  auto range = byte_range(F_WRLCK, byte);
  if (fcntl(file.number(), F_OFD_SETLK, &range) == 0) return true;
  if (errno != EAGAIN && errno != EACCES && errno != EINTR) fail_on_file("lock", path, errno);
  return false;
}

void unlock_byte(const Descriptor& file, off_t byte) {
  auto range = byte_range(F_UNLCK, byte);
  fcntl(file.number(), F_OFD_SETLK, &range);
}

bool is_byte_locked(const Descriptor& file, off_t byte) {
  auto range = byte_range(F_RDLCK, byte);
  return fcntl(file.number(), F_OFD_GETLK, &range) != 0 || range.l_type != F_UNLCK;
}

SharedPage::SharedPage(const Descriptor& file, const std::string& path) {
  if (const int error = posix_fallocate(file.number(), 0, kBytes); error != 0)
    fail_on_file("allocate", path, error);
  data_ = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.number(), 0);
  if (data_ == MAP_FAILED) fail_on_file("map", path, errno);
}

SharedPage::~SharedPage() { munmap(data_, kBytes); }

}  // namespace ordo::store::sqlite
