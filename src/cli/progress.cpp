#include "cli/progress.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>

#include <fmt/format.h>

#include "base/clock.h"
#include "cli/output.h"

namespace ordo::cli {
namespace {

constexpr Duration kEvery = std::chrono::milliseconds{100};
constexpr std::size_t kBarWidth = 30;

std::string bar(std::uint64_t done, std::uint64_t all) {
  const double part = std::min(1.0, static_cast<double>(done) / static_cast<double>(all));
  const auto filled = static_cast<std::size_t>(part * kBarWidth);
  return fmt::format("[{:=<{}}{:{}}] {:3.0f}%  ", "", filled, "", kBarWidth - filled, part * 100);
}

}  // namespace

Progress::Progress()
    : on_(is_terminal(STDERR_FILENO)), started_(system_clock().steady()), next_(started_ + kEvery) {}

Progress::~Progress() {
  if (shown_) fmt::print(stderr, "\r\033[K");
}

void Progress::show(std::uint64_t part, std::uint64_t whole, std::uint64_t count, std::string_view things) {
  if (!on_) return;
  const Duration now = system_clock().steady();
  if (now < next_) return;
  next_ = now + kEvery;
  shown_ = true;
  const double seconds = std::chrono::duration<double>(now - started_).count();
  fmt::print(stderr, "\r\033[K{}{} {}, {:.0f}/s", whole > 0 ? bar(part, whole) : std::string(), count, things,
             static_cast<double>(count) / seconds);
}

}  // namespace ordo::cli
