#include "web/desk.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/json.h"
#include "base/nearest.h"
#include "base/shorten.h"
#include "web/problem.h"

namespace ordo::web {
namespace {

std::size_t saturated(std::size_t place, std::size_t more) {
  return place + std::min(more, std::numeric_limits<std::size_t>::max() - place);
}

template <class Number>
Number number_of(std::string_view name, const std::string& text) {
  Number number{};
  const auto* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || at != end || text.empty())
    throw Problem(400, fmt::format("{} is {}, which is no such number", name, in_quotes(text)));
  return number;
}

void refuse_unknown(const Json& object, std::string_view what,
                    std::initializer_list<std::string_view> known) {
  if (!object.is_object()) throw Problem(400, fmt::format("{} is no JSON object", what));
  for (const auto& name : object.keys()) {
    if (std::ranges::find(known, std::string_view(name)) != known.end()) continue;
    throw Problem(400, fmt::format("{} has {}, which is not known here; there are {}", what, in_quotes(name),
                                   fmt::join(known, ", ")));
  }
}

}  // namespace

std::optional<std::string> seen_of(const Request& request) {
  const auto given = request.header("if-match");
  if (!request.has("if-match") || given == "*") return std::nullopt;
  if (given.size() < 3 || !given.starts_with('"') || !given.ends_with('"'))
    throw Problem(400,
                  "If-Match takes what was seen in quotes: the version of a limit, or the ETag of a queue");
  return std::string(given.substr(1, given.size() - 2));
}

void refuse_unknown(const Target& target, std::initializer_list<std::string_view> known) {
  for (const auto& [name, value] : target.query) {
    if (std::ranges::find(known, std::string_view(name)) != known.end()) continue;
    throw Problem(400, known.size() == 0
                           ? fmt::format("no parameter is taken here, and there is {}", in_quotes(name))
                           : fmt::format("no parameter is named {}; there are {}", in_quotes(name),
                                         fmt::join(known, ", ")));
  }
}

void refuse_unknown_queue(Desk& desk, std::string_view name) {
  if (desk.config->now()->find(name) != nullptr) return;
  std::vector<std::string> known;
  for (const QueueView& queue : desk.admin.queues()) known.push_back(queue.name);
  if (std::ranges::find(known, name) != known.end()) return;
  throw Problem(404, fmt::format("there is no queue {} in the config or the store; {}", in_quotes(name),
                                 nearest_hint(name, known)));
}

std::uint32_t limit_of(const Target& target, std::uint32_t otherwise, std::uint32_t most) {
  const auto text = target.find("limit");
  if (!text) return otherwise;
  const auto limit = number_of<std::uint32_t>("limit", *text);
  if (limit == 0 || limit > most)
    throw Problem(400, fmt::format("limit is {}; 1 to {} are taken", limit, most));
  return limit;
}

bool flag_of(const Target& target, std::string_view name) {
  const auto text = target.find(name);
  if (!text || *text == "false") return false;
  if (*text == "true") return true;
  throw Problem(400, fmt::format("{} is {}; it is true or false", name, in_quotes(*text)));
}

Choice choice_of(const Target& target) {
  Choice choice{.kind = target.find("kind").value_or(""),
                .key = target.find("key").value_or(""),
                .error = target.find("error").value_or(""),
                .error_kind = target.find("error_kind"),
                .since = target.find("since"),
                .until = target.find("until")};
  if (const auto text = target.find("retry_count"))
    choice.retry_count = number_of<std::int32_t>("retry_count", *text);
  return choice;
}

Page page_of(const Target& target) {
  constexpr std::uint32_t kShown = 100;
  constexpr std::uint32_t kMostShown = 1000;
  auto cursor = target.find("cursor").value_or("");
  std::ranges::replace(cursor, ' ', '+');  // it was given as it was got, and in an address a + is a space
  return {.sort = target.find("sort").value_or("start"),
          .descending = flag_of(target, "desc"),
          .after = std::move(cursor),
          .limit = limit_of(target, kShown, kMostShown)};
}

PayloadEdit edit_of(const Call& call) {
  const auto json = minify_json(call.body);
  if (!json) throw Problem(400, "the body must be the new payload, as JSON; nothing was done");
  PayloadEdit edit{payload_from_json(*json), {}};
  if (const auto score = call.target.find("score")) edit.score = number_of<double>("score", *score);
  return edit;
}

Json body_of(const Call& call, std::initializer_list<std::string_view> known) {
  if (call.body.empty()) return Json::object();
  auto json = Json::parse(call.body);
  refuse_unknown(json, "the body", known);
  return json;
}

Json filter_of(const Json& body, std::initializer_list<std::string_view> known) {
  if (!body.contains("filter")) return Json::object();
  auto filter = body["filter"];
  refuse_unknown(filter, "the filter", known);
  return filter;
}

Choice choice_of(const Json& filter) {
  Choice choice{
      .kind = text_of(filter, "kind"), .key = text_of(filter, "key"), .error = text_of(filter, "error")};
  if (filter.contains("error_kind")) choice.error_kind = filter["error_kind"].as_string();
  if (const auto count = whole_of(filter, "retry_count")) {
    choice.retry_count = static_cast<std::int32_t>(*count);
    if (*choice.retry_count != *count) throw Problem(400, "retry_count is beyond all that there are");
  }
  if (filter.contains("since")) choice.since = filter["since"].as_string();
  if (filter.contains("until")) choice.until = filter["until"].as_string();
  return choice;
}

bool is_dry_run(const Json& body) { return body.contains("dry_run") && body["dry_run"].as_bool(); }

void refuse_other_count(const Json& body, std::uint64_t there) {
  const auto count = whole_of(body, "count");
  if (count && *count >= 0 && static_cast<std::uint64_t>(*count) == there) return;
  throw Problem(409, fmt::format("{} fit; with \"count\":{} it is done", there, there))
      .with("count", fmt::to_string(there));
}

std::string text_of(const Json& body, std::string_view name) {
  return body.contains(name) ? name_from_json(body[name].dump()) : std::string();
}

std::optional<std::int64_t> whole_of(const Json& body, std::string_view name) {
  if (!body.contains(name)) return std::nullopt;
  return body[name].as_int();
}

std::size_t place_behind(const std::string& cursor, std::size_t size) {
  if (cursor.empty()) return 0;
  std::size_t place = 0;
  const auto* const end = cursor.data() + cursor.size();
  const auto [at, error] = std::from_chars(cursor.data() + 1, end, place);
  if (cursor[0] != 'p' || error != std::errc{} || at != end)
    throw Problem(400, fmt::format("cursor is {}, which is not a cursor of this list", in_quotes(cursor)));
  return std::min(place, size);  // the list may be shorter by now
}

std::string cursor_behind(std::size_t place) { return fmt::format("p{}", place); }

VisitedPage::VisitedPage(const Target& target)
    : first_(place_behind(target.find("cursor").value_or(""), std::numeric_limits<std::size_t>::max())),
      end_(saturated(first_, limit_of(target, kMostListed, kMostListed))) {}

bool VisitedPage::wants_next() {
  const auto place = count_++;
  if (place < end_ && text_.size() >= kMostPageBytes) end_ = place;
  return place >= first_ && place < end_;
}

void VisitedPage::add(const std::string& item) { text_ += (text_.empty() ? "" : ",\n") + item; }

Response VisitedPage::response() const {
  return {.body = list_text(text_, end_ < count_ ? cursor_behind(end_) : "", count_)};
}

std::string list_text(std::string items, const std::string& next, std::optional<std::uint64_t> total) {
  return fmt::format("{{\"items\":[{}],\"next\":{},\"total\":{}}}\n", items,
                     next.empty() ? "null" : json_string(next), total ? fmt::to_string(*total) : "null");
}

}  // namespace ordo::web
