#include "faces/shapes.h"

#include <fmt/format.h>

#include "base/json.h"
#include "base/push_option.h"
#include "base/time_text.h"
#include "faces/object_text.h"

namespace ordo {
namespace {

ObjectText counts_text(const QueueStats& stats) {
  ObjectText object;
  object.number("length", stats.length).number("due", stats.due).number("scheduled", stats.scheduled);
  object.number("retrying", stats.retrying)
      .number("running", stats.running)
      .number("awaiting", stats.awaiting);
  object.number("dead", stats.dead).number("blocked_by_lock", stats.blocked_by_lock);
  ObjectText oldest_due;
  for (const auto& [priority, age] : stats.oldest_due) oldest_due.real(fmt::to_string(priority), age);
  object.number("blocked_by_window", stats.blocked_by_window).number("blocked_by_key", stats.blocked_by_key);
  object.number("blocked_by_limit", stats.blocked_by_limit).number("blocked_by_rate", stats.blocked_by_rate);
  object.number("blocked_by_throttler", stats.blocked_by_throttler)
      .number("blocked_by_suspect", stats.blocked_by_suspect);
  object.number("without_code", stats.without_code).number("ready", stats.ready);
  object.raw("oldest_due", oldest_due.end());
  object.real("lag", stats.lag);
  object.number("processed", stats.processed).number("failed", stats.failed);
  object.number("unreadable", stats.unreadable).number("waits_for_newer", stats.waits_for_newer);
  object.number("kept", stats.kept)
      .text_or_null("kept_since", stats.kept_since ? format_time(*stats.kept_since) : "");
  object.number("kept_trimmed", stats.kept_trimmed);
  object.number("dead_trimmed", stats.dead_trimmed);
  object.number("dead_letters", stats.dead_letters);
  return object;
}

}  // namespace

std::string_view state_word(JobStatus status) {
  switch (status) {
    case JobStatus::due:
    case JobStatus::scheduled:
    case JobStatus::retrying:
      return "queued";
    case JobStatus::running:
    case JobStatus::awaiting:
    case JobStatus::dead:
    case JobStatus::done:
    case JobStatus::discarded:
    case JobStatus::cancelled:
    case JobStatus::expired:
    case JobStatus::failed:
      return to_string(status);
  }
  return "unknown";
}

namespace {

void append_waits_for(std::string& out, const WaitsFor& reason) {
  ObjectText object;
  object.text("what", to_string(reason.what)).name("name", reason.name);
  object.raw("held_by", array_of(reason.held_by, append_name));
  if (reason.until) {
    object.time("until", *reason.until);
  } else {
    object.raw("until", "null");
  }
  if (!reason.stuck.empty()) object.raw("stuck", array_of(reason.stuck, append_name));
  if (!reason.why.empty()) object.raw("why", array_of(reason.why, append_json_string));
  out += object.end();
}

ObjectText job_text(const JobView& job) {
  ObjectText object;
  object.text("queue", job.queue).name("kind", job.kind).name("key", job.key).name("id", job.id);
  object.text("state", state_word(job.state));
  object.raw("payloads", array_of(job.payloads, [](std::string& out, const Payload& payload) {
               append_payload(out, payload.bytes);
             }));
  object.raw("scores", array_of(job.payloads, [](std::string& out, const Payload& payload) {
               append_json_number(out, payload.score);
             }));
  object.time("run_at", job.run_at);
  if (state_word(job.state) == "queued") {
    if (job.starts_at) {
      object.time("starts_at", *job.starts_at);
    } else {
      object.raw("starts_at", "null");
    }
  }
  object.raw("waits_for", array_of(job.waits_for, append_waits_for));
  object.number("retry_count", job.retry_count).number("crashes", job.crashes);
  return object.text_or_null("error", job.error);
}

}  // namespace

std::string job_json(const JobView& job) { return job_text(job).end(); }

namespace {

void append_attempt(std::string& out, const AttemptView& attempt) {
  ObjectText object;
  out += object.text_or_null("started", attempt.started ? format_time(*attempt.started) : "")
             .time("ended", attempt.ended)
             .text("node", attempt.node)
             .text("error_kind", to_string(attempt.error_kind))
             .text("error", attempt.error)
             .end();
}

ObjectText record_text(const RecordView& record) {
  ObjectText object;
  object.text("queue", record.queue).name("kind", record.kind).name("key", record.key).name("id", record.id);
  object.text("state", to_string(record.state));
  object.text_or_null("pushed", record.pushed ? format_time(*record.pushed) : "");
  object.text_or_null("started", record.started ? format_time(*record.started) : "");
  object.time("ended", record.ended).text("node", record.node).number("retry_count", record.retry_count);
  object.text_or_null("error", record.error);
  const bool has_failed = record.state == JobStatus::dead || record.state == JobStatus::failed ||
                          record.state == JobStatus::expired;
  if (has_failed) object.text("error_kind", to_string(record.error_kind));
  if (!record.payloads.empty()) {
    object.raw("payloads", array_of(record.payloads, [](std::string& out, const Payload& payload) {
                 append_payload(out, payload.bytes);
               }));
    object.raw("scores", array_of(record.payloads, [](std::string& out, const Payload& payload) {
                 append_json_number(out, payload.score);
               }));
  }
  if (record.is_cut) object.flag("cut", true);
  return object;
}

}  // namespace

std::string record_json(const RecordView& record) { return record_text(record).end(); }

std::string trace_json(const JobTrace& trace) {
  return record_text(trace.record).raw("attempts", array_of(trace.attempts, append_attempt)).end();
}

std::string whole_job_json(const JobView& job, const Config& config,
                           const std::vector<AttemptView>& attempts) {
  constexpr std::int32_t kDefaultPriority = 100;
  const auto* queue = config.find(job.queue);
  const auto rules = options_of(queue != nullptr ? *queue : QueueOptions{.name = job.queue}, job.kind);
  const bool goes_on = job.state == JobStatus::running || job.state == JobStatus::awaiting;
  auto object = job_text(job);
  const bool has_failed = job.state == JobStatus::dead || !job.error.empty();
  object.text_or_null("error_kind", has_failed ? to_string(job.error_kind) : "");
  object.number("priority", job.priority.value_or(kDefaultPriority));
  object.text("timeout", format_duration(job.timeout.value_or(rules.timeout)));
  object.number("max_retries", job.max_retries.value_or(rules.max_retries));
  object.number("attempt", std::int64_t{job.retry_count} + (goes_on ? 2 : 1));
  if (job.state == JobStatus::running) {
    object.text_or_null("node", job.node);
    object.text_or_null("started", job.started ? format_time(*job.started) : "");
  }
  if (job.expires) object.time("expires", *job.expires);
  if (!job.windows.empty()) object.raw("windows", windows_json(job.windows));
  if (job.weight) object.raw("weight", job.weight->text());
  if (job.partition) object.raw("partition", name_json(*job.partition));
  if (job.critical) object.raw("critical", *job.critical ? "true" : "false");
  if (job.lock) object.raw("lock", name_json(*job.lock));
  if (!attempts.empty()) object.raw("attempts", array_of(attempts, append_attempt));
  return object.end();
}

std::string reshard_json(std::string_view queue, const ReshardResult& result) {
  return ObjectText()
      .text("queue", queue)
      .number("from", result.from)
      .number("to", result.to)
      .number("entries", result.entries)
      .number("states", result.states)
      .number("dead", result.dead)
      .end();
}

namespace {

std::string holders_json(const std::vector<GateHolder>& holders) {
  return array_of(holders, [](std::string& out, const GateHolder& holder) {
    out += ObjectText().text("queue", holder.queue).name("id", holder.id).end();
  });
}

}  // namespace

std::string limit_json(const LimitView& limit) {
  ObjectText object;
  object.text("name", limit.name).raw("partition", name_json(limit.partition));
  if (limit.is_penalty) {
    object.flag("closed", true);
  } else if (limit.rate) {
    ObjectText rate;
    rate.number("limit", limit.rate->limit).text("per", format_duration(limit.rate->per));
    rate.number("burst", limit.rate->burst == 0 ? limit.rate->limit : limit.rate->burst);
    object.raw("rate", rate.end());
  } else {
    object.raw("used", limit.used.text()).raw("limit", limit.limit.text());
  }
  object.number("waiting", limit.waiting)
      .raw("held_by", holders_json(limit.held_by))
      .flag("set", limit.is_set)
      .text("version", limit.version);
  if (limit.free_at) {
    object.time("next_free", *limit.free_at);
  } else {
    object.raw("next_free", "null");
  }
  return object.end();
}

std::string audit_json(const AuditEntry& entry) {
  ObjectText object;
  object.time("at", entry.at).text("who", entry.who).text("action", entry.action);
  object.raw("queue", entry.queue.empty() ? "null" : json_string(entry.queue)).raw("filter", entry.filter);
  object.raw("count", entry.count ? std::to_string(*entry.count) : "null").text("result", entry.result);
  return object.end();
}

std::string lock_json(const LockView& lock) {
  ObjectText object;
  object.text("name", lock.name).raw("key", name_json(lock.key));
  object.raw("holders", holders_json(lock.held_by));
  return object.number("waiting", lock.waiting).end();
}

namespace {

std::string job_or_null(const std::string& kind, const std::string& key, const std::string& id) {
  return id.empty() ? "null" : ObjectText().name("kind", kind).name("key", key).name("id", id).end();
}

}  // namespace

std::string wait_json(const WaitView& wait) {
  ObjectText object;
  object.name("key", wait.key).raw("job", job_or_null(wait.job_kind, wait.job_key, wait.job_id));
  return object.time("since", wait.since).time("deadline", wait.deadline).end();
}

std::string dead_letter_json(const DeadLetter& letter) {
  ObjectText object;
  object.name("key", letter.key).text("why", to_string(letter.why));
  object.raw("job", job_or_null(letter.job_kind, letter.job_key, letter.job_id));
  object.raw("message_id", letter.message_id.empty() ? "null" : name_json(letter.message_id));
  std::string body;
  append_payload(body, letter.body);
  return object.raw("body", body).time("at", letter.at).end();
}

std::string queue_json(const QueueView& queue) {
  return ObjectText()
      .text("name", queue.name)
      .number("shards", queue.shards)
      .text("state", to_string(queue.state))
      .end();
}

std::string_view missed_word(Missed missed) {
  switch (missed) {
    case Missed::skip:
      return "skip";
    case Missed::once:
      return "once";
    case Missed::all:
      return "all";
  }
  return "unknown";
}

std::string periodic_json(const PeriodicView& view) {
  const auto& options = view.options;
  ObjectText object;
  object.text("name", options.name).text("queue", options.queue);
  object.name("kind", options.kind.empty() ? options.queue : options.kind);
  object.name("key", options.key.empty() ? options.name : options.key);
  object.text_or_null("cron", options.cron);
  object.text_or_null("every", options.every ? format_duration(*options.every) : "");
  object.text_or_null("tz", options.every ? "" : options.tz);
  object.raw("payload", payload_to_json(options.payload));
  object.raw("priority", options.priority ? fmt::to_string(*options.priority) : "null");
  object.text("missed", missed_word(options.missed));
  object.text("overlap", options.overlap == Overlap::skip ? "skip" : "queue");
  object.flag("stated", view.stated).flag("paused", view.paused);
  object.number("pushed", view.pushed).number("missed_ticks", view.missed);
  object.number("skipped_ticks", view.skipped).text_or_null("held_by", view.held_by);
  object.text_or_null("failing", view.failing).number("failures", view.failures);
  object.text_or_null("last", view.last ? format_time(*view.last) : "");
  const auto append = [](std::string& out, Time at) { append_json_string(out, format_time(at)); };
  return object.raw("next", array_of(view.next, append)).end();
}

std::string source_json(const SourceView& view) {
  ObjectText object;
  object.text("name", view.options.name).text("type", "sidekiq").text("origin", view.origin);
  object.raw("queues", array_of(view.options.queues, append_json_string));
  object.number("taken", view.taken);
  ObjectText refused;
  for (const auto& [why, count] : view.refused) refused.number(why, count);
  object.raw("refused", refused.end()).number("waiting", view.waiting);
  object.raw("lag", view.lag ? json_number(seconds_of(*view.lag)) : "null");
  object.flag("active", view.is_taken && view.trouble.empty()).flag("full", view.is_full);
  object.number("hand_overs", view.hand_overs);
  object.text_or_null("last", view.last ? format_time(*view.last) : "");
  object.raw("others", array_of(view.others, append_json_string));
  return object.text_or_null("trouble", view.trouble).end();
}

std::string node_json(const NodeView& node) {
  ObjectText object;
  object.text("id", node.id).text("host", node.host).number("pid", node.pid).number("threads", node.threads);
  object.raw("queues", array_of(node.queues, append_json_string));
  object.raw("sources", array_of(node.sources, append_json_string));
  object.time("started", node.started)
      .number("shards", node.shards)
      .flag("alive", node.alive)
      .flag("quiet", node.quiet);
  object.text_or_null("version", node.version);
  if (node.clock) {
    object.real("clock", std::chrono::duration<double>(*node.clock).count());
  } else {
    object.raw("clock", "null");
  }
  object.real("heartbeat_age", std::chrono::duration<double>(node.heartbeat_age).count())
      .flag("lost", node.lost);
  return object
      .raw("groups",
           array_of(node.groups, [](std::string& out,
                                    const auto& queues) { out += array_of(queues, append_json_string); }))
      .end();
}

namespace {

std::string failing_json(const FailingNode& node) {
  ObjectText object;
  object.text("id", node.id).text_or_null("commit_error", node.commit_error);
  if (node.commit_error.empty()) {
    object.raw("commit_error_since", "null");
  } else {
    object.time("commit_error_since", node.commit_error_since);
  }
  const auto kinds = array_of(node.cannot_start, [](std::string& out, const auto& each) {
    out += ObjectText().text("queue", each.queue).name("kind", each.kind).text("why", each.why).end();
  });
  const auto stuck = array_of(node.stuck_runs, [](std::string& out, const StuckRun& run) {
    out += ObjectText()
               .text("queue", run.queue)
               .name("kind", run.kind)
               .name("key", run.key)
               .name("id", run.id)
               .time("since", run.since)
               .end();
  });
  return object.raw("cannot_start", kinds).raw("stuck_runs", stuck).end();
}

}  // namespace

std::string shard_json(const ShardStats& shard) {
  const auto& counts = shard.counts;
  ObjectText object;
  object.text("queue", shard.queue).number("shard", shard.shard).text_or_null("owner", shard.owner);
  object.number("length", counts.length).number("due", counts.due).number("scheduled", counts.scheduled);
  object.number("retrying", counts.retrying).number("running", counts.running);
  object.number("awaiting", counts.awaiting).number("dead", counts.dead).real("lag", counts.lag);
  return object.number("processed", counts.processed).number("failed", counts.failed).end();
}

std::string queue_counts_json(const QueueStats& counts) {
  return counts_text(counts).flag("paused", counts.paused).end();
}

std::string total_counts_json(const QueueStats& counts) { return counts_text(counts).end(); }

std::string failing_nodes_json(const std::vector<FailingNode>& nodes) {
  return array_of(nodes, [](std::string& out, const FailingNode& node) { out += failing_json(node); });
}

std::string stats_json(const Stats& stats) {
  ObjectText queues;
  for (const auto& [name, counts] : stats.by_queue) {
    queues.raw(name, queue_counts_json(counts));
  }
  ObjectText all;
  all.raw("total", total_counts_json(stats.total)).raw("by_queue", queues.end());
  if (!stats.failing_nodes.empty()) all.raw("failing_nodes", failing_nodes_json(stats.failing_nodes));
  if (!stats.sources.empty()) {
    ObjectText sources;
    for (const auto& each : stats.sources) {
      ObjectText counts;
      counts.number("taken", each.taken).number("refused", each.refused);
      sources.raw(each.name, counts.text_or_null("last", each.last ? format_time(*each.last) : "").end());
    }
    all.raw("sources", sources.end());
  }
  return all.end() + "\n";
}

}  // namespace ordo
