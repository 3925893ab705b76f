// The exact bytes of a pushed job: Sidekiq 6.4.1 (Sidekiq::Client), Resque 2 (Resque.push), Verk 1.7
// (Verk.enqueue).
#include "sources/sidekiq/job_writer.h"

#include <algorithm>
#include <array>

#include <ordo/error.hpp>

#include "base/json.h"
#include "base/shorten.h"
#include "base/time_text.h"

namespace ordo::sources {
namespace {

using sidekiq::Dialect;
using sidekiq::Push;

[[noreturn]] void refuse(Dialect dialect, const Push& push, const std::string& why) {
  throw Error(ErrorKind::invalid_argument, "cannot push the " + std::string(to_string(dialect)) + " job " +
                                               in_quotes(push.class_name) + ": " + why +
                                               "; nothing was pushed");
}

/// One object, field by field in the order of the calls.
class Fields {
 public:
  void add(std::string_view name, std::string_view json) {
    out_ += out_.size() == 1 ? "" : ",";
    append_json_string(out_, name);
    out_ += ':';
    out_ += json;
  }
  void add_text(std::string_view name, std::string_view text) { add(name, json_string(text)); }
  std::string end() && { return std::move(out_) + '}'; }

 private:
  std::string out_ = "{";
};

constexpr std::array<std::string_view, 7> kOwnFields = {"retry", "queue",      "class",      "args",
                                                        "jid",   "created_at", "enqueued_at"};

std::string write_sidekiq(const Push& push, const JobStamp& stamp) {
  Fields fields;
  fields.add("retry", push.retry.dump());
  fields.add_text("queue", push.queue);
  if (!push.fields.is_null()) {
    for (const auto& name : push.fields.keys()) {
      if (std::ranges::find(kOwnFields, name) != kOwnFields.end() || name == "at")
        refuse(Dialect::sidekiq, push, "the field " + in_quotes(name) + " is set by the client");
      fields.add(name, push.fields[name].dump());
    }
  }
  if (stamp.class_first) fields.add_text("class", push.class_name);
  fields.add("args", push.args.dump());
  if (!stamp.class_first) fields.add_text("class", push.class_name);
  fields.add_text("jid", stamp.jid);
  fields.add("created_at", float_seconds(stamp.now));
  if (!stamp.is_scheduled) fields.add("enqueued_at", float_seconds(stamp.now));
  return std::move(fields).end();
}

std::string write_resque(const Push& push, const JobStamp& stamp) {
  if (stamp.is_scheduled) refuse(Dialect::resque, push, "Resque has no jobs for later");
  if (!push.jid.empty()) refuse(Dialect::resque, push, "Resque's jobs have no jid");
  Fields fields;
  fields.add_text("class", push.class_name);
  fields.add("args", push.args.dump());
  return std::move(fields).end();
}

// All fields of Verk.Job, in the order in which Jason encodes them.
std::string write_verk(const Push& push, const JobStamp& stamp) {
  const bool is_default = push.retry.is_bool() && push.retry.as_bool();
  const auto retries = !push.retry.is_bool() ? push.retry.dump()
                       : !is_default         ? "0"
                       : stamp.is_scheduled  ? "null"
                                             : std::to_string(sidekiq::kDefaultRetries);
  Fields fields;
  fields.add_text("args", push.args.dump());
  fields.add_text("class", push.class_name);
  fields.add("created_at", "null");
  fields.add("enqueued_at", stamp.is_scheduled ? "null" : whole_seconds(stamp.now));
  fields.add("error_backtrace", "null");
  fields.add("error_message", "null");
  fields.add("failed_at", "null");
  fields.add("finished_at", "null");
  fields.add_text("jid", stamp.jid);
  fields.add("max_retry_count", retries);
  fields.add_text("queue", push.queue);
  fields.add("retried_at", "null");
  fields.add("retry_count", "0");
  return std::move(fields).end();
}

void check(Dialect dialect, const Push& push) {
  if (push.class_name.empty()) refuse(dialect, push, "it names no class");
  if (push.queue.empty()) refuse(dialect, push, "it names no queue");
  if (!push.args.is_array()) refuse(dialect, push, "its args are not an array");
  if (!push.retry.is_bool() && !push.retry.is_number())
    refuse(dialect, push, "retry takes true, false or a number");
  if (!push.fields.is_null() && !push.fields.is_object())
    refuse(dialect, push, "its fields are not an object");
  if (!push.fields.is_null() && dialect != Dialect::sidekiq)
    refuse(dialect, push, "its workers know no more fields");
}

}  // namespace

std::string float_seconds(Time time) {
  auto text = json_number(seconds_of(time.time_since_epoch()));
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

std::string whole_seconds(Time time) {
  return std::to_string(std::chrono::floor<std::chrono::seconds>(time).time_since_epoch().count());
}

std::string write_job(Dialect dialect, const Push& push, const JobStamp& stamp) {
  check(dialect, push);
  switch (dialect) {
    case Dialect::sidekiq:
      return write_sidekiq(push, stamp);
    case Dialect::resque:
      return write_resque(push, stamp);
    case Dialect::verk:
      return write_verk(push, stamp);
  }
  return {};
}

}  // namespace ordo::sources
