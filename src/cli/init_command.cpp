// ordo init: a config and a first worker that work as they are.

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/command.h"
#include "cli/output.h"

namespace ordo::cli {
namespace {

struct InitValues {
  bool python = false;
  bool node = false;
  bool sh = false;
  bool cpp = false;
};

constexpr const char* kInitExamples =
    "  ordo init              # ordo.toml and worker.py\n"
    "  ordo init --node       # ordo.toml and worker.js\n"
    "  ordo init --sh         # ordo.toml and worker.sh\n"
    "  ordo init --cpp        # ordo.toml and worker.cpp\n";

constexpr std::string_view kConfigText = R"(# Settings of Ordo. What is not set has its default.
store = "sqlite:ordo.db"

[node]
# threads = 5

[queue.orders]
# shards = 5               # of a new queue; later: ordo reshard
# max_retries = 25
# order = "priority"       # an urgent job passes all others; "time", the default, lets none wait for ever
)";

constexpr std::string_view kPythonText = R"(#!/usr/bin/env python3
"""Jobs of the queue orders: one JSON line comes in, one JSON line goes out."""
import json
import sys


def perform(job):
    """Does one job. What it raises fails the job, which is then tried again later."""
    for payload in job["payloads"]:
        print("order", job["id"], payload)  # goes to the node's log


def name_of(job):
    """How the answer names it: an id that is no text comes as {"$base64": ...}."""
    return job["id"] if isinstance(job["id"], str) else json.dumps(job["id"], separators=(",", ":"))


for line in sys.stdin:
    results = {}
    for job in json.loads(line)["jobs"]:
        try:
            perform(job)
            results[name_of(job)] = {"ok": True}
        except Exception as error:
            results[name_of(job)] = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps({"results": results}), flush=True)
)";

constexpr std::string_view kNodeText = R"(#!/usr/bin/env node
// Jobs of the queue orders: one JSON line comes in, one JSON line goes out.
const readline = require("node:readline");

/** Does one job. What it throws fails the job, which is then tried again later. */
async function perform(job) {
  for (const payload of job.payloads) console.log("order", job.id, JSON.stringify(payload)); // goes to the log
}

(async () => {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const results = {};
    for (const job of JSON.parse(line).jobs) {
      // An id that is no text comes as {"$base64":"..."}, and is named by just this JSON.
      const name = typeof job.id === "string" ? job.id : JSON.stringify(job.id);
      try {
        await perform(job);
        results[name] = { ok: true };
      } catch (error) {
        results[name] = { error: String(error) };
      }
    }
    console.log(JSON.stringify({ results }));
  }
})();
)";

constexpr std::string_view kShText = R"(#!/bin/sh
# Jobs of the queue orders: one JSON line comes in, one JSON line goes out.

# Does the jobs of one line (one, unless batch_size is set). If it fails they are tried again later.
perform() {
  printf 'order %s\n' "$1"  # lines that do not start with { go to the log
}

while IFS= read -r line; do
  if perform "$line"; then
    echo '{"ok":true}'
  else
    echo '{"ok":false,"error":"perform failed"}'
  fi
done
)";

constexpr std::string_view kCppText = R"(// Jobs of the queue orders. Build it with:
//   c++ -std=c++20 -shared -fPIC worker.cpp -o libworker.so $(pkg-config --cflags --libs ordo)
#include <cstdio>

#include <ordo/json.hpp>
#include <ordo/ordo.hpp>

extern "C" const int ordo_abi = ordo::kAbi;

/// Does one job. What it throws fails the job, which is then tried again later.
static void perform(const ordo::TypedJob<ordo::Json>& job) {
  for (const auto& payload : job.payloads) std::printf("order %s %s\n", job.id.c_str(), payload.dump().c_str());
}

extern "C" void ordo_load(ordo::Server& server) { server.add("orders", ordo::make_worker<ordo::Json>(perform)); }
)";

struct NewFile {
  std::string name;
  std::string text;
};

void write_new(const NewFile& file) {
  const auto fail = [&] {
    throw Error(ErrorKind::unavailable,
                fmt::format("init: cannot write {}: {}", file.name, std::strerror(errno)));
  };
  const int fd = ::open(file.name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0) fail();
  const bool written =
      ::write(fd, file.text.data(), file.text.size()) == static_cast<ssize_t>(file.text.size());
  if (!written || ::close(fd) != 0) fail();
}

/// The line of the config, and the file.
std::pair<std::string, NewFile> worker_of(const InitValues& values) {
  if (values.cpp) return {R"(library = "./libworker.so")", {"worker.cpp", std::string(kCppText)}};
  if (values.node) return {R"(command = ["node", "worker.js"])", {"worker.js", std::string(kNodeText)}};
  if (values.sh) return {R"(command = ["sh", "worker.sh"])", {"worker.sh", std::string(kShText)}};
  return {R"(command = ["python3", "worker.py"])", {"worker.py", std::string(kPythonText)}};
}

int run_init(Context& context, const InitValues& values) {
  const auto [how, worker] = worker_of(values);
  const std::vector<NewFile> files = {{"ordo.toml", std::string(kConfigText) + how + "\n"}, worker};
  context.tried = true;
  for (const NewFile& file : files) {
    if (::access(file.name.c_str(), F_OK) != 0) continue;
    throw Error(ErrorKind::unavailable,
                fmt::format("init: {} is here already and is left as it is; use an empty folder", file.name));
  }
  for (const NewFile& file : files) write_new(file);
  print(fmt::format("wrote {} and {}; next:\n", files[0].name, files[1].name));
  if (values.cpp) {
    print("  c++ -std=c++20 -shared -fPIC worker.cpp -o libworker.so $(pkg-config --cflags --libs ordo)\n");
  }
  print("  ordo push orders --id 1 --payload '{\"total\":7}'\n  ordo work --drain\n");
  return 0;
}

}  // namespace

void add_init(CLI::App& app, Context& context) {
  auto values = std::make_shared<InitValues>();
  CLI::App* init = add_command(app, context, "init", "Write a config and a first worker into this folder",
                               kInitExamples, values, run_init);
  std::vector<CLI::Option*> languages;
  const auto language = [&](const std::string& name, bool& value, const std::string& what) {
    CLI::Option* option = init->add_flag(name, value, what);
    for (CLI::Option* other : languages) option->excludes(other);
    languages.push_back(option);
  };
  language("--python", values->python, "A worker in Python (default)");
  language("--node", values->node, "A worker in JavaScript, for Node.js");
  language("--sh", values->sh, "A worker in the shell");
  language("--cpp", values->cpp, "A worker in C++");
}

}  // namespace ordo::cli
