#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ordo::cli {

/// A file to read, or the standard input as "-".
class Input {
 public:
  /// Throws Error{invalid_argument} when it cannot be opened.
  /// It also ends when `stop` becomes readable.
  explicit Input(const std::string& path, int stop = -1);
  ~Input();
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;

  /// Appends the next bytes to `out`; false at the end. Throws Error{unavailable}.
  bool append_to(std::string& out);

  /// append_to() would wait for whoever writes the other end.
  bool would_wait() const;

  const std::string& name() const { return name_; }
  std::uint64_t bytes_read() const { return bytes_read_; }
  std::uint64_t size() const { return size_; }  ///< 0: not known

 private:
  std::string name_;
  int fd_ = -1;
  int stop_ = -1;
  std::uint64_t size_ = 0;
  std::uint64_t bytes_read_ = 0;
};

/// Throws like Input, and Error{invalid_argument} for more than `most` bytes.
std::string read_whole(const std::string& path, std::size_t most);

/// Cuts an input into lines.
class LineReader {
 public:
  explicit LineReader(Input& input) : input_(input) {}

  /// The next line without its end, valid until the next call; nothing at the end.
  /// Throws Error{unavailable} when it cannot be read, Error{invalid_argument} for a line of more than 32
  /// MiB.
  std::optional<std::string_view> next();

  /// next() would wait for more input.
  bool would_wait() const;

 private:
  std::string_view take(std::size_t size, std::size_t end_size);

  Input& input_;
  std::string buffer_;
  std::size_t begin_ = 0;  ///< of what has not been returned yet
  bool at_end_ = false;
};

}  // namespace ordo::cli
