#include "generate.h"

#include <algorithm>
#include <filesystem>
#include <random>
#include <stdexcept>
#include <vector>

#include "process.h"

namespace replica {
namespace {

constexpr std::size_t kHotFiles = 30;  // half of all changes are theirs

class Generator {
 public:
  explicit Generator(std::size_t changes) : left_(changes) {}

  bool done() const { return left_ == 0; }

  /// The next commit, as git fast-import reads it.
  std::string commit() {
    const std::string message = "Change some files\n";
    std::string text = "commit refs/heads/main\ncommitter Demo <demo@example.com> " +
                       std::to_string(1'700'000'000 + 60 * number_++) + " +0000\ndata " +
                       std::to_string(message.size()) + "\n" + message;
    std::vector<std::size_t> files;
    for (auto wanted = std::min<std::size_t>(1 + below(4), left_); files.size() < wanted;) {
      const auto file = below(2) == 0 ? below(kHotFiles) : below(kGeneratedFiles);
      if (std::find(files.begin(), files.end(), file) == files.end()) files.push_back(file);
    }
    for (const auto file : files) text += change(file);
    return text + "\n";
  }

 private:
  // The distributions of the standard library may differ from one to the next.
  std::size_t below(std::size_t bound) { return static_cast<std::size_t>(random_() % bound); }

  static std::string path_of(std::size_t file) {
    if (file % 50 == 7) return "notes/été " + std::to_string(file) + ".txt";
    return "part-" + std::to_string(file % 12) + "/" + (file % 3 == 0 ? "deep/er/" : "") + "file-" +
           std::to_string(file) + ".txt";
  }

  std::string change(std::size_t file) {
    --left_;
    const auto path = path_of(file);
    if (exists_[file] && below(20) == 0) {
      exists_[file] = false;
      return "D " + path + "\n";
    }
    exists_[file] = true;
    const auto look = below(20);
    const std::string mode = look == 0 ? "120000" : look == 1 ? "100755" : "100644";
    std::string content = "file " + std::to_string(file) + ", change " + std::to_string(left_);
    if (mode != "120000") {
      content += "\n";
      for (auto lines = below(40); lines > 0; --lines) content += "line " + std::to_string(random_()) + "\n";
    }
    return "M " + mode + " inline " + path + "\ndata " + std::to_string(content.size()) + "\n" + content +
           "\n";
  }

  std::mt19937_64 random_{42};
  std::vector<bool> exists_ = std::vector<bool>(kGeneratedFiles);
  std::size_t left_;
  std::size_t number_ = 0;
};

}  // namespace

void generate(const std::string& path, std::size_t changes) {
  namespace fs = std::filesystem;
  if (fs::exists(path)) return;
  const std::string unfinished = path + ".part";
  fs::remove_all(unfinished);
  output_of({"git", "init", "--quiet", "--bare", "--initial-branch=main", unfinished});
  Process import({"git", "-C", unfinished, "fast-import", "--quiet"});
  for (Generator generator(changes); !generator.done();) import.write(generator.commit());
  import.close_input();
  import.read_all();
  if (import.wait() != 0) throw std::runtime_error("git fast-import failed in " + unfinished);
  fs::rename(unfinished, path);
}

}  // namespace replica
