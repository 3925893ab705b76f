// What the options of a config are made of: which values they take, and the words for those of enumerations.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include <ordo/options.hpp>
#include <ordo/sidekiq.hpp>

namespace ordo::domain {

struct Option {
  std::string_view key;
  std::string_view help;     ///< one line, for the page: Markdown
  std::string_view unset{};  ///< what holds while it has no value; empty: its value says it
};

// What values an option takes.

struct Whole {
  std::int64_t least, most;
};
struct Real {
  double least, most;
};
struct Lasts {
  Duration least, most = Duration::max();
};
struct Bytes {
  std::uint64_t least = 0, most = std::numeric_limits<std::uint64_t>::max();
};
struct Number {
  Decimal least{};  ///< 0: all above
};
struct Flag {};
struct Word {};  ///< one of kWords
/// A list of them.
struct Texts {
  std::string_view example, values;
};
struct RedisUrl {};
struct Zone {};
struct File {};  ///< relative to the config
struct PayloadText {};
/// Read and checked by code of its own.
struct Own {
  std::string_view values;
};
/// The two parts of an Execution.
struct Command {};
struct Library {};

/// In the largest unit that divides it: "256MiB".
inline std::string bytes_text(std::uint64_t bytes) {
  constexpr std::array<std::string_view, 5> kUnits = {"", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  for (; bytes != 0 && bytes % 1024 == 0 && unit + 1 < kUnits.size(); bytes /= 1024) ++unit;
  return std::to_string(bytes).append(kUnits[unit]);
}

/// The words for the values of an enumeration.
template <class T>
inline constexpr std::array<std::pair<std::string_view, T>, 0> kWords{};

template <class T, std::size_t N>
constexpr auto words(const std::pair<std::string_view, T> (&all)[N]) {
  return std::to_array(all);
}

template <>
inline constexpr auto kWords<PayloadChoice> = words<PayloadChoice>({{"all", PayloadChoice::all},
                                                                    {"last", PayloadChoice::last},
                                                                    {"first", PayloadChoice::first}});
template <>
inline constexpr auto kWords<EqualPayloads> = words<EqualPayloads>({{"oldest", EqualPayloads::oldest},
                                                                    {"newest", EqualPayloads::newest}});
template <>
inline constexpr auto kWords<OnExpire> = words<OnExpire>({{"dead", OnExpire::dead},
                                                          {"drop", OnExpire::drop}});
template <>
inline constexpr auto kWords<Affinity> = words<Affinity>({{"key", Affinity::key},
                                                          {"shard", Affinity::shard}});
template <>
inline constexpr auto kWords<KeyOrder> = words<KeyOrder>({{"strict", KeyOrder::strict},
                                                          {"exclusive", KeyOrder::exclusive}});
template <>
inline constexpr auto kWords<DueOrder> = words<DueOrder>({{"time", DueOrder::time},
                                                          {"priority", DueOrder::priority}});
template <>
inline constexpr auto kWords<Oversize> = words<Oversize>({{"reject", Oversize::reject},
                                                          {"alone", Oversize::alone}});
template <>
inline constexpr auto kWords<SlotHold> = words<SlotHold>({{"response", SlotHold::response},
                                                          {"dispatch", SlotHold::dispatch}});
template <>
inline constexpr auto kWords<LockSpan> = words<LockSpan>({{"run", LockSpan::run},
                                                          {"response", LockSpan::response}});
template <>
inline constexpr auto kWords<RateEach> = words<RateEach>({{"queue", RateEach::queue},
                                                          {"partition", RateEach::partition}});
template <>
inline constexpr auto kWords<RetryPolicy::Strategy> =
    words<RetryPolicy::Strategy>({{"default", RetryPolicy::Strategy::standard},
                                  {"none", RetryPolicy::Strategy::none},
                                  {"fixed", RetryPolicy::Strategy::fixed},
                                  {"linear", RetryPolicy::Strategy::linear},
                                  {"exponential", RetryPolicy::Strategy::exponential},
                                  {"list", RetryPolicy::Strategy::list}});
template <>
inline constexpr auto kWords<Missed> =
    words<Missed>({{"skip", Missed::skip}, {"once", Missed::once}, {"all", Missed::all}});
template <>
inline constexpr auto kWords<Overlap> = words<Overlap>({{"skip", Overlap::skip}, {"queue", Overlap::queue}});
template <>
inline constexpr auto kWords<SchedulerKind> = words<SchedulerKind>({{"lag", SchedulerKind::lag},
                                                                    {"sequential", SchedulerKind::sequential},
                                                                    {"strict", SchedulerKind::strict},
                                                                    {"weighted", SchedulerKind::weighted}});
// A static node serves every shard: it is the first of one.
template <>
inline constexpr auto kWords<SplitterKind> = words<SplitterKind>({{"auto", SplitterKind::automatic},
                                                                  {"node", SplitterKind::by_node},
                                                                  {"static", SplitterKind::by_node}});
template <>
inline constexpr auto kWords<LogFormat> = words<LogFormat>({{"text", LogFormat::text},
                                                            {"json", LogFormat::json}});
template <>
inline constexpr auto kWords<LogLevel> = words<LogLevel>({{"debug", LogLevel::debug},
                                                          {"info", LogLevel::info},
                                                          {"warning", LogLevel::warning},
                                                          {"error", LogLevel::error},
                                                          {"off", LogLevel::off}});
template <>
inline constexpr auto kWords<UniqueScope> = words<UniqueScope>({{"queued", UniqueScope::queued},
                                                                {"queued_or_running",
                                                                 UniqueScope::queued_or_running},
                                                                {"period", UniqueScope::period}});
template <>
inline constexpr auto kWords<OnConflict> = words<OnConflict>({{"reject", OnConflict::reject},
                                                              {"ignore", OnConflict::ignore},
                                                              {"replace", OnConflict::replace},
                                                              {"merge", OnConflict::merge},
                                                              {"debounce", OnConflict::debounce},
                                                              {"throttle", OnConflict::throttle}});
template <>
inline constexpr auto kWords<Role> = words<Role>({{"viewer", Role::viewer},
                                                  {"operator", Role::operator_},
                                                  {"admin", Role::admin},
                                                  {"producer", Role::producer},
                                                  {"worker", Role::worker},
                                                  {"responder", Role::responder}});
template <>
inline constexpr auto kWords<SourceRetries> = words<SourceRetries>({{"ordo", SourceRetries::ordo},
                                                                    {"sidekiq", SourceRetries::sidekiq}});
template <>
inline constexpr auto kWords<sidekiq::Dialect> =
    words<sidekiq::Dialect>({{"sidekiq", sidekiq::Dialect::sidekiq},
                             {"resque", sidekiq::Dialect::resque},
                             {"verk", sidekiq::Dialect::verk}});

}  // namespace ordo::domain
