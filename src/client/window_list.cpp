// When windows open, as pages show it.
#include <array>

#include "base/saturate.h"
#include "client/admin_impl.h"
#include "domain/window.h"

namespace ordo {
namespace {

constexpr std::size_t kMostOpenings = 100;

WindowView window_view_of(const std::string& kind, const QueueOptions& rules, Time now, Time until) {
  WindowView view{.kind = kind, .windows = rules.windows};
  const auto windows = domain::Windows::of(rules.windows).value_or(domain::Windows{});
  const std::array all{&windows};
  for (auto at = now; view.openings.size() < kMostOpenings && (at <= until || view.openings.empty());) {
    const auto span = domain::next_opening(all, at, rules.min_remaining);
    if (!span || (span->from > until && !view.openings.empty())) break;
    const bool is_endless = windows.is_open(span->until);  // the search stops behind a week
    view.openings.emplace_back(span->from, is_endless ? Time::max() : span->until);
    if (is_endless) break;
    at = span->until;
  }
  view.open = !view.openings.empty() && view.openings.front().first <= now;
  for (auto at = windows.next_jump(now); at <= until; at = windows.next_jump(at))
    view.clock_changes.push_back(at);
  return view;
}

}  // namespace

std::vector<WindowView> Admin::Impl::windows(std::string_view queue, Duration ahead) {
  static_cast<void>(handle_->existing_queue(queue));  // refuses one that nobody knows
  const auto* options = handle_->options(queue);
  const QueueOptions none{.name = std::string(queue)};
  const auto& rules = options != nullptr ? *options : none;
  const auto now = handle_->store().now();
  const auto until = saturating_add(now, ahead);
  std::vector<WindowView> views{window_view_of({}, rules, now, until)};
  for (const auto& kind : rules.kinds) {
    if (kind.windows) views.push_back(window_view_of(kind.kind, options_of(rules, kind.kind), now, until));
  }
  return views;
}

}  // namespace ordo
