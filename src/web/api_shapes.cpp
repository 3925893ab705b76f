// The JSON of the API. Members that are not listed may come in a later version.
#include "web/api_shapes.h"

#include <array>

namespace ordo::web {
namespace {

constexpr std::array kShapes = {
    Shape{"Name", R"({"description":"Text, or bytes that are no UTF-8","anyOf":[{"type":"string"},)"
                  R"({"type":"object","required":["$base64"],"properties":{"$base64":{"type":"string"}}}]})"},
    Shape{"Time", R"({"type":"string","format":"date-time","pattern":"Z$"})"},
    Shape{"TimeOrNull", R"({"anyOf":[{"$ref":"#/components/schemas/Time"},{"type":"null"}]})"},
    Shape{"TextOrNull", R"({"type":["string","null"]})"},
    Shape{"Count", R"({"type":"integer","minimum":0})"},
    Shape{
        "Problem",
        R"({"description":"RFC 9457","type":"object","required":["type","title","status","detail"],"properties":{)"
        R"("type":{"const":"about:blank"},"title":{"type":"string"},"status":{"type":"integer","minimum":400},)"
        R"("detail":{"type":"string"},"pushed":{"$ref":"#/components/schemas/Count"},"line":{"$ref":"#/components/schemas/Count"},)"
        R"("count":{"$ref":"#/components/schemas/Count"},"as_of":{"$ref":"#/components/schemas/Time"}}})"},
    Shape{
        "WaitsFor",
        R"({"type":"object","required":["what","name","held_by","until"],"properties":{"what":{"enum":["time","pause","key","lock",)"
        R"("limit","rate","window","response","group","code","throttler","suspect"]},"name":{"$ref":"#/components/schemas/Name"},)"
        R"("held_by":{"type":"array","maxItems":3,"items":{"$ref":"#/components/schemas/Name"}},)"
        R"("until":{"$ref":"#/components/schemas/TimeOrNull"}}})"},
    Shape{
        "Window",
        R"({"type":"object","required":["start","end"],"properties":{"start":{"type":"string"},"end":{"type":"string"},)"
        R"("days":{"type":"array","items":{"enum":["mon","tue","wed","thu","fri","sat","sun"]}},"tz":{"type":"string"}}})"},
    Shape{
        "Attempt",
        R"({"type":"object","required":["started","ended","node","error_kind","error"],"properties":{)"
        R"("started":{"$ref":"#/components/schemas/TimeOrNull"},"ended":{"$ref":"#/components/schemas/Time"}}})"},
    Shape{
        "Job",
        R"({"type":"object","required":["queue","kind","key","id","state","payloads","scores","run_at","waits_for","retry_count","crashes","error"],)"
        R"("properties":{"queue":{"type":"string"},"kind":{"$ref":"#/components/schemas/Name"},"key":{"$ref":"#/components/schemas/Name"},)"
        R"("id":{"$ref":"#/components/schemas/Name"},"state":{"enum":["queued","running","awaiting","dead"]},"payloads":{"type":"array"},)"
        R"("scores":{"type":"array","items":{"type":"number"}},"run_at":{"$ref":"#/components/schemas/Time"},)"
        R"("starts_at":{"$ref":"#/components/schemas/TimeOrNull"},"waits_for":{"type":"array","items":{"$ref":"#/components/schemas/WaitsFor"}},)"
        R"("retry_count":{"type":"integer","minimum":-1},"crashes":{"$ref":"#/components/schemas/Count"},)"
        R"("error":{"$ref":"#/components/schemas/TextOrNull"},"priority":{"type":"integer"},"timeout":{"type":"string"},)"
        R"("windows":{"type":"array","items":{"$ref":"#/components/schemas/Window"}},)"
        R"("attempts":{"type":"array","items":{"$ref":"#/components/schemas/Attempt"}}}})"},
    Shape{
        "Record",
        R"({"type":"object","required":["queue","kind","key","id","state","pushed","started","ended","node","retry_count","error"],"properties":{)"
        R"("state":{"enum":["done","discarded","cancelled","expired","dead","failed"]},"pushed":{"$ref":"#/components/schemas/TimeOrNull"},)"
        R"("started":{"$ref":"#/components/schemas/TimeOrNull"},"ended":{"$ref":"#/components/schemas/Time"},)"
        R"("attempts":{"type":"array","items":{"$ref":"#/components/schemas/Attempt"}}}})"},
    Shape{"List",
          R"({"type":"object","required":["items","next","total"],"properties":{"items":{"type":"array"},)"
          R"("next":{"$ref":"#/components/schemas/TextOrNull"},"total":{"type":["integer","null"]}}})"},
    Shape{"Jobs",
          R"({"allOf":[{"$ref":"#/components/schemas/List"},{"properties":{"items":{"items":{"anyOf":[)"
          R"({"$ref":"#/components/schemas/Job"},{"$ref":"#/components/schemas/Record"}]}}}}]})"},
    Shape{
        "Line",
        R"({"allOf":[{"$ref":"#/components/schemas/Jobs"},{"required":["queue","key","chain"],"properties":{"chain":{"type":"array",)"
        R"("items":{"$ref":"#/components/schemas/Job"}}}}]})"},
    Shape{
        "NewJobs",
        R"({"anyOf":[{"$ref":"#/components/schemas/NewJob"},{"type":"array","maxItems":10000,"items":{"$ref":"#/components/schemas/NewJob"}}]})"},
    Shape{
        "Pushed",
        R"({"type":"object","required":["pushed"],"properties":{"pushed":{"$ref":"#/components/schemas/Count"},)"
        R"("ids":{"type":"array","maxItems":1000,"items":{"$ref":"#/components/schemas/Name"}}}})"},
    Shape{
        "Counts",
        R"({"type":"object","required":["length","due","scheduled","retrying","running","awaiting","dead","lag","processed","failed","ready",)"
        R"("blocked_by_key","blocked_by_lock","blocked_by_limit","blocked_by_rate","blocked_by_window","blocked_by_throttler",)"
        R"("blocked_by_suspect","without_code","oldest_due"],"properties":{"length":{"$ref":"#/components/schemas/Count"},)"
        R"("lag":{"type":"number","minimum":0},"paused":{"type":"boolean"},"oldest_due":{"type":"object","additionalProperties":{"type":"number"}}}})"},
    Shape{
        "Stats",
        R"({"type":"object","required":["total","by_queue"],"properties":{"total":{"$ref":"#/components/schemas/Counts"},)"
        R"("by_queue":{"type":"object","additionalProperties":{"$ref":"#/components/schemas/Counts"}}}})"},
    Shape{
        "History",
        R"({"type":"object","required":["of","step","times","pushed","done","failed","dead","lag","run_p50","run_p95","wait_p50","wait_p95"],)"
        R"("properties":{"of":{"enum":["store","process"]},"times":{"type":"array","items":{"$ref":"#/components/schemas/Time"}},)"
        R"("pushed":{"$ref":"#/components/schemas/Series"},"done":{"$ref":"#/components/schemas/Series"},)"
        R"("failed":{"$ref":"#/components/schemas/Series"},"dead":{"$ref":"#/components/schemas/Series"},)"
        R"("lag":{"$ref":"#/components/schemas/Series"},"run_p50":{"$ref":"#/components/schemas/Series"},)"
        R"("run_p95":{"$ref":"#/components/schemas/Series"},"wait_p50":{"$ref":"#/components/schemas/Series"},)"
        R"("wait_p95":{"$ref":"#/components/schemas/Series"}}})"},
    Shape{"Series", R"({"type":"array","items":{"type":["number","null"],"minimum":0}})"},
    Shape{
        "Finding",
        R"({"type":"object","required":["severity","queue","what","advice","since","effect","jobs","action"],"properties":{)"
        R"("severity":{"enum":["person","watch"]},"queue":{"$ref":"#/components/schemas/TextOrNull"},"what":{"type":"string"},)"
        R"("since":{"$ref":"#/components/schemas/TimeOrNull"},"effect":{"$ref":"#/components/schemas/TextOrNull"},)"
        R"("action":{"type":"object","required":["label","href"]}}})"},
    Shape{"Findings", R"({"type":"array","items":{"$ref":"#/components/schemas/Finding"}})"},
    Shape{
        "Source",
        R"({"type":"object","required":["name","type","origin","queues","taken","refused","waiting","lag","active","full","hand_overs","last","others","trouble"]})"},
    Shape{
        "Sources",
        R"({"allOf":[{"$ref":"#/components/schemas/List"},{"properties":{"items":{"items":{"$ref":"#/components/schemas/Source"}}}}]})"},
    Shape{
        "Queue",
        R"({"type":"object","required":["name","shards","state"],"properties":{"name":{"type":"string"},"shards":{"type":"integer","minimum":1},)"
        R"("state":{"enum":["running","pausing","paused","resharding"]},"counts":{"$ref":"#/components/schemas/Counts"},)"
        R"("limits":{"type":"array","items":{"$ref":"#/components/schemas/Limit"}}}})"},
    Shape{
        "Queues",
        R"({"allOf":[{"$ref":"#/components/schemas/List"},{"properties":{"items":{"items":{"$ref":"#/components/schemas/Queue"}}}}]})"},
    Shape{
        "Holder",
        R"({"type":"object","required":["queue","id"],"properties":{"queue":{"type":"string"},"id":{"$ref":"#/components/schemas/Name"}}})"},
    Shape{
        "Rate",
        R"({"type":"object","required":["limit"],"properties":{"limit":{"type":"integer","minimum":1},"per":{"type":"string"},)"
        R"("burst":{"$ref":"#/components/schemas/Count"}}})"},
    Shape{
        "Limit",
        R"({"type":"object","required":["name","partition","waiting","held_by","set","version","next_free"],"properties":{"name":{"type":"string"},)"
        R"("used":{"type":"number"},"limit":{"type":"number"},"rate":{"$ref":"#/components/schemas/Rate"},"closed":{"type":"boolean"},)"
        R"("waiting":{"$ref":"#/components/schemas/Count"},"held_by":{"type":"array","items":{"$ref":"#/components/schemas/Holder"}},)"
        R"("set":{"type":"boolean"},"next_free":{"$ref":"#/components/schemas/TimeOrNull"}}})"},
    Shape{
        "Limits",
        R"({"allOf":[{"$ref":"#/components/schemas/List"},{"properties":{"items":{"items":{"$ref":"#/components/schemas/Limit"}}}}]})"},
    Shape{
        "NewLimit",
        R"({"type":"object","properties":{"limit":{"type":"number","minimum":1},"rate":{"$ref":"#/components/schemas/Rate"}}})"},
    Shape{"Set", R"({"type":"object","required":["set"],"properties":{"set":{"type":"boolean"}}})"},
    Shape{
        "Locks",
        R"({"allOf":[{"$ref":"#/components/schemas/List"},{"properties":{"items":{"items":{"type":"object","required":["name","key","holders","waiting"],)"
        R"("properties":{"holders":{"type":"array","items":{"$ref":"#/components/schemas/Holder"}}}}}}}]})"},
    Shape{
        "Wait",
        R"({"type":"object","required":["key","job","since","deadline"],"properties":{"since":{"$ref":"#/components/schemas/Time"},)"
        R"("deadline":{"$ref":"#/components/schemas/Time"}}})"},
    Shape{"Letter", R"({"type":"object","required":["key","why","job","message_id","body","at"]})"},
    Shape{
        "Waits",
        R"({"allOf":[{"$ref":"#/components/schemas/List"},{"properties":{"items":{"items":{"anyOf":[{"$ref":"#/components/schemas/Wait"},)"
        R"({"$ref":"#/components/schemas/Letter"}]}}}}]})"},
    Shape{
        "Groups",
        R"({"allOf":[{"$ref":"#/components/schemas/List"},{"properties":{"items":{"items":{"type":"object","required":["error","count","first","last"]}}}}]})"},
    Shape{
        "Responded",
        R"({"type":"object","required":["response"],"properties":{"response":{"enum":["accepted","buffered","duplicate"]}}})"},
    Shape{
        "Node",
        R"({"type":"object","required":["id","host","pid","threads","queues","sources","started","shards","alive","quiet","version","clock","heartbeat_age","lost","groups"]})"},
    Shape{
        "Nodes",
        R"({"allOf":[{"$ref":"#/components/schemas/List"},{"properties":{"items":{"items":{"$ref":"#/components/schemas/Node"}}}}]})"},
    Shape{
        "Schedule",
        R"({"type":"object","required":["name","queue","kind","key","cron","every","tz","payload","missed","paused","last","next"]})"},
    Shape{
        "Schedules",
        R"({"allOf":[{"$ref":"#/components/schemas/List"},{"properties":{"items":{"items":{"$ref":"#/components/schemas/Schedule"}}}}]})"},
    Shape{
        "Change",
        R"({"type":"object","required":["at","who","action","queue","filter","count","result"],"properties":{)"
        R"("at":{"$ref":"#/components/schemas/Time"},"who":{"type":"string"},"action":{"type":"string"},)"
        R"("queue":{"type":["string","null"]},"count":{"type":["integer","null"]},"result":{"type":"string"}}})"},
    Shape{
        "Changes",
        R"({"allOf":[{"$ref":"#/components/schemas/List"},{"properties":{"items":{"items":{"$ref":"#/components/schemas/Change"}}}}]})"},
    Shape{
        "LogIn",
        R"({"type":"object","required":["token"],"additionalProperties":false,"properties":{"token":{"type":"string"}}})"},
    Shape{"LoggedIn",
          R"({"type":"object","required":["logged_in"],"properties":{"logged_in":{"type":"boolean"}}})"},
    Shape{
        "Me",
        R"({"type":"object","required":["name","role","queues","read_only","csrf"],"properties":{"name":{"type":"string"},)"
        R"("role":{"enum":["viewer","operator","admin","producer","worker","responder"]},)"
        R"("queues":{"type":["array","null"],"items":{"type":"string"}},"read_only":{"type":"boolean"},)"
        R"("csrf":{"type":["string","null"]}}})"},
    Shape{"Id",
          R"({"type":"object","required":["id"],"properties":{"id":{"$ref":"#/components/schemas/Name"}}})"},
    Shape{
        "Requested",
        R"({"type":"object","required":["requested"],"properties":{"requested":{"$ref":"#/components/schemas/Count"},)"
        R"("count":{"$ref":"#/components/schemas/Count"}}})"},
    Shape{
        "Changed",
        R"({"type":"object","required":["changed"],"properties":{"changed":{"type":["boolean","integer"]}}})"},
    Shape{"Removed", R"({"type":"object","required":["removed"],"properties":{"removed":{"const":true}}})"},
    Shape{
        "DeadChanged",
        R"({"type":"object","required":["changed","skipped","missing"],"properties":{"changed":{"$ref":"#/components/schemas/Count"},)"
        R"("skipped":{"type":"array"},"missing":{"type":"array"},"count":{"$ref":"#/components/schemas/Count"},)"
        R"("as_of":{"$ref":"#/components/schemas/Time"}}})"},
    Shape{
        "DeadChoice",
        R"({"type":"object","properties":{"ids":{"type":"array"},"filter":{"type":"object"},"as_of":{"$ref":"#/components/schemas/Time"},)"
        R"("count":{"$ref":"#/components/schemas/Count"},"dry_run":{"type":"boolean"}}})"},
    Shape{
        "JobChoice",
        R"({"type":"object","required":["filter"],"properties":{"filter":{"type":"object","required":["state"]},)"
        R"("count":{"$ref":"#/components/schemas/Count"},"dry_run":{"type":"boolean"}}})"},
    Shape{"NewTime",
          R"({"type":"object","required":["run_at"],"properties":{"run_at":{"type":["string","number"]}}})"},
    Shape{
        "Shards",
        R"({"type":"object","required":["shards"],"properties":{"shards":{"type":"integer","minimum":1,"maximum":65536}}})"},
    Shape{"Resharded", R"({"type":"object","required":["queue","from","to","entries","states","dead"]})"},
    Shape{
        "WindowViews",
        R"({"type":"object","required":["queue","ahead","waiting","items"],"properties":{"items":{"type":"array","items":{"type":"object",)"
        R"("required":["kind","windows","open","never_opens","opens","closes","openings","clock_changes"],"properties":{)"
        R"("windows":{"type":"array","items":{"$ref":"#/components/schemas/Window"}},"opens":{"$ref":"#/components/schemas/TimeOrNull"},)"
        R"("closes":{"$ref":"#/components/schemas/TimeOrNull"}}}}}})"},
    Shape{"Ok", R"({"type":"object","required":["ok"],"properties":{"ok":{"const":true}}})"},
    Shape{"Ready", R"({"type":"object","required":["ready"],"properties":{"ready":{"const":true}}})"},
    Shape{"OpenApi", R"({"type":"object","required":["openapi","info","paths"]})"},
    Shape{"Any", R"({"description":"Any JSON"})"},
};

constexpr std::array kParameters = {
    Parameter{
        "state", "state",
        R"({"enum":["queued","due","scheduled","retrying","running","awaiting","dead","ended","done","discarded","cancelled","expired","failed"]})",
        R"("queued")"},
    Parameter{"response_state", "state", R"({"enum":["expected","buffered","late"]})", R"("buffered")"},
    Parameter{"id", "id", R"({"type":"string"})", R"("42")"},
    Parameter{"key", "key", R"({"type":"string"})", R"("42")"},
    Parameter{"kind", "kind", R"({"type":"string"})", R"("orders")"},
    Parameter{"phase", "state", R"({"enum":["queued","running"]})", R"("queued")"},
    Parameter{"score", "score", R"({"type":"number"})", "7"},
    Parameter{"error", "error", R"({"type":"string"})", R"("no route")"},
    Parameter{"error_kind", "error_kind", R"({"type":"string"})", R"("handler")"},
    Parameter{"retry_count", "retry_count", R"({"type":"integer"})", "3"},
    Parameter{"since", "since", R"({"type":"string"})", R"("-1h")"},
    Parameter{"until", "until", R"({"type":"string"})", R"("2035-01-01T00:00:00Z")"},
    Parameter{"sort", "sort", R"({"enum":["start","run_at","id","retry_count"]})", R"("id")"},
    Parameter{"desc", "desc", R"({"type":"boolean"})", "true"},
    Parameter{"limit", "limit", R"({"type":"integer","minimum":1,"maximum":1000})", "10"},
    Parameter{"cursor", "cursor", R"({"type":"string"})", ""},
    Parameter{"queue", "queue", R"({"type":"string"})", R"("orders")"},
    Parameter{"event", "event",
              R"({"type":"string","enum":["stats","job_started","job_finished","job_failed","job_dead",)"
              R"("job_awaiting","queue_running","queue_pausing","queue_paused","node_up","node_down",)"
              R"("shard_moved","throttler_failed"]})",
              R"("job_failed")"},
    Parameter{"from", "from", R"({"type":"string"})", R"("-10m")"},
    Parameter{"to", "to", R"({"type":"string"})", R"("2035-01-01T00:00:00Z")"},
    Parameter{"step", "step", R"({"type":"string"})", R"("10s")"},
    Parameter{"ahead", "ahead", R"({"type":"string"})", R"("48h")"},
    Parameter{"with_jobs", "with_jobs", R"({"type":"boolean"})", "true"},
    Parameter{"if_match", "If-Match", R"({"type":"string"})", "", "header"},
    Parameter{"once", "Idempotency-Key", R"({"type":"string","minLength":1,"maxLength":200})", "", "header"},
};

constexpr std::string_view kJobFilter = "state id kind key error error_kind retry_count since until";
constexpr std::string_view kJobList =
    "state id kind key error error_kind retry_count since until sort desc limit cursor";
constexpr std::string_view kDeadFilter = "id kind key error error_kind retry_count since until";
constexpr std::string_view kDeadList =
    "id kind key error error_kind retry_count since until sort desc limit cursor";
constexpr std::string_view kLines = "application/x-ndjson";

constexpr std::array kOperations = {
    Operation{"GET", "/", "", "", "", "", 200, "text/html"},
    Operation{"GET", "/healthz", "", "", "", "Ok"},
    Operation{"GET", "/readyz", "", "", "", "Ready"},
    Operation{"GET", "/metrics", "", "", "", "", 200, "text/plain"},
    Operation{"GET", "/openapi.json", "", "", "", "OpenApi"},
    Operation{"POST", "/api/v1/login", "", "LogIn", R"({"token":"ordo_…"})", "LoggedIn"},
    Operation{"POST", "/api/v1/logout", "", "", "", "LoggedIn"},
    Operation{"GET", "/api/v1/me", "", "", "", "Me"},
    Operation{"GET", "/api/v1/audit", "limit cursor", "", "", "Changes"},
    Operation{"GET", "/api/v1/stats", "queue", "", "", "Stats"},
    Operation{"GET", "/api/v1/stats/history", "queue kind from to step", "", "", "History"},
    Operation{"GET", "/api/v1/events", "queue event", "", "", "", 200, "text/event-stream"},
    Operation{"GET", "/api/v1/problems", "", "", "", "Findings"},
    Operation{"GET", "/api/v1/sources", "", "", "", "Sources"},
    Operation{"POST", "/api/v1/sources/{name}/reset", "", "", "", "Changed"},
    Operation{"GET", "/api/v1/queues", "", "", "", "Queues"},
    Operation{"GET", "/api/v1/queues/{queue}", "", "", "", "Queue"},
    Operation{"POST", "/api/v1/queues/{queue}/pause", "if_match", "", "", "Changed"},
    Operation{"POST", "/api/v1/queues/{queue}/resume", "if_match", "", "", "Changed"},
    Operation{"POST", "/api/v1/queues/{queue}/reshard", "if_match", "Shards", R"({"shards":3})", "Resharded"},
    Operation{"GET", "/api/v1/queues/{queue}/jobs", kJobList, "", "", "Jobs"},
    Operation{"GET", "/api/v1/queues/{queue}/jobs/export", kJobFilter, "", "", "", 200, kLines},
    Operation{"GET", "/api/v1/queues/{queue}/jobs/{id}", "kind key", "", "", "Jobs"},
    Operation{"POST", "/api/v1/queues/{queue}/jobs", "once", "NewJobs",
              R"([{"id":"42","payload":{"total":7},"run_at":"+1h"}])", "Pushed", 201},
    Operation{"POST", "/api/v1/queues/{queue}/jobs/{id}/run-now", "kind key phase", "", "", "Requested", 202},
    Operation{"POST", "/api/v1/queues/{queue}/jobs/{id}/reschedule", "kind key phase", "NewTime",
              R"({"run_at":"2035-01-01T00:00:00Z"})", "Requested", 202},
    Operation{"POST", "/api/v1/queues/{queue}/jobs/{id}/cancel", "kind key phase", "", "", "Requested", 202},
    Operation{"POST", "/api/v1/queues/{queue}/jobs/{id}/kill", "kind key phase", "", "", "Requested", 202},
    Operation{"PUT", "/api/v1/queues/{queue}/jobs/{id}/payload", "kind key phase score", "Any",
              R"({"total":8})", "Requested", 202},
    Operation{"POST", "/api/v1/queues/{queue}/jobs/run-now", "", "JobChoice",
              R"({"filter":{"state":"scheduled","key":"nobody"},"count":0})", "Requested", 202},
    Operation{"POST", "/api/v1/queues/{queue}/jobs/cancel", "", "JobChoice",
              R"({"filter":{"state":"scheduled","key":"nobody"},"count":0})", "Requested", 202},
    Operation{"POST", "/api/v1/queues/{queue}/jobs/kill", "", "JobChoice",
              R"({"filter":{"state":"scheduled","key":"nobody"},"count":0})", "Requested", 202},
    Operation{"GET", "/api/v1/queues/{queue}/keys/{key}", "limit cursor", "", "", "Line"},
    Operation{"GET", "/api/v1/queues/{queue}/windows", "ahead", "", "", "WindowViews"},
    Operation{"GET", "/api/v1/queues/{queue}/dead", kDeadList, "", "", "Jobs"},
    Operation{"GET", "/api/v1/queues/{queue}/dead/export", kDeadFilter, "", "", "", 200, kLines},
    Operation{"GET", "/api/v1/queues/{queue}/dead/groups", "limit cursor", "", "", "Groups"},
    Operation{"POST", "/api/v1/queues/{queue}/dead/retry", "", "DeadChoice",
              R"({"filter":{"error":"nobody"},"count":0})", "DeadChanged"},
    Operation{"POST", "/api/v1/queues/{queue}/dead/delete", "", "DeadChoice",
              R"({"filter":{"error":"nobody"},"count":0})", "DeadChanged"},
    Operation{"PUT", "/api/v1/queues/{queue}/dead/{id}/payload", "kind key score", "Any", R"({"total":8})",
              "DeadChanged", 200, "application/json", "orders dies"},
    Operation{"GET", "/api/v1/queues/{queue}/waits", "limit cursor", "", "", "Waits"},
    Operation{"GET", "/api/v1/responses/{queue}", "response_state limit cursor", "", "", "Waits"},
    Operation{"POST", "/api/v1/responses/{queue}/{key}", "", "Any", R"({"paid":true})", "Responded", 202},
    Operation{"POST", "/callbacks/{token}", "", "Any", R"({"paid":true})", "Responded", 202},
    Operation{"GET", "/api/v1/limits", "limit cursor", "", "", "Limits"},
    Operation{"PUT", "/api/v1/limits/{name}", "if_match", "NewLimit", R"({"limit":50})", "Set", 200,
              "application/json", "orders"},
    Operation{"DELETE", "/api/v1/limits/{name}", "if_match", "", "", "Set", 200, "application/json",
              "orders"},
    Operation{"GET", "/api/v1/locks", "queue limit cursor", "", "", "Locks"},
    Operation{"GET", "/api/v1/nodes", "", "", "", "Nodes"},
    Operation{"POST", "/api/v1/nodes/{id}/quiet", "", "", "", "Requested", 202},
    Operation{"POST", "/api/v1/nodes/{id}/stop", "", "", "", "Requested", 202},
    Operation{"GET", "/api/v1/periodic", "", "", "", "Schedules"},
    Operation{"POST", "/api/v1/periodic/{name}/run", "", "", "", "Id", 201},
    Operation{"POST", "/api/v1/periodic/{name}/pause", "", "", "", "Changed"},
    Operation{"POST", "/api/v1/periodic/{name}/resume", "", "", "", "Changed"},
    Operation{"DELETE", "/api/v1/queues/{queue}", "with_jobs if_match", "", "", "Removed"},
};

}  // namespace

std::span<const Shape> shapes() { return kShapes; }
std::span<const Parameter> parameters() { return kParameters; }
std::span<const Operation> operations() { return kOperations; }

}  // namespace ordo::web
