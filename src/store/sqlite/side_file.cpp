#include "store/sqlite/side_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include <ordo/error.hpp>

#include "store/sqlite/fork_guard.h"

namespace ordo::store::sqlite {

Descriptor::~Descriptor() {
  if (number_ >= 0) close_kept_from_children(number_);
}

void fail_on_file(const char* tried, const std::string& path, int error_number) {
  throw Error(ErrorKind::unavailable, std::string("cannot ") + tried + " " + path + ": " +
                                          std::strerror(error_number) +
                                          "; check the directory, its free space and this user's rights");
}

namespace {

[[noreturn]] void refuse_planted(const std::string& path, const char* what) {
  throw Error(ErrorKind::unavailable,
              "cannot open " + path + ": it is " + what +
                  ", which somebody else may have put there; look at it and remove it");
}

/// Only what Ordo would have made is written to, or given away.
void refuse_planted(const Descriptor& file, const struct stat& database, const std::string& path) {
  struct stat facts {};
  if (fstat(file.number(), &facts) != 0) fail_on_file("look at", path, errno);
  if (!S_ISREG(facts.st_mode)) refuse_planted(path, "no plain file");
  if (facts.st_nlink > 1) refuse_planted(path, "a second name of another file");
  const bool is_shared = (database.st_mode & S_IWGRP) != 0;
  const bool is_known = facts.st_uid == database.st_uid || facts.st_uid == geteuid() || facts.st_uid == 0;
  if (!is_shared && !is_known) refuse_planted(path, "a file of another user");
}

/// Nothing: somebody else made it meanwhile.
Descriptor create_beside(const std::string& path, const struct stat& database) {
  Descriptor made(open_kept_from_children(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                                          database.st_mode & 0777));
  if (made.number() < 0) {
    if (errno != EEXIST) fail_on_file("create", path, errno);
    return made;
  }
  // The umask must not lock out who may use the database. Not being the owner is no reason to fail.
  if (fchmod(made.number(), database.st_mode & 0777) != 0 && errno != EPERM)
    fail_on_file("set the mode of", path, errno);
  if (fchown(made.number(), database.st_uid, database.st_gid) != 0 && errno != EPERM) {
    fail_on_file("set the owner of", path, errno);
  }
  return made;
}

}  // namespace

void make_file(const std::string& path, mode_t mode) {
  const Descriptor made(open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
  if (made.number() >= 0 && fchmod(made.number(), mode) != 0) fail_on_file("set the mode of", path, errno);
}

Descriptor open_beside(const std::string& database, const std::string& suffix) {
  const std::string path = database + suffix;
  struct stat facts {};
  if (stat(database.c_str(), &facts) != 0) fail_on_file("look at", database, errno);
  for (;;) {
    Descriptor known(open_kept_from_children(path.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC));
    if (known.number() >= 0) {
      refuse_planted(known, facts, path);
      return known;
    }
    if (errno == ELOOP) refuse_planted(path, "a symbolic link");
    if (errno != ENOENT) fail_on_file("open", path, errno);
    Descriptor made = create_beside(path, facts);
    if (made.number() >= 0) return made;
  }
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
  data_ = map_kept_from_children(file.number(), kBytes);
  if (data_ == MAP_FAILED) fail_on_file("map", path, errno);
}

SharedPage::~SharedPage() { munmap(data_, kBytes); }

}  // namespace ordo::store::sqlite
