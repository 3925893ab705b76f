#include "domain/job_options.h"

#include <algorithm>

#include "base/push_option.h"
#include "base/window_text.h"
#include "domain/archive.h"
#include "domain/option_bounds.h"
#include "domain/unique_fields.h"

namespace ordo::domain {
namespace {

constexpr std::size_t kMostHolds = 1000;  // of one job

/// What is not in an entry by itself. An older version would start a job whose options it does not know: so
/// they are no optional fields, and who adds one says in the record what it needs (fields.h).
template <class Fields>
void rule_fields(Fields& f, In<Fields, JobOptions>& options) {
  f.maybe_any_time(2, options.expires);
  f.each(3, options.windows, kMostJobWindows);
  f.maybe(4, options.weight);
  f.maybe_text(5, options.partition);
  f.maybe(6, options.critical);
  f.maybe_text(7, options.lock);
  f.each(8, options.unique, kMostHolds);
  f.flag(9, options.replaces_time);
  f.maybe(10, options.max_retries);
  if (Fields::kReads || options.expires) f.maybe(11, options.expires_after);
  f.maybe(15, options.keeps_dead);
  f.text(16, options.retried_by);
}

template <class Fields>
void all_fields(Fields& f, In<Fields, JobOptions>& options) {
  rule_fields(f, options);
  f.maybe(12, options.priority);
  f.maybe(13, options.timeout);
  f.text(14, options.freed_row);
}

void take_name(std::optional<std::string>& name) {
  if (name && name->size() > kLongestJobName) name->resize(kLongestJobName);
}

template <class Visit>
void read_options(std::string_view bytes, Visit visit, JobOptions& options) {
  constexpr const char* kWhat = "rules of a job";
  const auto unknown = take_fields(bytes, [&](FieldTag tag, std::string_view value) {
    FieldReader field(tag, value, kWhat);
    visit(field);
    return field.known;
  });
  const ByteReader in(bytes, kWhat);
  if (!unknown.empty()) in.fail("they are unknown");
  if (options.freed_row.size() > kLongestJobName) in.fail("a row has no name that a store takes");
  if (options.expires && *options.expires != Time::max()) options.expires = written_time(*options.expires);
  if (!options.expires) options.expires_after.reset();
  if (options.timeout) options.timeout = written_timeout(*options.timeout);
  if (options.max_retries) options.max_retries = std::max(*options.max_retries, 0);
  take_name(options.partition);
  take_name(options.lock);
}

}  // namespace

template <class A>
void fields(A& a, In<A, Window>& window) {
  a.seconds(window.start);
  a.seconds(window.end);
  a.number(window.days);
  a.rest(window.tz);
  if constexpr (A::kReads) a.check(why_no_window(window).empty(), "a window is none");
}

template <class A>
void fields(A& a, In<A, Decimal>& weight) {
  auto millionths = weight.millionths();
  a.number(millionths);
  if constexpr (A::kReads)
    weight = Decimal::of_millionths(std::clamp<std::int64_t>(millionths, 1, Decimal::kMost));
}

std::string encode_rules(const JobOptions& options) {
  FieldWriter rules;
  rule_fields(rules, options);
  return std::move(rules.bytes);
}

void read_rules(std::string_view bytes, JobOptions& options) {
  read_options(
      bytes, [&](auto& field) { rule_fields(field, options); }, options);
}

std::string encode_options(const JobOptions& options) {
  FieldWriter all;
  all_fields(all, options);
  return std::move(all.bytes);
}

void read_options(std::string_view bytes, JobOptions& options) {
  read_options(
      bytes, [&](auto& field) { all_fields(field, options); }, options);
}

}  // namespace ordo::domain
