#include "runtime/trouble.h"

#include <utility>

#include <fmt/format.h>

namespace ordo::runtime {
namespace {

constexpr Duration kSaidAgain = std::chrono::minutes{1};

}  // namespace

std::optional<std::string> Trouble::failed(const std::string& error, Time now, Duration steady) {
  if (facts_.failures++ == 0) facts_.since = now;
  const bool is_new = std::exchange(facts_.error, error) != error;
  if (!is_new && steady - said_at_ < kSaidAgain) return std::nullopt;
  said_at_ = steady;
  if (facts_.failures == 1) return fmt::format("cannot {}, trying again: {}", what_, error);
  return fmt::format("cannot {}, trying again (failed {} times): {}", what_, facts_.failures, error);
}

std::optional<std::string> Trouble::succeeded() {
  const auto before = std::exchange(facts_, {});
  if (before.failures == 0) return std::nullopt;
  return fmt::format("can {} again, after {} {}", what_, before.failures,
                     before.failures == 1 ? "failure" : "failures");
}

std::string text_of(const std::exception_ptr& error) {
  if (error == nullptr) return {};
  std::string text;
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& known) {
    text = known.what();
  } catch (...) {
  }
  return text.empty() ? "an unknown error" : text;
}

std::string text_of(const LateRenewal& late, Duration lease) {
  const auto seconds = [](Duration duration) { return std::chrono::duration<double>(duration).count(); };
  auto text = fmt::format("the leases have ended: they last for {:.1f} s and were renewed after {:.1f} s",
                          seconds(lease), seconds(late.since));
  if (late.idle > late.lost + late.renewed) {
    return text + fmt::format(
                      "; this process did not run for {:.1f} s of that: was it or its machine stopped, or is "
                      "the machine overloaded?",
                      seconds(late.idle));
  }
  if (late.lost > Duration{0}) {
    return text + fmt::format("; the store could not be reached for {:.1f} s of that",
                              seconds(late.lost + late.renewed));
  }
  return text + fmt::format(
                    ", of which the store took {:.1f} s to answer; the store is too slow for them: raise "
                    "`lease` of [node], or give it a faster disk or server",
                    seconds(late.renewed));
}

}  // namespace ordo::runtime
