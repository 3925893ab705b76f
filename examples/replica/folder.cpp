#include "folder.h"

#include <sys/stat.h>

#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <stdexcept>

namespace replica {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPiece = 200;  // of a file name; file systems take 255 bytes
constexpr char kDeleted[] = "deleted";
constexpr char kLink[] = "120000";

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path.string());
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void write_file(const fs::path& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << bytes;
  file.close();
  if (!file) throw std::runtime_error("cannot write " + path.string());
}

bool is_plain(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_'; }

std::string escaped(const std::string& path) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const char c : path) {
    if (is_plain(c)) {
      text += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      text += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return text;
}

std::string unescaped(const std::string& text) {
  std::string path;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      path += static_cast<char>(std::stoi(text.substr(i + 1, 2), nullptr, 16));
      i += 2;
    } else if (text[i] != '+' && text[i] != '/') {
      path += text[i];
    }
  }
  return path;
}

struct Staged {
  std::uint64_t position = 0;
  std::string mode;
  std::string content;
};

Staged read_staged(const fs::path& file) {
  const std::string bytes = read_file(file);
  const auto space = bytes.find(' ');
  const auto end = bytes.find('\n');
  if (space == std::string::npos || end == std::string::npos || space > end) {
    throw std::runtime_error(file.string() + " is no file of a replica");
  }
  return {std::stoull(bytes), bytes.substr(space + 1, end - space - 1), bytes.substr(end + 1)};
}

// A wrong replica may have a file where a folder should be: what cannot be made is left out.
void build_file(const fs::path& target, const Staged& staged) {
  std::error_code error;
  fs::create_directories(target.parent_path(), error);
  if (error || fs::exists(target)) return;
  write_file(target, staged.content);
  chmod(target.c_str(), staged.mode == "100755" ? 0755 : 0644);
}

void build_link(const fs::path& target, const Staged& staged) {
  std::error_code error;
  fs::create_directories(target.parent_path(), error);
  if (!error) fs::create_symlink(staged.content, target, error);
}

}  // namespace

Folder::Folder(std::string folder) : folder_(std::move(folder)) {
  fs::create_directories(folder_ + "/files");
  fs::remove_all(folder_ + "/unfinished");  // what a killed process was about to rename
  fs::create_directories(folder_ + "/unfinished");
}

// Flat, so that no file stands where another path has a folder; a long name is cut into folders that end in
// '+'.
std::string Folder::file_of(const std::string& path) const {
  std::string name = escaped(path);
  std::string file = folder_ + "/files/";
  while (name.size() > kPiece) {
    file += name.substr(0, kPiece) + "+/";
    name.erase(0, kPiece);
  }
  return file + name;
}

std::optional<std::uint64_t> Folder::position(const std::string& path) const {
  std::ifstream file(file_of(path), std::ios::binary);
  std::uint64_t position = 0;
  if (!(file >> position)) return std::nullopt;
  return position;
}

void Folder::write(const std::string& path, std::uint64_t position, const Change& change,
                   const std::string& content) {
  const std::string file = file_of(path);
  const std::string unfinished = folder_ + "/unfinished/" + std::to_string(++written_);
  const std::string mode = change.is_delete() ? kDeleted : change.mode;
  write_file(unfinished, std::to_string(position) + " " + mode + "\n" + (change.is_delete() ? "" : content));
  if (file.size() > folder_.size() + kPiece) fs::create_directories(fs::path(file).parent_path());
  fs::rename(unfinished, file);
}

void Folder::build(const std::string& tree) const {
  fs::remove_all(tree);
  fs::create_directories(tree);
  const fs::path files = folder_ + "/files";
  std::vector<std::pair<fs::path, Staged>> links;  // come last, or files could be written through them
  for (const auto& entry : fs::recursive_directory_iterator(files)) {
    if (entry.is_directory()) continue;
    auto staged = read_staged(entry.path());
    const auto path = unescaped(entry.path().string().substr(files.string().size() + 1));
    if (staged.mode == kLink) {
      links.emplace_back(fs::path(tree) / path, std::move(staged));
    } else if (staged.mode != kDeleted) {
      build_file(fs::path(tree) / path, staged);
    }
  }
  for (const auto& [target, staged] : links) build_link(target, staged);
}

Differences compare(const std::string& tree, const History& history, Blobs& blobs) {
  Differences found;
  const auto note = [&](std::size_t& count, const std::string& path, const char* what) {
    ++count;
    if (found.examples.size() < 3) found.examples.push_back(path + " " + what);
  };
  std::set<std::string> expected;
  for (const auto& file : files_of(history.repository, history.commit)) {
    ++found.files;
    expected.insert(file.path);
    const fs::path target = fs::path(tree) / file.path;
    const auto status = fs::symlink_status(target);
    const bool link = fs::is_symlink(status);
    if (!link && !fs::is_regular_file(status)) {
      note(found.missing, file.path, "is missing");
    } else if (link != (file.mode == kLink) || (!link && ((status.permissions() & fs::perms::owner_exec) !=
                                                          fs::perms::none) != (file.mode == "100755"))) {
      note(found.mode, file.path, "is of the wrong kind");
    } else if ((link ? fs::read_symlink(target).string() : read_file(target)) != blobs.read(file.blob)) {
      note(found.content, file.path, "has an older content");
    }
  }
  for (const auto& entry : fs::recursive_directory_iterator(tree)) {
    if (entry.is_directory() && !entry.is_symlink()) continue;
    const auto path = entry.path().string().substr(tree.size() + 1);
    if (!expected.contains(path)) note(found.extra, path, "should be gone");
  }
  return found;
}

}  // namespace replica
