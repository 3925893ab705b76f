// Pushes one job that has one option, as a program in C++ does: push_options QUEUE ID OPTION. The store and
// the queue's rules are those of ordo.toml. tests/e2e/options_test.py compares the job with those of other
// entrances.

#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include <ordo/client.hpp>
#include <ordo/config.hpp>
#include <ordo/job.hpp>

namespace {

using ordo::NewJob;
using ordo::Time;
using std::chrono::hours;
using std::chrono::seconds;

constexpr Time kRunAt{seconds{2'057'036'700}};                   // 2035-03-09T07:05:00Z
constexpr Time kExpires{ordo::Duration{2'051'319'845'678'901}};  // 2035-01-02T03:04:05.678901Z

using Set = std::function<void(NewJob&)>;

const std::map<std::string_view, Set> kOptions = {
    {"id", [](NewJob&) {}},
    {"key", [](NewJob& job) { job.key = "k"; }},
    {"kind", [](NewJob& job) { job.kind = "mail"; }},
    {"payload", [](NewJob& job) { job.payload = R"({"v":1})"; }},
    {"score", [](NewJob& job) { job.score = 7.5; }},
    {"run_at", [](NewJob& job) { job.run_at = kRunAt; }},
    {"replace_time",
     [](NewJob& job) {
       job.run_at = kRunAt;
       job.replace_time = true;
     }},
    {"priority", [](NewJob& job) { job.priority = -3; }},
    {"timeout", [](NewJob& job) { job.timeout = seconds{90}; }},
    {"max_retries", [](NewJob& job) { job.max_retries = 7; }},
    {"expires", [](NewJob& job) { job.expires = kExpires; }},
    {"expires +1h", [](NewJob& job) { job.expires_after = hours{1}; }},
    {"expires never", [](NewJob& job) { job.expires = Time::max(); }},
    {"windows",
     [](NewJob& job) {
       job.windows = {{hours{5}, hours{7}, 0x7F, "UTC"}, {hours{22}, seconds{7230}, 0x1B, "Europe/Moscow"}};
     }},
    {"weight", [](NewJob& job) { job.weight = 0.25; }},
    {"partition", [](NewJob& job) { job.partition = "east"; }},
    {"critical", [](NewJob& job) { job.critical = true; }},
    {"lock", [](NewJob& job) { job.lock = "l"; }},
    {"unique", [](NewJob& job) { job.unique = "u-" + job.id; }},
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4 || !kOptions.contains(argv[3])) {
    std::fputs("push_options: it takes QUEUE, ID and an option that it knows\n", stderr);
    return 2;
  }
  NewJob job{.id = argv[2]};
  kOptions.at(argv[3])(job);
  ordo::Client(ordo::load_config()).push(argv[1], job);
  return 0;
}
