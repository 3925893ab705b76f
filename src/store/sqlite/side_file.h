#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <utility>

namespace ordo::store::sqlite {

/// Owns a file descriptor.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }

  int number() const { return number_; }

 private:
  int number_ = -1;
};

/// Makes an empty file of this mode, whatever the umask; does nothing if there is one, or if it cannot be
/// made.
void make_file(const std::string& path, mode_t mode);

/// Opens `database` + `suffix` for reading and writing, created if missing with the database's mode and
/// owner. Closed on exec, and in a forked child. Throws Error{unavailable}, also for what somebody else may
/// have put there: a link, or, unless the database's group may write it, a file of a stranger.
Descriptor open_beside(const std::string& database, const std::string& suffix);

/// Throws Error{unavailable} with errno's text: "cannot <tried> FILE: …".
[[noreturn]] void fail_on_file(const char* tried, const std::string& path, int error_number);

// Locks of single bytes that belong to the open file: they exclude also other opens of the same process, and
// are gone with the last descriptor. (A process loses POSIX ones when it closes any descriptor of the file.)

/// False: somebody else holds it. Throws Error{unavailable} when the file cannot be locked at all.
bool try_lock_byte(const Descriptor& file, off_t byte, const std::string& path);
void unlock_byte(const Descriptor& file, off_t byte);
/// Whether any other open file holds it; takes nothing.
bool is_byte_locked(const Descriptor& file, off_t byte);

/// A page of a file, shared by all processes that map it. A forked child does not have it.
class SharedPage {
 public:
  static constexpr std::size_t kBytes = 4096;

  /// Allocates the page on disk first, so that a full disk is an Error{unavailable} here and no SIGBUS later.
  SharedPage(const Descriptor& file, const std::string& path);
  ~SharedPage();
  SharedPage(const SharedPage&) = delete;
  SharedPage& operator=(const SharedPage&) = delete;

  void* data() const { return data_; }

 private:
  void* data_ = nullptr;
};

}  // namespace ordo::store::sqlite
