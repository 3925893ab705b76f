#include "cli/line_reader.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include <ordo/error.hpp>

namespace ordo::cli {
namespace {

constexpr std::size_t kReadBytes = 1U << 20;
constexpr std::size_t kLongestLine = 32U << 20;

}  // namespace

Input::Input(const std::string& path, int stop)
    : name_(path == "-" ? "the standard input" : path), stop_(stop) {
  fd_ = path == "-" ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0) : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd_ < 0) {
    const std::string why = std::strerror(errno);
    throw Error(ErrorKind::invalid_argument, "cannot read " + name_ + ": " + why + "; is the path right?");
  }
  struct stat facts {};
  if (::fstat(fd_, &facts) == 0 && S_ISREG(facts.st_mode)) size_ = static_cast<std::uint64_t>(facts.st_size);
}

Input::~Input() { ::close(fd_); }

bool Input::append_to(std::string& out) {
  pollfd watched[] = {{fd_, POLLIN, 0}, {stop_, POLLIN, 0}};
  while (::poll(watched, 2, -1) < 0 && errno == EINTR) {
  }
  if (watched[1].revents != 0) return false;
  const std::size_t used = out.size();
  out.resize(used + kReadBytes);
  ssize_t got = 0;
  do {
    got = ::read(fd_, out.data() + used, kReadBytes);
  } while (got < 0 && errno == EINTR);
  const int error = errno;
  out.resize(used + static_cast<std::size_t>(got > 0 ? got : 0));
  if (got < 0) throw Error(ErrorKind::unavailable, "cannot read " + name_ + ": " + std::strerror(error));
  bytes_read_ += static_cast<std::uint64_t>(got);
  return got > 0;
}

bool Input::would_wait() const {
  pollfd input{fd_, POLLIN, 0};
  return ::poll(&input, 1, 0) < 1;  // it may be interrupted
}

std::string read_whole(const std::string& path, std::size_t most) {
  Input input(path);
  std::string text;
  while (input.append_to(text)) {
    if (text.size() <= most) continue;
    throw Error(ErrorKind::invalid_argument,
                input.name() + " has more than " + std::to_string(most) + " bytes; nothing was stored");
  }
  return text;
}

bool LineReader::would_wait() const {
  return !at_end_ && buffer_.find('\n', begin_) == std::string::npos && input_.would_wait();
}

std::string_view LineReader::take(std::size_t size, std::size_t end_size) {
  const auto line = std::string_view(buffer_).substr(begin_, size);
  begin_ += size + end_size;
  return line;
}

std::optional<std::string_view> LineReader::next() {
  for (std::size_t searched = begin_;;) {
    const std::size_t end = buffer_.find('\n', searched);
    if (end != std::string::npos) return take(end - begin_, 1);
    const std::size_t pending = buffer_.size() - begin_;
    if (pending > kLongestLine) throw Error(ErrorKind::invalid_argument, "the line is longer than 32 MiB");
    if (!at_end_) {
      buffer_.erase(0, begin_);
      begin_ = 0;
      searched = pending;
      at_end_ = !input_.append_to(buffer_);
    } else if (pending == 0) {
      return {};
    } else {
      return take(pending, 0);
    }
  }
}

}  // namespace ordo::cli
