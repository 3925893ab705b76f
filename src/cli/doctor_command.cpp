// ordo doctor: what is wrong with config and store, and what to do.

#include <algorithm>

#include <fmt/format.h>

#include "base/json.h"
#include "base/redact.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/table.h"
#include "faces/shapes.h"

namespace ordo::cli {
namespace {

struct DoctorValues {
  bool json = false;
};

std::string name_of(Finding::Level level) {
  switch (level) {
    case Finding::Level::good:
      return "good";
    case Finding::Level::warning:
      return "warning";
    case Finding::Level::bad:
      return "bad";
  }
  return "";
}

Tone tone_of(Finding::Level level) {
  if (level == Finding::Level::good) return Tone::good;
  return level == Finding::Level::warning ? Tone::warning : Tone::bad;
}

std::string finding_json(const Finding& finding) {
  return fmt::format("{{\"level\":{},\"what\":{},\"advice\":{}}}", json_string(name_of(finding.level)),
                     json_string(redact(finding.what)), json_string(redact(finding.advice)));
}

int run(Context& context, const DoctorValues& values) {
  const auto findings = context.open_admin().examine();
  if (values.json) {
    print_json(json_array(findings, finding_json));
  } else {
    for (const auto& finding : findings) {
      const Cell level{fmt::format("{:<8}", name_of(finding.level)), tone_of(finding.level)};
      print(fmt::format("{} {}\n", coloured(level, colours_of_stdout()), printable(redact(finding.what))));
      if (!finding.advice.empty()) print_line(fmt::format("{:<8} -> {}", "", redact(finding.advice)));
    }
  }
  const bool is_bad = std::ranges::any_of(
      findings, [](const Finding& finding) { return finding.level == Finding::Level::bad; });
  return is_bad ? 1 : 0;
}

}  // namespace

void add_doctor(CLI::App& app, Context& context) {
  const auto values = std::make_shared<DoctorValues>();
  add_command(app, context, "doctor", "Check the config, the store and its clock, and say what to do",
              "  ordo doctor\n  ordo doctor --json   # exit 1 if something is bad\n", values, run)
      ->add_flag("--json", values->json, "Print one JSON array");
}

}  // namespace ordo::cli
