// What Ordo is for, in a minute: a folder is kept in step with the history of a repository by threads that
// work in parallel on changes that come out of order (docs/demo.md).
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <string>

#include "generate.h"
#include "halves.h"

namespace replica {
namespace {

namespace fs = std::filesystem;

constexpr char kUsage[] =
    "usage: replica [REPOSITORY] [--ordered | --unordered] [--generated [CHANGES]] [--out DIR] [--keep]\n"
    "               [--store URL]\n"
    "\n"
    "Sends each change of each file of a git repository (default: that of the current folder) as a job: four "
    "threads\n"
    "push out of order within 50 changes, eight build a replica of the newest tree. First with Ordo, then "
    "with a plain\n"
    "queue.\n"
    "\n"
    "  --ordered    only with Ordo\n"
    "  --unordered  only with a plain queue\n"
    "  --generated  a made-up history of 300 files and CHANGES changes (default 20000)\n"
    "  --out DIR    work there and keep it; start again with the same DIR to go on after a stop\n"
    "  --keep       keep the temporary folder\n"
    "  --store URL  of Ordo: redis://…, postgres://… (default: a SQLite file in the folder)\n";

struct Usage {
  std::string message;
};

struct Options {
  std::string repository = ".";
  std::optional<std::size_t> generated;
  bool ordered = true, unordered = true;
  bool named = false;  ///< the repository
  std::string out;
  bool keep = false;
  std::string store;
};

bool is_number(const std::string& text) {
  return !text.empty() && text.size() < 9 && text.find_first_not_of("0123456789") == std::string::npos;
}

Options parse(const std::vector<std::string>& arguments) {
  Options options;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const auto& argument = arguments[i];
    const bool has_next = i + 1 < arguments.size();
    if (argument == "--ordered") {
      options.unordered = false;
    } else if (argument == "--unordered") {
      options.ordered = false;
    } else if (argument == "--generated") {
      options.generated =
          has_next && is_number(arguments[i + 1]) ? std::stoul(arguments[++i]) : kGeneratedChanges;
    } else if (argument == "--out" && has_next) {
      options.out = arguments[++i];
    } else if (argument == "--store" && has_next) {
      options.store = arguments[++i];
    } else if (argument == "--keep") {
      options.keep = true;
    } else if (!argument.starts_with("-") && !options.named) {
      options.repository = argument;
      options.named = true;
    } else {
      throw Usage{"what is '" + argument + "' for?"};
    }
  }
  if (!options.ordered && !options.unordered)
    throw Usage{"--ordered and --unordered: give one, or none for both"};
  if (options.generated == 0U) throw Usage{"--generated takes at least 1 change"};
  return options;
}

std::string grouped(std::size_t number) {
  std::string text = std::to_string(number);
  for (auto at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > 0; at -= 3) {
    text.insert(static_cast<std::size_t>(at), ",");
  }
  return text;
}

std::string coloured(const std::string& text, const char* code) {
  static const bool colours = isatty(STDOUT_FILENO) != 0 && getenv("NO_COLOR") == nullptr;
  return colours ? "\033[" + std::string(code) + "m" + text + "\033[0m" : text;
}

void show_progress(const History& history, const Progress& progress, const char* what) {
  static const bool terminal = isatty(STDERR_FILENO) != 0;
  if (!terminal) return;
  std::fprintf(stderr, "\r\033[K  %s: %s of %s changes pushed, %s runs", what,
               grouped(progress.pushed).c_str(), grouped(history.changes.size()).c_str(),
               grouped(progress.runs).c_str());
}

void wipe_progress() {
  if (isatty(STDERR_FILENO) != 0) std::fputs("\r\033[K", stderr);
}

void print_row(const char* name, const Result& result) {
  const auto rate = result.seconds > 0 ? static_cast<double>(result.pushed) / result.seconds : 0;
  const auto wrong = grouped(result.differences.count());
  std::printf("  %-14s %9s %9s %12s %9s %8.2f %9s   ", name, grouped(result.pushed).c_str(),
              grouped(result.runs).c_str(), grouped(result.merged).c_str(), grouped(result.skipped).c_str(),
              result.seconds, grouped(static_cast<std::size_t>(rate)).c_str());
  const bool equal = result.differences.count() == 0;
  std::printf("%s\n",
              coloured(wrong + " of " + grouped(result.differences.files), equal ? "32" : "31").c_str());
  std::fflush(stdout);
}

void print_header() {
  std::printf("\n  %-14s %9s %9s %12s %9s %8s %9s   %s\n", "", "pushes", "runs", "merged away", "too late",
              "seconds", "jobs/s", "wrong files");
}

void print_wrong(const Differences& found) {
  std::printf("    %s older content, %s missing, %s not deleted, %s of the wrong kind; for example:\n",
              grouped(found.content).c_str(), grouped(found.missing).c_str(), grouped(found.extra).c_str(),
              grouped(found.mode).c_str());
  for (const auto& example : found.examples) std::printf("    %s\n", example.c_str());
}

/// The history that `out` was started with, else that of the options.
History choose_history(const Options& options, const std::string& out) {
  std::string repository = options.repository;
  auto generated = options.generated;
  if (!generated) {
    if (const auto why = why_unfit(repository); !why.empty()) {
      const auto shown = repository == "." ? std::string("the current folder") : "'" + repository + "'";
      std::printf("%s %s: a generated history is used instead.\n", shown.c_str(), why.c_str());
      generated = kGeneratedChanges;
    } else {
      repository = fs::canonical(repository).string();
    }
  }
  if (generated) {
    repository = out + "/generated-" + std::to_string(*generated) + ".git";
    generate(repository, *generated);
  }

  const std::string file = out + "/source";
  std::string known_repository, commit;
  if (std::ifstream known(file); std::getline(known, known_repository) && std::getline(known, commit)) {
    if (known_repository != repository) {
      throw Usage{"the folder " + out + " has a replica of " + known_repository + "; give another --out"};
    }
  } else {
    commit = head_of(repository);
    std::ofstream(file + ".part") << repository << "\n" << commit << "\n";
    fs::rename(file + ".part", file);
  }
  return read_history(repository, commit);
}

void print_source(const History& history) {
  std::printf("%s changes of %s files in the %s commits up to %s of %s\n",
              grouped(history.changes.size()).c_str(), grouped(history.files).c_str(),
              grouped(history.commits).c_str(), history.commit.substr(0, 10).c_str(),
              history.repository.c_str());
  if (history.left_out > 0) {
    std::printf("%s changes of paths longer than 255 bytes are left out\n",
                grouped(history.left_out).c_str());
  }
  std::printf("%zu threads push them, out of order within %zu changes; %zu threads build the newest tree.\n",
              kProducers, kSpan, kThreads);
}

struct Verdict {
  bool equal = true;   ///< the replica that Ordo made
  bool lucky = false;  ///< so is the one of the plain queue
};

Verdict run(const Options& options, const std::string& out) {
  const History history = choose_history(options, out);
  print_source(history);
  Blobs blobs(history.repository);
  const auto stage_in = [&](const std::string& folder) {
    return Stage{history, blobs, folder, options.store,
                 [&](const Progress& progress, const char* what) { show_progress(history, progress, what); }};
  };
  print_header();
  Verdict verdict;
  if (options.ordered) {
    const auto result = run_ordered(stage_in(out + "/ordered"));
    wipe_progress();
    print_row("Ordo", result);
    if (result.from > 0) std::printf("    (went on after change %s)\n", grouped(result.from).c_str());
    if (result.dead > 0)
      std::printf("    %s payloads died: see their errors with `ordo dead`\n", grouped(result.dead).c_str());
    if (result.differences.count() > 0) print_wrong(result.differences);
    verdict.equal = result.differences.count() == 0;
  }
  std::optional<Result> plain;
  if (options.unordered) {
    plain = run_unordered(stage_in(out + "/unordered"));
    wipe_progress();
    print_row("a plain queue", *plain);
  }
  std::printf("\n");
  if (options.ordered) {
    std::printf("  Ordo: the replica is %s\n", verdict.equal ? coloured("equal, byte for byte", "32").c_str()
                                                             : coloured("not equal", "31").c_str());
  }
  verdict.lucky = plain && plain->differences.count() == 0;
  if (verdict.lucky)
    std::printf("  A plain queue: equal too, by luck: few files change twice within %zu changes.\n", kSpan);
  if (plain && plain->differences.count() > 0) {
    std::printf("  A plain queue: %s\n",
                coloured(grouped(plain->differences.count()) + " wrong files", "31").c_str());
    print_wrong(plain->differences);
  }
  std::fflush(stdout);
  return verdict;
}

/// Shows what luck hides, too, unless a history was asked for. Returns the exit code.
int demonstrate(const Options& options, const std::string& out) {
  Verdict verdict = run(options, out);
  if (verdict.equal && verdict.lucky && options.ordered && !options.named && !options.generated) {
    std::printf("\nA busier history, then: ");
    Options busier = options;
    busier.generated = kGeneratedChanges;
    fs::create_directories(out + "/busier");
    verdict = run(busier, out + "/busier");
  }
  return verdict.equal ? 0 : 1;
}

/// A folder to work in; removed in the end unless it is to be kept.
class Workplace {
 public:
  explicit Workplace(const Options& options)
      : path_(options.out), keep_(options.keep || !options.out.empty()) {
    if (path_.empty()) {
      path_ = (fs::temp_directory_path() / "ordo-replica-XXXXXX").string();
      if (mkdtemp(path_.data()) == nullptr) throw std::runtime_error("cannot make a folder " + path_);
    }
    fs::create_directories(path_);
    path_ = fs::canonical(path_).string();
  }

  ~Workplace() {
    std::error_code ignored;
    if (!keep_) fs::remove_all(path_, ignored);
  }

  Workplace(const Workplace&) = delete;
  Workplace& operator=(const Workplace&) = delete;

  const std::string& path() const { return path_; }
  void keep() { keep_ = true; }
  bool kept() const { return keep_; }

 private:
  std::string path_;
  bool keep_;
};

}  // namespace
}  // namespace replica

int main(int argc, char** argv) {
  using namespace replica;
  signal(SIGPIPE, SIG_IGN);
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments == std::vector<std::string>{"--help"} || arguments == std::vector<std::string>{"-h"}) {
    std::fputs(kUsage, stdout);
    return 0;
  }
  try {
    const Options options = parse(arguments);
    Workplace workplace(options);
    const int code = demonstrate(options, workplace.path());
    if (code != 0) workplace.keep();
    if (workplace.kept()) std::printf("  The folder is %s\n", workplace.path().c_str());
    return code;
  } catch (const Usage& usage) {
    std::fprintf(stderr, "replica: %s\n\n%s", usage.message.c_str(), kUsage);
    return 2;
  } catch (const std::exception& error) {
    wipe_progress();
    std::fprintf(stderr, "replica: %s\n", error.what());
    return 1;
  }
}
