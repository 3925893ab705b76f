#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <ordo/decimal.hpp>
#include <ordo/job.hpp>
#include <ordo/throttler.hpp>
#include <ordo/time.hpp>

namespace ordo {

/// What a retry function is asked (docs/retry.md).
struct RetryQuestion {
  std::string queue{};
  std::string kind{};
  std::string id{};
  FailureKind error_kind = FailureKind::handler;
  std::string error{};
  std::int32_t attempt = 0;  ///< retry_count after this failure: 0 for the first
  Duration elapsed{};        ///< from the job's run_at before this run to now
  Time now{};
};

/// What it answers: a time to retry at, or nothing to give up (the payload dies now).
struct RetryAnswer {
  std::optional<Time> retry_at{};
  std::optional<std::int32_t> priority{};
  std::optional<Duration> timeout{};
};

/// When a failed job runs again.
struct RetryPolicy {
  enum class Strategy : std::uint8_t {
    standard,     ///< c^4 + 15 + rand(0..29) * (c + 1) seconds ("default" in a config)
    none,         ///< the first failure kills
    fixed,        ///< delay
    linear,       ///< delay * (c + 1)
    exponential,  ///< delay * factor^c
    list,         ///< delays[min(c, last)]
  };
  Strategy strategy = Strategy::standard;
  Duration delay = std::chrono::seconds{10};
  double factor = 2;               ///< >= 1
  Duration cap = Duration::max();  ///< no delay is longer
  double jitter = 0;               ///< 0..1: up to this part of the delay is added at random, within the cap
  std::vector<Duration> delays{};  ///< of strategy `list`

  /// Instead of a strategy. Must be thread-safe and quick. If it throws, the job dies with both errors.
  std::function<RetryAnswer(const RetryQuestion&)> function{};
};

/// May two keys of one shard run at the same time?
enum class Affinity : std::uint8_t {
  key,    ///< yes, on any thread of the pool
  shard,  ///< no: one batch of the shard at a time, always on the same thread
};

/// What a job that waits in between (back-off, snooze) does to its key.
enum class KeyOrder : std::uint8_t {
  strict,     ///< it holds its key from its first start until it ends or dies
  exclusive,  ///< runs of one key only never overlap
};

/// Which payloads of a job perform receives; the others are finished with it.
enum class PayloadChoice : std::uint8_t { all, last, first };

/// Which score and place a payload has that a job is given twice (docs/merging.md).
enum class EqualPayloads : std::uint8_t {
  oldest,  ///< the lowest of the scores: it comes where the first of them would
  newest,  ///< the highest of the scores: it comes where the last of them would
};

/// Which due job starts first.
enum class DueOrder : std::uint8_t {
  time,      ///< run_at cut to `granularity`, then priority, then run_at, then arrival
  priority,  ///< priority, then run_at, then arrival
};

/// What becomes of a job that has expired.
enum class OnExpire : std::uint8_t { dead, drop };

/// What becomes of a job that weighs more than a limit it is held to.
enum class Oversize : std::uint8_t {
  reject,  ///< it is refused at push where that is known there, and else waits until the limit is higher
  alone,   ///< it runs while nothing else does
};

/// How long a job that waits for a response keeps its slots of limits.
enum class SlotHold : std::uint8_t {
  response,  ///< until the response is handled
  dispatch,  ///< until the run that sent the request has returned; handling the response takes none
};

/// Likewise its lock.
enum class LockSpan : std::uint8_t {
  run,       ///< each run has it: one that handles a response gets it before jobs that have not started
  response,  ///< from the first run until the response is handled
};

/// What a rate counts.
enum class RateEach : std::uint8_t { queue, partition };

/// At most `limit` starts in any span of `per`, also over restarts (docs/limits.md).
struct RateLimit {
  std::uint32_t limit = 1;                 ///< 1..1,000,000
  Duration per = std::chrono::seconds{1};  ///< 1 ms to 31 days
  std::uint32_t burst = 0;  ///< starts at once at most, the others at even distances; 0: as many as `limit`
  RateEach each = RateEach::queue;

  bool operator==(const RateLimit&) const = default;
};

/// A limit that queues share: those that name it in `limits`.
struct NamedLimit {
  std::string name{};              ///< [a-z0-9_-]{1,64}
  std::optional<Decimal> limit{};  ///< sum of the weights of their running jobs, >= 1
  std::optional<RateLimit> rate{};

  bool operator==(const NamedLimit&) const = default;
};

/// How long a job keeps others of its unique key from being pushed.
enum class UniqueScope : std::uint8_t {
  queued,             ///< until it starts for the first time
  queued_or_running,  ///< until it is gone: through its retries, until it ends or dies
  period,             ///< for `period` from its push on, whatever becomes of it
};

/// What becomes of a push whose unique key a job has already.
enum class OnConflict : std::uint8_t {
  reject,    ///< it is refused with the id of that job (NotUnique)
  ignore,    ///< nothing is stored, and that job's id is answered
  replace,   ///< that job goes, and this one comes in its place; scope `queued`, as of the next two
  merge,     ///< its payload goes to that job
  debounce,  ///< as `replace`, but the start is put off by `period` in all at most
  throttle,  ///< as `ignore`, with scope `period`
};

/// Of the jobs of a kind with equal unique keys one is there at a time (docs/unique.md).
struct Unique {
  std::string by = "payload";  ///< "payload", "id", "key", or a JSON pointer into the payload
  UniqueScope scope = UniqueScope::queued;
  Duration period = std::chrono::hours{1};  ///< 1 ms to 7 days
  OnConflict on_conflict = OnConflict::reject;

  bool operator==(const Unique&) const = default;
};

/// What runs jobs of one kind outside this process. At most one of the two is set.
struct Execution {
  std::vector<std::string> command{};  ///< a program and its arguments (docs/command-workers.md)
  std::string library{};               ///< a shared library with an `ordo_load` entry point
};

/// The rules of one kind of jobs of a queue; unset: the queue's.
struct KindOptions {
  std::string kind{};
  Execution execution{};
  std::optional<std::uint32_t> batch_size{};
  std::optional<std::int32_t> max_retries{};
  std::optional<std::int32_t> max_crashes{};
  std::optional<Duration> timeout{};
  std::optional<PayloadChoice> payloads{};
  std::optional<EqualPayloads> equal_payloads{};
  std::optional<RetryPolicy> retry{};
  std::optional<std::vector<Window>> windows{};
  std::optional<bool> finish_by{};
  std::optional<Duration> min_remaining{};
  std::optional<Duration> expires{};
  std::optional<OnExpire> on_expire{};
  std::optional<Decimal> weight{};
  std::optional<std::string> lock{};
  std::optional<Unique> unique{};
  std::optional<Duration> keep{};
  std::optional<bool> keep_payloads{};
};

/// The rules of one queue. The names are those of the config file (docs/config.md).
struct QueueOptions {
  static constexpr std::uint32_t kDefaultShards = 5;

  std::string name{};  ///< [a-z0-9_-]{1,64}
  /// 1..65536; fixed in the store when the queue is first seen, and a node with another number is refused.
  /// Nothing: what the store has, and kDefaultShards for a new queue.
  std::optional<std::uint32_t> shards{};
  std::uint32_t batch_size = 1;   ///< jobs one run receives at most, >= 1
  std::int32_t max_retries = 25;  ///< 0: the first failure kills
  std::int32_t max_crashes = 3;   ///< >= 1
  Affinity affinity = Affinity::key;
  KeyOrder key_order = KeyOrder::strict;
  PayloadChoice payloads = PayloadChoice::all;
  /// Unset: newest where `payloads` is last, else oldest.
  std::optional<EqualPayloads> equal_payloads{};
  std::optional<std::uint32_t> threads{};  ///< a pool of its own, >= 1; unset: the default pool
  /// Queues that name the same placement group, and their shards, are owned by one node; empty: none. Their
  /// jobs still run on all nodes.
  std::string group{};
  std::uint32_t scheduler_weight = 1;  ///< 1..1000: its part of the starts under SchedulerKind::weighted
  Duration timeout = std::chrono::hours{24};
  RetryPolicy retry{};
  /// Bytes of a payload that a Client of this program takes, 1..8 MiB; pushes by SQL and XADD take 1 MiB.
  std::uint64_t max_payload = 1U << 20;
  std::uint64_t max_dead = 10'000;  ///< payloads in the dead set of the queue
  Duration dead_ttl = std::chrono::hours{24 * 180};
  DueOrder order = DueOrder::time;
  Duration granularity = std::chrono::seconds{60};
  std::vector<Window> windows{};  ///< jobs start in one of these; empty: always
  bool finish_by = false;         ///< a run ends by the end of its window, which cuts its timeout
  Duration min_remaining{};       ///< so much of a window must be left for a start; `finish_by` needs some
  std::optional<Duration> expires{};  ///< not started so long after its run_at, a job ends as expired
  OnExpire on_expire = OnExpire::dead;
  std::optional<Decimal> limit{};  ///< sum of the weights of running jobs on all nodes, >= 1
  Decimal weight = 1;              ///< of each job, > 0
  Oversize oversize = Oversize::reject;
  SlotHold hold = SlotHold::response;
  std::string partition{};  ///< JSON pointer into the first payload that has it; empty: all are one
  std::optional<Decimal> partition_limit{};       ///< as `limit`, of each value
  std::map<std::string, std::uint32_t> shares{};  ///< percent of `limit` by value; 100 in all at most
  bool borrow = false;                            ///< a value may exceed its share while no other could start
  std::optional<RateLimit> rate{};
  std::vector<std::string> limits{};  ///< names of Config::limits
  /// A job that a limit refuses is passed by others; after so long freed room is kept for it.
  Duration reserve_after = std::chrono::seconds{60};
  std::optional<Decimal> critical_limit{};  ///< as `limit`, of critical jobs, which no other limit counts
  /// Asked before each start. While a living node has one for this queue, nodes without any do not own its
  /// shards: if no node that has it can own them, the queue waits.
  Throttler throttler{};
  /// Jobs of equal lock never run at the same time: "payload", "id", "key", or a JSON pointer into the first
  /// payload that has it; empty: none.
  std::string lock{};
  std::string lock_name{};       ///< queues of equal names share their locks; empty: the queue's own
  std::uint32_t lock_slots = 1;  ///< so many of equal lock may run, >= 1; of several queues' the least
  LockSpan lock_span = LockSpan::run;
  /// Checked by who pushes, so every program that pushes is to state it. Ticks of schedules pass it.
  std::optional<Unique> unique{};
  /// So long a response is kept that nobody waits for yet; 0: it is refused.
  Duration response_ttl = std::chrono::hours{1};
  /// So long a record of each job that has ended is kept, and of each failed attempt; 0: none is written.
  Duration keep{};
  std::uint64_t keep_bytes = 256ULL << 20;  ///< of records of the queue, an even part each shard
  bool keep_payloads = false;               ///< records hold the payloads, too
  Execution execution{};                    ///< of the kind named like the queue
  std::vector<KindOptions> kinds{};         ///< further kinds
};

/// Which queue a free thread serves.
enum class SchedulerKind : std::uint8_t {
  lag,         ///< the shard with the oldest due job
  sequential,  ///< each shard in turn
  strict,      ///< queues in listed order
  weighted,    ///< queues in proportion to their scheduler_weight, in each the oldest due job
};

/// One shard with due jobs, as a scheduler sees it.
struct ShardLoad {
  std::string queue{};
  std::uint32_t shard = 0;
  Duration lag{};  ///< age of the oldest due job
};

/// Which node serves which shards.
enum class SplitterKind : std::uint8_t {
  automatic,  ///< balance over the nodes alive ("auto" in a config)
  by_node,    ///< node_number of node_count, fixed ("node")
};

enum class LogLevel : std::uint8_t { debug, info, warning, error, off };
enum class LogFormat : std::uint8_t { text, json };

/// The settings of one node.
struct NodeOptions {
  std::uint32_t threads = 5;  ///< of the default pool, >= 1
  Duration poll_interval = std::chrono::seconds{1};
  Duration shutdown_timeout = std::chrono::seconds{30};
  Duration lease = std::chrono::seconds{10};  ///< 1 s..365 days; the heartbeat is min(3 s, lease / 3)
  SchedulerKind scheduler = SchedulerKind::lag;
  SplitterKind splitter = SplitterKind::automatic;
  std::uint32_t node_number = 0;  ///< of splitter `by_node`: 0..node_count - 1
  std::uint32_t node_count = 1;
  std::uint64_t payload_cache = 256ULL << 20;  ///< bytes of waiting payloads kept in memory
  /// Where `ordo work` serves the HTTP API (docs/http.md): "127.0.0.1:8080", "localhost:…", "[::1]:…", "auto"
  /// for a free port, or another address of this machine, which needs tokens and TLS; empty: nowhere.
  std::string listen{};
  LogFormat log = LogFormat::text;
  LogLevel log_level = LogLevel::info;
  LogLevel start_job = LogLevel::debug;   ///< of the line that a job starts
  LogLevel done_job = LogLevel::debug;    ///< that it has ended well, or was cancelled
  LogLevel fail_job = LogLevel::warning;  ///< that it has failed and runs again

  /// Instead of `scheduler`: the index of the shard to serve next, or nothing to serve none. Not empty when
  /// called.
  std::function<std::optional<std::size_t>(const std::vector<ShardLoad>&)> choose_shard{};
  /// Instead of `splitter`: does this node serve the shard? Each shard must be served by exactly one node.
  std::function<bool(const std::string& queue, std::uint32_t shard)> serves_shard{};
};

/// What becomes of ticks that nobody could push within a minute.
enum class Missed : std::uint8_t {
  skip,  ///< nothing: they are counted
  once,  ///< the last one is pushed, if no later one is; the others are counted
  all,   ///< the newest 1,000 are pushed; older ones are counted
};

/// What becomes of ticks while the job of an earlier tick is queued, runs or waits for a response.
enum class Overlap : std::uint8_t {
  skip,   ///< they are counted and not pushed; a job that waits for its retry is retried at once
  queue,  ///< they are pushed, and their jobs wait in line
};

/// A job that is pushed at given times, once a tick in the whole cluster (docs/periodic.md).
struct PeriodicOptions {
  std::string name{};               ///< [a-z0-9_-]{1,64}
  std::string queue{};              ///< that gets the jobs
  std::string cron{};               ///< "0 5 * * mon-fri"; or:
  std::optional<Duration> every{};  ///< whole seconds, counted from 1970 on
  std::string tz = "UTC";           ///< of `cron`: a zone of the IANA database
  std::string payload{};            ///< at most 16 KiB
  std::string kind{};               ///< empty: the queue's name
  std::string key{};                ///< what order is kept by; empty: the schedule's name
  std::optional<std::int32_t> priority{};
  Missed missed = Missed::once;
  Overlap overlap = Overlap::skip;  ///< not of ticks that Missed::all pushes late

  bool operator==(const PeriodicOptions&) const = default;
};

namespace sidekiq {
enum class Dialect : std::uint8_t;  // <ordo/sidekiq.hpp>
}

/// What becomes of the jobs of a class that a source brings (docs/sidekiq.md).
struct SourceMap {
  std::string class_name{};  ///< `class` in a config; the class that an ActiveJob wraps counts, too
  std::string queue{};       ///< that gets them; empty: the source's
  std::string kind{};        ///< empty: the queue's name
  /// JSON pointers into the arguments; empty: none. The id is then the jid, the key the id. Jobs without
  /// anything at `id`, `key` or `score` go to the dead.
  std::string id{}, key{}, score{}, lock{}, unique{};

  bool operator==(const SourceMap&) const = default;
};

/// Who retries the failed jobs of a source.
enum class SourceRetries : std::uint8_t {
  ordo,     ///< their queue, by its rules
  sidekiq,  ///< they go into Sidekiq's set `retry`, and come again when they are due
};

/// Lists of jobs in a Redis that clients of Sidekiq, Resque or Verk push to.
struct SourceOptions {
  std::string name{};                 ///< [a-z0-9_-]{1,64}
  std::string url{};                  ///< of the Redis server, as in docs/redis.md
  sidekiq::Dialect dialect{};         ///< whose lists; jobs of every dialect are read
  std::vector<std::string> queues{};  ///< the lists, without `queue:`; nobody else may take from them
  std::string queue{};                ///< gets the jobs of classes that no map names, and malformed ones
  std::vector<SourceMap> map{};       ///< of several for a class the first counts
  bool heartbeat = false;    ///< Sidekiq's pages show the node and its runs; their `quiet` stops the taking
  bool stats = false;        ///< what its jobs do is counted in stat:processed and stat:failed
  bool allow_stop = false;   ///< the `stop` of those pages stops the node
  bool mirror_dead = false;  ///< dead jobs of its queues are in Sidekiq's set `dead`, too
  SourceRetries retries = SourceRetries::ordo;  ///< `sidekiq` needs key_order = exclusive, no unique
  /// While so many jobs of its queues are due or run it takes nothing; at least 1.
  std::uint64_t ahead = 10'000;

  bool operator==(const SourceOptions&) const = default;
};

/// What a token of the HTTP API may do (docs/http.md).
enum class Role : std::uint8_t {
  viewer,     ///< looks
  operator_,  ///< looks, pushes, responds, and changes jobs and queues
  admin,      ///< everything: also removes queues, sets limits, asks nodes to stop
  producer,   ///< pushes, and nothing else
  worker,     ///< takes jobs, and nothing else
  responder,  ///< answers jobs that wait, and nothing else
};

/// Who may use the HTTP API. The secret itself is stored nowhere.
struct AccessToken {
  std::string name{};  ///< [a-z0-9_-]{1,64}
  Role role = Role::viewer;
  std::vector<std::string> queues{};  ///< the only ones it sees; empty: all
  std::string sha256{};               ///< of the secret: 64 hexadecimal digits in lower case

  bool operator==(const AccessToken&) const = default;
};

/// What the program `ordo` shows people.
struct CliOptions {
  std::string
      tz{};  ///< IANA zone of the times it shows, and takes without a zone; empty: $TZ, else the system's
};

/// The HTTP side of `ordo work` and `ordo web`. A Server of a program's own has none.
struct WebOptions {
  std::vector<AccessToken> tokens{};  ///< none: whoever reaches the address may do everything
  std::string tls_cert{};             ///< file of the certificate and those that vouch for it, as PEM
  std::string tls_key{};              ///< file of its key
  bool behind_proxy = false;          ///< a proxy of yours does TLS
  bool read_only = false;
  std::vector<std::string> redact{};  ///< JSON pointers into payloads: what they show is left out
  bool hide_payloads = false;         ///< nothing of payloads is shown
  std::string public_url{};           ///< how browsers and others reach it: "https://jobs.example.com"

  bool has_tls() const { return !tls_cert.empty(); }
  bool operator==(const WebOptions&) const = default;
};

/// Everything a program of Ordo can be told (docs/config.md).
struct Config {
  std::string store = "sqlite:ordo.db";
  NodeOptions node{};
  WebOptions web{};
  CliOptions cli{};
  std::vector<QueueOptions> queues{};       ///< in the order of the file
  std::vector<NamedLimit> limits{};         ///< those that queues name
  std::vector<PeriodicOptions> periodic{};  ///< stated by a node as long as it lives
  std::vector<SourceOptions> sources{};     ///< that a node takes jobs from as long as it lives

  const QueueOptions* find(std::string_view queue) const {
    for (const auto& options : queues) {
      if (options.name == queue) return &options;
    }
    return nullptr;
  }
};

/// Throws Error{invalid_argument} with the first field that has no sense, and its bounds: those of
/// docs/config.md. Client, Admin and Server call it first of all.
void validate(const Config& config);

/// What is in force for one kind of jobs: the queue's rules with the kind's own on top.
QueueOptions options_of(const QueueOptions& queue, std::string_view kind);

}  // namespace ordo
