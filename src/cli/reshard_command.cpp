// ordo reshard: another number of shards for a queue.

#include <mutex>

#include <fmt/format.h>

#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "faces/shapes.h"

namespace ordo::cli {
namespace {

struct ReshardValues {
  std::string queue;
  std::uint32_t shards = 0;
  bool json = false;
};

ReshardResult reshard(Context& context, const ReshardValues& values) {
  Progress progress;
  std::mutex mutex;
  std::uint64_t copied = 0;
  bool is_closing = false;
  const Interrupt interrupt([&] {
    const std::lock_guard lock(mutex);
    if (is_closing) return;  // what is left is short, and nobody could push or run anything until it is done
    end_interrupted(
        fmt::format("reshard: interrupted after {0} entries; nothing is lost, and {1} goes on with its old "
                    "shards unless it was closed before: run `ordo reshard {1} {2}` again, which starts over",
                    copied, values.queue, values.shards));
  });
  const auto show = [&](const ReshardProgress& now) {
    {
      const std::lock_guard lock(mutex);
      if (now.step != ReshardProgress::Step::waiting) copied = now.done;
      is_closing = is_closing || now.step == ReshardProgress::Step::closing;
    }
    const bool is_waiting = now.step == ReshardProgress::Step::waiting;
    progress.show(now.done, now.all, now.done, is_waiting ? "running jobs to wait for" : "entries");
  };
  return context.open_admin().reshard(values.queue, values.shards, show);
}

int run_reshard(Context& context, const ReshardValues& values) {
  const auto result = reshard(context, values);
  if (values.json) {
    print_json(reshard_json(values.queue, result) + '\n');
  } else {
    print_line(fmt::format("{} has {} shards (before: {}); moved {} entries, {} states, {} dead payloads",
                           values.queue, result.to, result.from, result.entries, result.states, result.dead));
  }
  const auto config = context.config();
  const auto* options = config.find(values.queue);
  if (options != nullptr && options->shards && *options->shards != result.to) {
    print_error(
        fmt::format("the config says shards = {} for {}; set {}, or leave it out, before a node is "
                    "started with it",
                    *options->shards, values.queue, result.to));
  }
  return 0;
}

}  // namespace

void add_reshard(CLI::App& app, Context& context) {
  const auto values = std::make_shared<ReshardValues>();
  CLI::App* command = add_command(
      app, context, "reshard", "Change the number of a queue's shards, while producers push and nodes run",
      "  ordo reshard orders 8          # again if it was stopped\n  ordo reshard orders 8 --json\n", values,
      run_reshard);
  add_queue_argument(command, values->queue, "Name of the queue");
  add_argument(command, "N", values->shards, "Its new number of shards")
      ->required()
      ->check(CLI::Range(1, 65'536));
  command->add_flag("--json", values->json, "Print the result as JSON");
}

}  // namespace ordo::cli
