// ordo audit: who has changed what.
#include <fmt/format.h>

#include "base/time_text.h"
#include "cli/command.h"
#include "cli/output.h"
#include "faces/shapes.h"

namespace ordo::cli {
namespace {

struct AuditValues {
  std::size_t limit = 100;
  bool json = false;
};

constexpr const char* kAuditExamples = "  ordo audit\n  ordo audit --limit 1000 --json\n";

int run_audit(Context& context, const AuditValues& values) {
  std::vector<AuditEntry> entries;
  context.open_admin().audit({}, [&](const AuditEntry& entry) {
    entries.push_back(entry);
    return entries.size() < values.limit;
  });
  if (values.json) {
    print_json(json_array(entries, audit_json));
    return 0;
  }
  Table table({{"TIME"}, {"WHO"}, {"ACTION"}, {"QUEUE"}, {"FILTER"}, {"COUNT", Side::right}, {"RESULT"}});
  for (const AuditEntry& entry : entries) {
    table.add({{format_time(std::chrono::floor<std::chrono::seconds>(entry.at))},
               {entry.who},
               {entry.action},
               {entry.queue},
               {entry.filter == "{}" ? "" : entry.filter},
               {entry.count ? fmt::to_string(*entry.count) : ""},
               {entry.result, entry.result.starts_with("failed") ? Tone::bad : Tone::plain}});
  }
  print(table.text(colours_of_stdout()));
  return 0;
}

}  // namespace

void add_audit(CLI::App& app, Context& context) {
  auto values = std::make_shared<AuditValues>();
  CLI::App* audit = add_command(app, context, "audit", "Show who has changed what, the newest first",
                                kAuditExamples, values, run_audit);
  audit->add_option("--limit", values->limit, "At most so many changes; default: 100")
      ->check(CLI::Range(1, 100'000))
      ->type_name("N");
  audit->add_flag("--json", values->json, "Print one JSON array");
}

}  // namespace ordo::cli
