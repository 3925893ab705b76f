#pragma once

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <ordo/admin.hpp>
#include <ordo/client.hpp>
#include <ordo/json.hpp>
#include <ordo/log.hpp>
#include <ordo/options.hpp>

#include "faces/choice.h"
#include "web/latest.h"
#include "web/live_config.h"
#include "web/news.h"
#include "web/router.h"

namespace ordo::web {

/// What answers are made with. Lives as long as the routes.
struct Desk {
  Admin admin;
  Client client;
  std::shared_ptr<LiveConfig> config;
  LogSink log;
  std::shared_ptr<News> news;
  std::shared_ptr<Latest<std::vector<SourceView>>> sources =
      std::make_shared<Latest<std::vector<SourceView>>>();
};

inline constexpr std::size_t kMostPageBytes = 8U << 20;  // then a page ends, whatever its limit
inline constexpr std::uint32_t kMostListed = 1'000;      // items of a page
inline constexpr std::size_t kMostSmallBody = 1U << 20;  // of ids and filters
inline constexpr std::size_t kMostPayloadBody = 16U << 20;

// The routes by what they are about, each added to the table.
void add_queue_routes(std::vector<Route>& routes, Desk& desk);
void add_job_routes(std::vector<Route>& routes, Desk& desk);
void add_dead_routes(std::vector<Route>& routes, Desk& desk);
void add_push_routes(std::vector<Route>& routes, Desk& desk);
void add_response_routes(std::vector<Route>& routes, Desk& desk);
void add_gate_routes(std::vector<Route>& routes, Desk& desk);
void add_node_routes(std::vector<Route>& routes, Desk& desk);
void add_audit_routes(std::vector<Route>& routes, Desk& desk);
void add_source_routes(std::vector<Route>& routes, Desk& desk);

// What a caller sees: all, or what is of its queues.

/// Of the queues that `wanted` names, as Admin::stats() takes them; none: of all.
Stats seen_stats(Desk& desk, const Call& call, const std::vector<std::string>& wanted = {});
std::vector<QueueView> seen_queues(Desk& desk, const Call& call);
std::vector<NodeView> seen_nodes(Desk& desk, const Call& call);
/// Those of its queues, and named ones that its queues use.
std::vector<LimitView> seen_limits(Desk& desk, const Call& call);
std::vector<LockView> seen_locks(Desk& desk, const Call& call);
/// A few seconds old; a minute, while one of them is in trouble: a look asks servers of others, which may not
/// answer for seconds.
std::vector<SourceView> seen_sources(Desk& desk, const Call& call);
std::vector<PeriodicView> seen_periodic(Desk& desk, const Call& call);
/// What changes for a caller: the log of changes names it.
inline Admin admin_of(const Desk& desk, const Call& call) { return desk.admin.acting_as(call.caller->name); }
/// 403 for a queue that the caller does not see.
void refuse_unseen(const Call& call, std::string_view queue);
void add_export_routes(std::vector<Route>& routes, Desk& desk);
void add_problem_routes(std::vector<Route>& routes, Desk& desk);
void add_line_routes(std::vector<Route>& routes, Desk& desk);
void add_event_routes(std::vector<Route>& routes, Desk& desk);

/// The jobs of that id, and what is kept of ended ones.
Response one_job(Desk& desk, const Call& call, const std::string& id);

/// 404 unless config or store has it.
void refuse_unknown_queue(Desk& desk, std::string_view name);

// How requests are read. All throw Problem for what is wrong with one.

/// What If-Match says was looked at: the version of a limit, or the tag of a queue. Nothing: whatever it is.
std::optional<std::string> seen_of(const Request& request);
/// Refuses parameters of other names.
void refuse_unknown(const Target& target, std::initializer_list<std::string_view> known);
/// A number from 1 to `most`; `otherwise` when it is not there.
std::uint32_t limit_of(const Target& target, std::uint32_t otherwise, std::uint32_t most);
bool flag_of(const Target& target, std::string_view name);
/// Its parameters kind, key, error, error_kind, retry_count, since and until.
Choice choice_of(const Target& target);
/// Its parameters sort, desc, cursor and limit.
Page page_of(const Target& target);

/// A body that is a payload, and the score of the one that it replaces, if the call says one.
struct PayloadEdit {
  std::string payload;
  std::optional<double> score;
};
PayloadEdit edit_of(const Call& call);

/// An object with no members but these; no body at all is an empty one.
Json body_of(const Call& call, std::initializer_list<std::string_view> known);
std::string text_of(const Json& body, std::string_view name);  ///< empty: it is not there
std::optional<std::int64_t> whole_of(const Json& body, std::string_view name);

/// Its member "filter", likewise, and the choice that it makes.
Json filter_of(const Json& body, std::initializer_list<std::string_view> known);
Choice choice_of(const Json& filter);
/// Whether its "dry_run" is true: then it only asks how many there are.
bool is_dry_run(const Json& body);
/// 409 unless its "count" is how many there are: who says the number knows what is done.
void refuse_other_count(const Json& body, std::uint64_t there);

/// {"items":[…],"next":cursor or null,"total":N or null}
std::string list_text(std::string items, const std::string& next, std::optional<std::uint64_t> total);

template <class Item, class Shape>
Response list_of(const std::vector<Item>& items, const Shape& shape) {
  std::string text;
  for (const Item& item : items) text += (text.empty() ? "" : ",\n") + shape(item);
  return {.body = list_text(std::move(text), "", items.size())};
}

/// Behind which item a page of `items` begins, by its cursor. Throws Problem for one of something else.
std::size_t place_behind(const std::string& cursor, std::size_t size);
std::string cursor_behind(std::size_t place);

/// One page of a list that is short enough to be made whole: ?limit=, 1,000 unless it says so, and ?cursor=.
template <class Item, class Shape>
Response page_of_list(const Target& target, const std::vector<Item>& items, const Shape& shape) {
  const auto first = place_behind(target.find("cursor").value_or(""), items.size());
  const auto end =
      first + std::min<std::size_t>(limit_of(target, kMostListed, kMostListed), items.size() - first);
  std::string text;
  auto at = first;
  for (; at < end && text.size() < kMostPageBytes; ++at) text += (at > first ? ",\n" : "") + shape(items[at]);
  return {.body = list_text(std::move(text), at < items.size() ? cursor_behind(at) : "", items.size())};
}

/// One page of a list that is visited item by item: of the others, only how many there are is kept.
class VisitedPage {
 public:
  explicit VisitedPage(const Target& target);

  /// Of each item: whether it is on the page. If so, add() it.
  bool wants_next();
  void add(const std::string& item);
  Response response() const;

 private:
  std::size_t first_, end_;
  std::size_t count_ = 0;
  std::string text_;
};

/// How far a list was visited.
struct Visited {
  Visited(std::string behind) : cursor(std::move(behind)) {}  // NOLINT: most calls return no more than that

  std::string cursor;
  bool is_cut = false;  ///< there is more, although the visitor did not end it
};

/// One page of what `ask` shows to its visitor.
template <class View, class Shape, class Ask>
Response page_of_views(std::size_t most, const Shape& shape, const Ask& ask) {
  std::string items;
  std::size_t found = 0;
  bool has_more = false;
  const Visited visited = ask([&](const View& view) {
    has_more = ++found > most || items.size() > kMostPageBytes;
    if (has_more) return false;
    items += (items.empty() ? "" : ",\n") + shape(view);
    return true;
  });
  return {.body =
              list_text(std::move(items), has_more || visited.is_cut ? visited.cursor : "", std::nullopt)};
}

}  // namespace ordo::web
