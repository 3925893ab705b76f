#include <string>

#include <fmt/format.h>

#include <ordo/version.hpp>

#include "web/api.h"
#include "web/html.h"
#include "web/problem.h"

namespace ordo::web {
Response small_page(Desk& desk, const Call& call) {
  if (!call.caller) return log_in_page(401, "");
  if (!may(call.caller->role, Needs::viewer)) throw Problem(403, "this role sees no pages");
  std::string rows;
  for (const auto& [name, counts] : seen_stats(desk, call).by_queue) {
    rows += fmt::format(
        "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{:.1f} "
        "s</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
        html_text(name), counts.length, counts.running, counts.awaiting, counts.dead, counts.lag,
        counts.processed, counts.failed, counts.paused ? "paused" : "");
  }
  return {.body = fmt::format(
              "<!doctype html>\n<html lang=\"en\"><head><meta "
              "charset=\"utf-8\"><title>Ordo</title></head><body>\n"
              "<h1>Ordo {}</h1>\n<table border=\"1\" "
              "cellpadding=\"4\">\n<tr><th>queue</th><th>length</th><th>running</th>"
              "<th>awaiting</th><th>dead</th><th>lag</th><th>processed</th><th>failed</th><th></th></"
              "tr>\n{}</table>\n"
              "<p>The API: <a href=\"openapi.json\">openapi.json</a>, <a href=\"api/v1/stats\">stats</a>, "
              "<a href=\"api/v1/nodes\">nodes</a>; docs/http.md describes it.</p>\n</body></html>\n",
              kVersion, rows),
          .type = "text/html; charset=utf-8"};
}

}  // namespace ordo::web
