// ordo queues, nodes, pause, resume and remove.

#include <fmt/format.h>

#include "base/shorten.h"
#include "base/time_text.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/wall_time.h"
#include "faces/shapes.h"

namespace ordo::cli {
namespace {

struct ListValues {
  bool json = false;
};

struct NodesValues {
  std::string verb;
  std::string id;
  bool json = false;
};

struct QueueValues {
  std::string queue;
  bool with_jobs = false;
};

int run_queues(Context& context, const ListValues& values) {
  const auto queues = context.open_admin().queues();
  if (values.json) {
    print_json(json_array(queues, queue_json));
    return 0;
  }
  Table table({{"QUEUE"}, {"SHARDS", Side::right}, {"STATE"}});
  for (const QueueView& queue : queues) {
    const Tone tone = queue.state == QueueState::running ? Tone::good : Tone::warning;
    table.add({{queue.name}, {fmt::to_string(queue.shards)}, {std::string(to_string(queue.state)), tone}});
  }
  print(table.text(colours_of_stdout()));
  return 0;
}

int list_nodes(Context& context, const NodesValues& values) {
  const auto nodes = context.open_admin().nodes();
  if (values.json) {
    print_json(json_array(nodes, node_json));
    return 0;
  }
  Table table({{"NODE"},
               {"HOST"},
               {"PID", Side::right},
               {"THREADS", Side::right},
               {"SHARDS", Side::right},
               {"STARTED"},
               {"HEARTBEAT", Side::right},
               {"QUEUES"},
               {"STATE"}});
  for (const NodeView& node : nodes) {
    const char* state = !node.alive ? "gone" : node.lost ? "lost" : node.quiet ? "quiet" : "";
    table.add({{node.id},
               {node.host},
               {fmt::to_string(node.pid)},
               {fmt::to_string(node.threads)},
               {fmt::to_string(node.shards)},
               {shown_time(node.started)},
               {format_duration(std::chrono::round<std::chrono::seconds>(node.heartbeat_age)) + " ago"},
               {fmt::format("{}", fmt::join(node.queues, ","))},
               {state, node.alive && !node.lost ? Tone::plain : Tone::bad}});
  }
  print(table.text(colours_of_stdout()));
  for (const NodeView& node : nodes) {
    if (!node.sources.empty())
      print_line(fmt::format("sources of {}: {}", node.id, fmt::join(node.sources, ", ")));
    for (const auto& queues : node.groups) {
      print_line(fmt::format("placement group on {}: {}", node.id, fmt::join(queues, ", ")));
      if (queues.size() > 1 && queues.size() == node.queues.size())
        print("  it holds every queue of this node: one node decides for all of them\n");
    }
  }
  return 0;
}

int ask_node(Context& context, const NodesValues& values, const char* what,
             bool (Admin::*ask)(const std::string&)) {
  if (values.id.empty()) refuse_arguments("nodes: give the ID of a node; `ordo nodes` lists them");
  auto admin = context.open_admin();
  if (!(admin.*ask)(values.id)) {
    print_error(fmt::format("no node {} is registered; `ordo nodes` lists them", shortened(values.id)));
    return 1;
  }
  print_line(fmt::format("requested: {} {}", values.id, what));
  return 0;
}

int run_nodes(Context& context, const NodesValues& values) {
  if (values.verb == "quiet") return ask_node(context, values, "takes no more jobs", &Admin::quiet_node);
  if (values.verb == "stop") return ask_node(context, values, "stops", &Admin::stop_node);
  if (!values.verb.empty() && values.verb != "list") {
    refuse_arguments(
        fmt::format("nodes: '{}' is not known; use list, quiet ID or stop ID", shortened(values.verb)));
  }
  return list_nodes(context, values);
}

int run_pause(Context& context, const QueueValues& values) {
  const bool is_new = context.open_admin().pause(values.queue);
  print_line(fmt::format(
      fmt::runtime(is_new ? "requested: {} takes no new job until it is resumed" : "{} was paused already"),
      values.queue));
  return 0;
}

int run_resume(Context& context, const QueueValues& values) {
  const bool is_new = context.open_admin().resume(values.queue);
  print_line(
      fmt::format(fmt::runtime(is_new ? "requested: {} takes jobs" : "{} was not paused"), values.queue));
  return 0;
}

int run_remove(Context& context, const QueueValues& values) {
  const auto jobs = values.with_jobs ? Admin::RemoveJobs::with_jobs : Admin::RemoveJobs::refuse;
  if (!context.open_admin().remove(values.queue, jobs)) {
    print_error(fmt::format(
        "cannot remove {}: it still has jobs or dead payloads; finish them, or remove them too with "
        "--with-jobs",
        values.queue));
    return 1;
  }
  print_line(fmt::format("removed {}", values.queue));
  return 0;
}

void add_list(CLI::App& app, Context& context, const std::string& name, const std::string& what,
              const std::string& examples, int (*run)(Context&, const ListValues&)) {
  auto values = std::make_shared<ListValues>();
  add_command(app, context, name, what, examples, values, run)
      ->add_flag("--json", values->json, "Print one JSON array");
}

std::shared_ptr<QueueValues> add_verb(CLI::App& app, Context& context, const std::string& name,
                                      const std::string& what, const std::string& examples,
                                      int (*run)(Context&, const QueueValues&)) {
  auto values = std::make_shared<QueueValues>();
  CLI::App* command = add_command(app, context, name, what, examples, values, run);
  add_queue_argument(command, values->queue, "Name of the queue");
  return values;
}

}  // namespace

void add_queue_commands(CLI::App& app, Context& context) {
  add_list(app, context, "queues", "List the queues of the store", "  ordo queues --json\n", run_queues);
  auto nodes = std::make_shared<NodesValues>();
  CLI::App* command = add_command(
      app, context, "nodes", "List the nodes that run jobs, or ask one to take no more or to stop",
      "  ordo nodes --json\n  ordo nodes quiet host-1-4f2a\n  ordo nodes stop host-1-4f2a\n", nodes,
      run_nodes);
  add_argument(command, "VERB", nodes->verb, "list (default), quiet or stop");
  add_argument(command, "ID", nodes->id, "Of the node to ask");
  command->add_flag("--json", nodes->json, "Print one JSON array");
  add_verb(app, context, "pause", "Start no more jobs of a queue, on any node", "  ordo pause orders\n",
           run_pause);
  add_verb(app, context, "resume", "Start jobs of a paused queue again", "  ordo resume orders\n",
           run_resume);
  const auto values = add_verb(app, context, "remove", "Remove a queue from the store",
                               "  ordo remove orders\n  ordo remove orders --with-jobs\n", run_remove);
  app.get_subcommand("remove")->add_flag("--with-jobs", values->with_jobs,
                                         "Also if it has jobs: they are deleted");
}

}  // namespace ordo::cli
