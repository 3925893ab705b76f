// Each option of a config, once: its key, where it is kept, which values it takes, and what it is for. Who
// reads a config, compares two, checks one that a program made, or writes the tables of docs goes through
// these rows.
#pragma once

#include <cstdint>
#include <limits>

#include <ordo/options.hpp>

#include "domain/option_bounds.h"
#include "domain/option_values.h"

namespace ordo::domain {

/// Calls `visit(option, of_queue, of_kind, values)` for each option that a kind may have other than its
/// queue, but for what runs it.
template <class Visit>
void each_shared_option(Visit visit) {
  using std::chrono::milliseconds;
  using Q = QueueOptions;
  using K = KindOptions;
  visit(Option{"batch_size", "How many due jobs one run receives at most"}, &Q::batch_size, &K::batch_size,
        Whole{1, kMostBatch});
  visit(Option{"max_retries", "Retries of a job before a payload of it dies; 0: the first failure kills"},
        &Q::max_retries, &K::max_retries, Whole{0, kMostRetries});
  visit(Option{"max_crashes",
               "Crashes of its process, while it ran alone, that kill a payload whatever `max_retries` says"},
        &Q::max_crashes, &K::max_crashes, Whole{1, kMostRetries});
  visit(Option{"retry", "When a failed job runs again, see below"}, &Q::retry, &K::retry, Own{"table"});
  visit(Option{"timeout", "Of one attempt, from its start"}, &Q::timeout, &K::timeout,
        Lasts{milliseconds{1}});
  visit(Option{"payloads", "Which payloads of a merged job a run receives; the others are finished with it"},
        &Q::payloads, &K::payloads, Word{});
  visit(
      Option{
          "equal_payloads",
          "Which place a payload has that was pushed twice ([merging.md](merging.md#merging)): that of its "
          "`oldest` push, or of its `newest`",
          "`\"newest\"` with `payloads = \"last\"`, else `\"oldest\"`"},
      &Q::equal_payloads, &K::equal_payloads, Word{});
  visit(Option{"windows", "When jobs may start ([windows.md](windows.md))", "always"}, &Q::windows,
        &K::windows, Own{"list of at most 32 tables"});
  visit(Option{"min_remaining", "So much of a window must be left for a start"}, &Q::min_remaining,
        &K::min_remaining, Lasts{Duration{}});
  visit(Option{"finish_by", "A run ends by the end of its window, which cuts its `timeout`"}, &Q::finish_by,
        &K::finish_by, Flag{});
  visit(Option{"expires",
               "Not started so long after its `run_at`, a job ends as expired ([windows.md](windows.md))",
               "never"},
        &Q::expires, &K::expires, Lasts{milliseconds{1}});
  visit(
      Option{"on_expire", "Payloads of an expired job go to the dead set (`dead`), or are dropped (`drop`)"},
      &Q::on_expire, &K::on_expire, Word{});
  visit(Option{"weight", "What each job takes of limits"}, &Q::weight, &K::weight, Number{});
  visit(Option{"lock", "Jobs of equal lock never run at the same time ([locks.md](locks.md))", "none"},
        &Q::lock, &K::lock, Own{"`\"payload\"`, `\"id\"`, `\"key\"`, or a JSON pointer"});
  visit(Option{"unique", "Of jobs with equal keys one is there at a time ([unique.md](unique.md))", "none"},
        &Q::unique, &K::unique, Own{"table"});
  visit(Option{"keep",
               "So long a record of each job that has ended is kept, and of each failed attempt "
               "([traces.md](traces.md)); `\"0s\"`: none"},
        &Q::keep, &K::keep, Lasts{Duration{}});
  visit(Option{"keep_payloads", "Records hold the payloads, too"}, &Q::keep_payloads, &K::keep_payloads,
        Flag{});
}

template <class Options, class Visit>
void each_option_of_code(Visit& visit) {
  visit(Option{"command", "The program that runs the jobs, and its arguments: one JSON line in, one out"},
        &Options::execution, Command{});
  visit(Option{"library", "A shared library that runs the jobs"}, &Options::execution, Library{});
}

template <class Visit>
void each_option_of(KindOptions* /*which*/, Visit& visit) {
  each_option_of_code<KindOptions>(visit);
  each_shared_option([&](const Option& option, auto /*of_queue*/, auto of_kind, const auto& values) {
    visit(option, of_kind, values);
  });
}

template <class Visit>
void each_option_of(QueueOptions* /*which*/, Visit& visit) {
  using std::chrono::microseconds;
  using std::chrono::seconds;
  using Q = QueueOptions;
  each_option_of_code<Q>(visit);
  each_shared_option([&](const Option& option, auto of_queue, auto /*of_kind*/, const auto& values) {
    visit(option, of_queue, values);
  });
  visit(
      Option{"shards",
             "Parts of the queue that can be on different nodes. Fixed when the store first sees the queue; "
             "[`ordo reshard`](reshard.md) changes it there, then change it here",
             "what the store has; `5` for a new queue"},
      &Q::shards, Whole{1, kMostShards});
  visit(Option{"threads", "A pool of its own: the queue neither starves others nor is starved",
               "none: the node's pool"},
        &Q::threads, Whole{1, kMostThreads});
  visit(
      Option{
          "key_order",
          "`strict`: a job holds its key from its first start to its end, also while it waits for a retry. "
          "`exclusive`: only no two runs at a time"},
      &Q::key_order, Word{});
  visit(Option{"affinity",
               "`key`: different keys of a shard run in parallel. `shard`: one batch of a shard at a time, "
               "always on "
               "the same thread"},
        &Q::affinity, Word{});
  visit(
      Option{
          "order",
          "Which due job starts first: by `time`, so that no job waits for ever and a priority only counts "
          "within "
          "`granularity`; or by `priority`, so that an urgent job passes all others, however long they have "
          "waited"},
      &Q::order, Word{});
  visit(Option{"granularity",
               "With `order = \"time\"`, jobs due in the same span of this length start by priority"},
        &Q::granularity, Lasts{microseconds{1}});
  visit(Option{"group",
               "Queues of the same placement group, and all their shards, are owned by one node; their jobs "
               "run on all "
               "([nodes.md](nodes.md))",
               "none"},
        &Q::group, Own{"a name like a queue's"});
  visit(Option{"scheduler_weight",
               "Its part of the starts under `scheduler = \"weighted\"`: 3 beside 1 starts three times as "
               "often while "
               "both have work"},
        &Q::scheduler_weight, Whole{1, kMostWeight});
  visit(Option{"limit", "The sum of the weights of its running jobs, on all nodes ([limits.md](limits.md))",
               "none"},
        &Q::limit, Number{Decimal(1)});
  visit(Option{"oversize",
               "A job that weighs more than a limit is refused (`reject`), or runs while nothing else does "
               "(`alone`)"},
        &Q::oversize, Word{});
  visit(Option{"hold", "Until when a job that waits for a response keeps its room ([limits.md](limits.md))"},
        &Q::hold, Word{});
  visit(Option{"partition", "Jobs with the same value there are one partition ([limits.md](limits.md))",
               "none"},
        &Q::partition, Own{"JSON pointer"});
  visit(Option{"partition_limit", "As `limit`, of each partition", "none"}, &Q::partition_limit,
        Number{Decimal(1)});
  visit(Option{"shares", "Percent of `limit` for some values of the partition", "none"}, &Q::shares,
        Own{"1 … 100 each"});
  visit(Option{"borrow", "A value may exceed its share while no other below its own has a due job"},
        &Q::borrow, Flag{});
  visit(Option{"rate", "How many jobs start in a time ([limits.md](limits.md))", "none"}, &Q::rate,
        Own{"table"});
  visit(Option{"limits", "Limits that it shares with other queues", "none"}, &Q::limits,
        Texts{R"(["crm"])", "names of `[limit.NAME]`"});
  visit(
      Option{"reserve_after", "A job that was passed over so long gets the room that is freed from then on"},
      &Q::reserve_after, Lasts{Duration{}});
  visit(Option{"critical_limit", "As `limit`, of critical jobs", "none"}, &Q::critical_limit,
        Number{Decimal(1)});
  visit(Option{"lock_name", "Queues of equal names share their locks", "the queue's"}, &Q::lock_name,
        Own{"a name like a queue's"});
  visit(Option{"lock_slots", "So many jobs of one lock run at a time"}, &Q::lock_slots, Whole{1, kMostSlots});
  visit(Option{"lock_span", "A job has its lock during its `run`, or until its `response` is handled"},
        &Q::lock_span, Word{});
  visit(Option{"response_ttl",
               "So long a response is kept that nobody waits for yet ([responses.md](responses.md))"},
        &Q::response_ttl, Lasts{Duration{}});
  visit(
      Option{"max_payload",
             "Bytes of a payload that pushes with this config take; by SQL and XADD 1 MiB, whatever it says"},
      &Q::max_payload, Whole{1, kLongestPayloadOfAll});
  visit(Option{"max_dead",
               "How many dead payloads a queue keeps, whichever shards they are in; the oldest of the queue "
               "go first"},
        &Q::max_dead, Whole{1, kMostDead});
  visit(Option{"dead_ttl", "How long dead payloads are kept"}, &Q::dead_ttl, Lasts{seconds{1}});
  visit(Option{"keep_bytes",
               "Room for the records of the queue, an even part for each shard: the oldest go first"},
        &Q::keep_bytes, Bytes{kLeastKeptBytes, kMostKeptBytes});
}

template <class Visit>
void each_option_of(NodeOptions* /*which*/, Visit& visit) {
  using std::chrono::milliseconds;
  using std::chrono::seconds;
  using N = NodeOptions;
  visit(Option{"threads", "Threads of the pool that serves all queues without `threads` of their own"},
        &N::threads, Whole{1, kMostThreads});
  visit(Option{"poll_interval",
               "How often a store without notification is asked for new jobs; once an hour at least"},
        &N::poll_interval, Lasts{milliseconds{1}});
  visit(Option{"shutdown_timeout", "How long running jobs may go on after TERM or INT; the rest is put back"},
        &N::shutdown_timeout, Lasts{Duration{}});
  visit(Option{"lease", "How long a dead node keeps its shards. The heartbeat is a third of it, at most 3 s"},
        &N::lease, Lasts{seconds{1}, kMostLease});
  visit(Option{"scheduler",
               "What a free thread serves: `lag`, the shard with the oldest due job; `sequential`, each "
               "shard in turn; "
               "`strict`, queues in the order of the file; `weighted`, queues in proportion to their "
               "`scheduler_weight`"},
        &N::scheduler, Word{});
  visit(Option{"splitter",
               "Which node serves which shards: `auto`, balanced over the nodes alive; `node`, number "
               "`node_number` of "
               "`node_count`; `static`, this node serves them all"},
        &N::splitter, Word{});
  visit(Option{"node_number", "Of `splitter = \"node\"`; less than `node_count`"}, &N::node_number,
        Whole{0, kMostNodes - 1});
  visit(Option{"node_count", "Of `splitter = \"node\"`"}, &N::node_count, Whole{1, kMostNodes});
  visit(
      Option{"payload_cache", "How much memory payloads of waiting jobs may take; the others are read again"},
      &N::payload_cache, Bytes{});
  visit(Option{"listen", "Where the node serves the [HTTP API](http.md)", "nowhere"}, &N::listen,
        Own{"`\"127.0.0.1:8080\"`, `\"localhost:…\"`, `\"[::1]:…\"`, `\"auto\"` for a free port; another IP "
            "address of "
            "the machine needs tokens and TLS ([`[web]`](#web))"});
  visit(Option{"log", "Lines of `text`, or one `json` object a line"}, &N::log, Word{});
  visit(Option{"log_level", "The least that is logged"}, &N::log_level, Word{});
  visit(Option{"start_job", "At which of these a job's start is logged"}, &N::start_job, Word{});
  visit(Option{"done_job", "The same of its good end, or its cancel"}, &N::done_job, Word{});
  visit(Option{"fail_job", "The same of a failure that is retried"}, &N::fail_job, Word{});
}

template <class Visit>
void each_option_of(RetryPolicy* /*which*/, Visit& visit) {
  using R = RetryPolicy;
  visit(Option{"strategy", "Must be given in a file"}, &R::strategy, Word{});
  visit(Option{"delay", "Before the first retry, or each"}, &R::delay, Lasts{Duration{}});
  visit(Option{"factor", "Each delay is so many times the one before"}, &R::factor, Real{1, kMostFactor});
  visit(Option{"delays", "Of `list`", "must be given"}, &R::delays, Own{"list of durations, not empty"});
  visit(Option{"cap", "No delay is longer", "none"}, &R::cap, Lasts{Duration{}});
  visit(Option{"jitter", "Up to this part of the delay is added at random, within the cap"}, &R::jitter,
        Real{0, 1});
}

template <class Visit>
void each_option_of(RateLimit* /*which*/, Visit& visit) {
  using R = RateLimit;
  visit(Option{"limit", "Starts in any span of `per`"}, &R::limit, Whole{1, kMostRate});
  visit(Option{"per", ""}, &R::per, Lasts{std::chrono::milliseconds{1}, kLongestRate});
  visit(Option{"burst", "Starts at once; the others are at even distances; 0: as many as `limit`"}, &R::burst,
        Whole{0, kMostRate});
  visit(Option{"each", "What it counts: the starts of the queue, or of each partition"}, &R::each, Word{});
}

template <class Visit>
void each_option_of(Unique* /*which*/, Visit& visit) {
  using U = Unique;
  visit(
      Option{
          "by",
          "What the key is: `\"payload\"`, `\"id\"`, `\"key\"`, or a JSON pointer into the payload; one that "
          "has nothing there is not unique",
          "`\"payload\"`"},
      &U::by, Own{"`\"payload\"`, `\"id\"`, `\"key\"`, or a JSON pointer"});
  visit(Option{"scope", "How long a job has its key, see below"}, &U::scope, Word{});
  visit(Option{"period", "Of `scope = \"period\"` and of `debounce`"}, &U::period,
        Lasts{std::chrono::milliseconds{1}, kLongestUnique});
  visit(Option{"on_conflict", "What becomes of a push whose key another job has, see below"}, &U::on_conflict,
        Word{});
}

template <class Visit>
void each_option_of(Window* /*which*/, Visit& visit) {
  using W = Window;
  visit(Option{"start", "When it opens", "must be given"}, &W::start, Own{"`HH:MM` or `HH:MM:SS`"});
  visit(Option{"end", "Not in the window any more. An end before the start is on the next day",
               "must be given"},
        &W::end, Own{"the same, or `24:00`"});
  visit(Option{"days", "On which it starts", "every day"}, &W::days,
        Own{"list of `\"mon\"` … `\"sun\"`, or `\"mon-fri\"`"});
  visit(Option{"tz",
               "The time zone of its clock. Give it: without, the clock is that of UTC, wherever the machine "
               "stands and whatever `tz` of `[cli]` says",
               "`\"UTC\"`"},
        &W::tz, Own{"a name of the IANA, like `America/New_York`"});
}

template <class Visit>
void each_option_of(NamedLimit* /*which*/, Visit& visit) {
  using L = NamedLimit;
  visit(Option{"limit", "The sum of the weights of the running jobs of all queues that name it", "none"},
        &L::limit, Number{Decimal(1)});
  visit(Option{"rate", "How many of their jobs start in a time", "none"}, &L::rate, Own{"table"});
}

template <class Visit>
void each_option_of(PeriodicOptions* /*which*/, Visit& visit) {
  using P = PeriodicOptions;
  using Priority = std::numeric_limits<std::int32_t>;
  visit(Option{"queue", "The queue that gets the jobs", "must be given"}, &P::queue, Own{"name"});
  visit(Option{"cron", "When it ticks, see below; or", "none"}, &P::cron, Own{"expression"});
  visit(Option{"every",
               "An interval of whole seconds, counted from 1970-01-01 00:00 UTC: `\"15m\"` ticks at each "
               "quarter of an hour, on "
               "whatever node",
               "none"},
        &P::every, Lasts{kLeastEvery, kMostEvery});
  visit(Option{"tz", "The time zone of `cron`", "`\"UTC\"`"}, &P::tz, Own{"a name of the IANA"});
  visit(
      Option{
          "payload",
          "Of each job. Text that is JSON is stored without white space, other text as it is; a table, list "
          "or number of TOML becomes JSON",
          "none"},
      &P::payload, PayloadText{});
  visit(Option{"kind", "Of each job", "the queue's name"}, &P::kind, Own{"at most 255 bytes"});
  visit(
      Option{
          "key",
          "What order is kept by. So, by default, runs of a schedule never overlap, and one that is retried "
          "holds back the next",
          "the schedule's name"},
      &P::key, Own{"at most 255 bytes"});
  visit(Option{"priority", "Of each job", "`100`"}, &P::priority, Whole{Priority::min(), Priority::max()});
  visit(Option{"missed", "What becomes of ticks that nobody could push within a minute: see below"},
        &P::missed, Word{});
  visit(Option{"overlap", "What becomes of ticks while the job of an earlier one is not over: see below"},
        &P::overlap, Word{});
}

template <class Visit>
void each_option_of(AccessToken* /*which*/, Visit& visit) {
  using T = AccessToken;
  visit(Option{"name", "Its name in logs and in the audit", "must be given"}, &T::name,
        Own{"a name like a queue's"});
  visit(Option{"role", "What it may do ([http.md](http.md))", "must be given"}, &T::role, Word{});
  visit(Option{"queues", "The only queues it is for", "all"}, &T::queues,
        Texts{R"(["orders"])", "names of queues"});
  visit(Option{"sha256", "Of its secret; `ordo token` makes both", "must be given"}, &T::sha256,
        Own{"64 hexadecimal digits"});
}

template <class Visit>
void each_option_of(WebOptions* /*which*/, Visit& visit) {
  using W = WebOptions;
  visit(Option{"tokens", "Who may do what, see below",
               "none: only programs of the machine itself are served, and they may do everything"},
        &W::tokens, Own{"list of tables"});
  visit(
      Option{"tls_cert",
             "Certificate, with those that vouch for it, for TLS 1.2 and later; read at the start", "no TLS"},
      &W::tls_cert, File{});
  visit(Option{"tls_key", "Its key, without a password", "no TLS"}, &W::tls_key, File{});
  visit(Option{"behind_proxy", "A proxy of yours does TLS: the headers of proxies are let in. Needs tokens"},
        &W::behind_proxy, Flag{});
  visit(Option{"read_only", "Refuse every change over HTTP"}, &W::read_only, Flag{});
  visit(Option{"redact", "Values in payloads that the API does not show, nor in errors that quote them",
               "none"},
        &W::redact, Texts{R"(["/card/number"])", "JSON pointers"});
  visit(Option{"hide_payloads", "Show nothing of payloads"}, &W::hide_payloads, Flag{});
  visit(Option{"public_url",
               "How browsers reach the API, if a proxy changes the `Host`: pages from there may make changes",
               "none"},
        &W::public_url, Own{"`\"https://jobs.example.com\"`"});
}

template <class Visit>
void each_option_of(CliOptions* /*which*/, Visit& visit) {
  visit(Option{"tz",
               "The zone of the times that `ordo` shows people, and of those that it is given "
               "[without one](cli.md#times)",
               "`$TZ`, else the system's"},
        &CliOptions::tz, Zone{});
}

// Of a source; its `type` is in a file alone.
template <class Visit>
void each_option_of(SourceOptions* /*which*/, Visit& visit) {
  using S = SourceOptions;
  visit(
      Option{
          "url",
          "The Redis server of the lists ([redis.md](redis.md)); it may be the store's. Not a Redis Cluster",
          "must be given"},
      &S::url, RedisUrl{});
  visit(Option{"dialect",
               "Which lists: `queue:NAME` with `sidekiq` and `verk`, `resque:queue:NAME`, taken from the "
               "left, with "
               "`resque`. Jobs of all three formats are read in any case"},
        &S::dialect, Word{});
  visit(
      Option{
          "queues",
          "The lists to take from. They are the source's alone: a Sidekiq process that takes from them, too, "
          "gets some of the jobs, and order is lost",
          "must be given"},
      &S::queues, Texts{R"(["default"])", "without `queue:`"});
  visit(Option{"queue", "Ordo's queue for jobs of classes that no map names, and for malformed ones",
               "must be given"},
        &S::queue, Own{"a queue of the config"});
  visit(Option{"map", "What becomes of jobs by their class, see below", "none"}, &S::map,
        Own{"list of at most 10000 tables"});
  visit(Option{"ahead",
               "While about so many jobs of the source's queues are due or run, counted over all of them, it "
               "takes "
               "nothing more, see below"},
        &S::ahead, Whole{1, kMostAhead});
  visit(
      Option{"retries",
             "Who retries failed jobs: `ordo`, or `sidekiq` in its [own set](#retries-in-sidekiqs-own-set)"},
      &S::retries, Word{});
  visit(Option{"heartbeat", "Sidekiq's page Busy shows the node ([below](#on-sidekiqs-pages))"},
        &S::heartbeat, Flag{});
  visit(Option{"allow_stop", "The button Stop of that page stops the node"}, &S::allow_stop, Flag{});
  visit(Option{"stats", "Runs of its queues are counted on Sidekiq's pages"}, &S::stats, Flag{});
  visit(Option{"mirror_dead", "Sidekiq's page Dead shows the dead jobs of its queues"}, &S::mirror_dead,
        Flag{});
}

template <class Visit>
void each_option_of(SourceMap* /*which*/, Visit& visit) {
  using M = SourceMap;
  const Own pointer{"JSON pointer"};
  visit(Option{"class", "Of the job; of an ActiveJob also the class that it wraps", "must be given"},
        &M::class_name, Own{"name"});
  visit(Option{"queue", "That gets its jobs", "the source's"}, &M::queue, Own{"a queue of the config"});
  visit(Option{"kind", "Of its jobs", "the queue's name"}, &M::kind, Own{"at most 255 bytes"});
  visit(
      Option{
          "id",
          "Where its id is in `args` (of an ActiveJob: in its `arguments`), as the next four. A job that has "
          "no id, key or score there goes to the dead",
          "the jid"},
      &M::id, pointer);
  visit(Option{"key", "What its order is kept by", "the id"}, &M::key, pointer);
  visit(Option{"score", "Its [score](merging.md)", "the time"}, &M::score, pointer);
  visit(Option{"lock", "The key of its [lock](locks.md); one that has nothing there has none",
               "the queue's rule"},
        &M::lock, pointer);
  visit(Option{"unique", "The same of its [unique key](unique.md), whose rule the queue states",
               "the queue's rule"},
        &M::unique, pointer);
}

template <class Options, class Visit>
void each_option(Visit visit) {
  each_option_of(static_cast<Options*>(nullptr), visit);
}

}  // namespace ordo::domain
