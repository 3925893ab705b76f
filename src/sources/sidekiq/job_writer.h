#pragma once

#include <string>
#include <string_view>

#include <ordo/sidekiq.hpp>

namespace ordo::sources {

/// What the clients of a dialect put into a job besides what the program says. Pure.
struct JobStamp {
  std::string jid;
  Time now{};
  bool is_scheduled = false;
  /// Sidekiq writes class before args then, and when many are pushed at once.
  bool class_first = false;
};

/// The bytes that a client of the dialect pushes. Throws Error{invalid_argument} for what it has no words
/// for.
std::string write_job(sidekiq::Dialect dialect, const sidekiq::Push& push, const JobStamp& stamp);

/// Seconds as Ruby prints a Float: always with a fraction.
std::string float_seconds(Time time);
std::string whole_seconds(Time time);

}  // namespace ordo::sources
