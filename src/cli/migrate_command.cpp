// ordo migrate: makes what a store needs before its first use, or prints the SQL for who may.

#include <fmt/format.h>

#include "base/redact.h"
#include "cli/command.h"
#include "cli/output.h"

namespace ordo::cli {
namespace {

struct MigrateValues {
  bool sql = false;
  bool json = false;
};

constexpr const char* kMigrateExamples =
    "  ordo migrate --store postgres://ordo@db/shop\n"
    "  ordo migrate --store postgres://db/shop --sql > ordo.sql    # for a DBA; nothing is done\n";

int run_migrate(Context& context, const MigrateValues& values) {
  const auto config = context.config();
  if (values.sql) {
    print(schema_sql(config));
    return 0;
  }
  if (config.store == "memory:") refuse_arguments("migrate: the store 'memory:' ends with this process");
  context.tried = true;
  const bool made = migrate(config);
  if (values.json) {
    print(made ? "{\"made\":true}\n" : "{\"made\":false}\n");
  } else {
    print_line(fmt::format(fmt::runtime(made ? "made what Ordo needs in {}" : "nothing to do: {} is ready"),
                           redact(config.store)));
  }
  return 0;
}

}  // namespace

void add_migrate(CLI::App& app, Context& context) {
  auto values = std::make_shared<MigrateValues>();
  CLI::App* migrate = add_command(app, context, "migrate", "Make what a store needs before its first use",
                                  kMigrateExamples, values, run_migrate);
  migrate->add_flag("--sql", values->sql, "Print the SQL of PostgreSQL, and do nothing");
  migrate->add_flag("--json", values->json, "Print JSON");
}

}  // namespace ordo::cli
