#include "faces/problem_text.h"

#include <utility>

#include <fmt/format.h>

#include "base/redact.h"
#include "faces/object_text.h"

namespace ordo {
namespace {

/// What is to be done, and on which page of the dashboard.
struct Action {
  std::string label;
  std::string href;
};

Action action_of(const Finding& finding) {
  using About = Finding::About;
  const auto queue = url_part(finding.queue);
  switch (finding.about) {
    case About::store:
      return {"show nodes", "/nodes"};
    case About::node:
      return {"show nodes", "/nodes"};
    case About::queue:
    case About::reshard:
      return {"show queue", "/queues/" + queue};
    case About::code:
      if (!finding.name.empty()) return {"show nodes", "/nodes"};  // it is one node that cannot run it
      return {"show waiting jobs", fmt::format("/why?queue={}&gate=code", queue)};
    case About::dead:
      return {"show dead", "/dead?queue=" + queue};
    case About::retries:
      return {"show jobs", fmt::format("/jobs?queue={}&state=retrying", queue)};
    case About::limit:
      return {"show limit", "/limits?name=" + url_part(finding.name)};
    case About::jobs:
      if (finding.name.empty()) return {"show waiting jobs", "/why?queue=" + queue};
      return {"show job", fmt::format("/queues/{}/jobs/{}", queue, url_part(finding.name))};
    case About::source:
      return {"show sources", "/sources"};
    case About::responses:
      return {"show responses", "/responses?queue=" + queue};
  }
  return {"show queues", "/queues"};
}

}  // namespace

std::string url_part(std::string_view text) {
  std::string part;
  for (const char c : text) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                          c == '-' || c == '_' || c == '.' || c == '~';
    part += is_plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return part;
}

std::string problem_json(const Finding& finding) {
  const bool is_for_person = finding.needs_person || finding.level == Finding::Level::bad;
  const auto action = action_of(finding);
  ObjectText object;
  object.text("severity", is_for_person ? "person" : "watch").text_or_null("queue", finding.queue);
  object.text("what", redact(finding.what)).text("advice", redact(finding.advice));
  object.text_or_null("since", finding.since ? format_time(*finding.since) : "");
  object.text_or_null("effect", finding.effect).number("jobs", finding.jobs);
  object.raw("action", ObjectText().text("label", action.label).text("href", action.href).end());
  return object.end();
}

}  // namespace ordo
