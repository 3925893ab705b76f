#include "store/redis/sentinel.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <system_error>

#include "base/start_thread.h"

namespace ordo::store::redis {
namespace {

using namespace std::chrono_literals;

constexpr Duration kMostPatience = 1s;  // others may know
constexpr Duration kSilence = 5s;       // then the sentinel is asked whether it is there
constexpr int kPauseMs = 500;

Duration patience_with_one(Duration patience) { return std::min(patience, kMostPatience); }

Location sentinel_at(const Location& location, const Address& address) {
  auto there = location.at(address);
  if (!location.sentinel_password.empty()) {
    there.user.clear();
    there.password = location.sentinel_password;
  }
  return there;
}

}  // namespace

Sentinels::Sentinels(const Location& location, Duration patience)
    : location_(location), patience_(patience_with_one(patience)) {}

Sentinels::Opinion Sentinels::ask(const Address& sentinel) const {
  Opinion opinion{.sentinel = sentinel};
  try {
    Connection connection(sentinel_at(location_, sentinel), patience_, Connection::Peer::sentinel);
    CommandText commands;
    commands.add("SENTINEL", "GET-MASTER-ADDR-BY-NAME", location_.master);
    commands.add("SENTINEL", "MASTER", location_.master);
    const auto replies = connection.ask("find the master", commands);
    if (replies[0].items.size() != 2) throw Error(ErrorKind::unavailable, "it does not know the master");
    std::map<std::string_view, const Reply*> facts;
    const auto& items = replies[1].items;
    for (std::size_t i = 0; i + 1 < items.size(); i += 2) facts.emplace(items[i].text, &items[i + 1]);
    const auto number = [&](std::string_view name) {
      const auto fact = facts.find(name);
      return fact == facts.end() ? 0 : fact->second->number();
    };
    opinion.epoch = number("config-epoch");
    opinion.replicas = number("num-slaves");
    opinion.master = {replies[0].at(0).text, static_cast<std::uint16_t>(replies[0].at(1).number())};
  } catch (const Error& error) {
    opinion.why = error.what();
  }
  return opinion;
}

Address Sentinels::master() {
  const std::lock_guard lock(mutex_);
  const auto& all = location_.sentinels;
  std::optional<Opinion> best;
  std::size_t answers = 0;
  std::string why;
  const auto first = first_;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto at = (first + i) % all.size();
    auto opinion = ask(all[at]);
    if (!opinion.master) {
      why += (why.empty() ? "" : "; ") + opinion.why;
      continue;
    }
    if (!best) first_ = at;
    if (!best || opinion.epoch > best->epoch) best = std::move(opinion);
    // Who knows less than we do has not heard of it yet; if all do, somebody has set them up anew.
    if (++answers > all.size() / 2 && best->epoch >= epoch_) break;
  }
  if (!best) {
    throw Error(ErrorKind::unavailable, "no sentinel of " + location_.name() + " knows the master '" +
                                            location_.master + "': " + why);
  }
  if (best->epoch < epoch_ && answers <= all.size() / 2) {
    throw Error(ErrorKind::unavailable, "the sentinels of " + location_.name() +
                                            " that answer tell of an earlier master than the one that is "
                                            "known, and they are too few to be believed: " +
                                            why);
  }
  epoch_ = best->epoch;
  return *best->master;
}

std::vector<Sentinels::Opinion> Sentinels::opinions() const {
  std::vector<Opinion> opinions;
  for (const auto& sentinel : location_.sentinels) opinions.push_back(ask(sentinel));
  return opinions;
}

// --------------------------------------------------------------------------------------------------- watch

SentinelWatch::SentinelWatch(const Location& location, Duration patience, std::function<void()> look)
    : location_(location),
      patience_(patience_with_one(patience)),
      look_(std::move(look)),
      bell_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (bell_ < 0) throw std::system_error(errno, std::generic_category(), "cannot make an eventfd");
  thread_ = start_thread([this](const std::stop_token& stop) { loop(stop); });
}

SentinelWatch::~SentinelWatch() {
  thread_.request_stop();
  eventfd_write(bell_, 1);
  thread_.join();
  close(bell_);
}

void SentinelWatch::loop(const std::stop_token& stop) {
  for (std::size_t turn = 0; !stop.stop_requested(); ++turn) {
    try {
      listen_to(location_.sentinels[turn % location_.sentinels.size()], stop);
    } catch (const Error&) {
      pollfd bell{bell_, POLLIN, 0};  // another may be there
      poll(&bell, 1, kPauseMs);
    }
  }
}

/// Returns at the end; throws when the sentinel does not answer.
void SentinelWatch::listen_to(const Address& sentinel, const std::stop_token& stop) {
  Connection connection(sentinel_at(location_, sentinel), patience_, Connection::Peer::sentinel);
  CommandText subscribe;
  subscribe.add("SUBSCRIBE", "+switch-master");
  connection.ask("follow the master", subscribe);
  while (!stop.stop_requested()) {
    look_();
    if (connection.receive(kSilence, bell_)) continue;
    if (stop.stop_requested()) return;
    CommandText ping;
    ping.add("PING");
    connection.ask("follow the master", ping);
  }
}

// ------------------------------------------------------------------------------------------------- doctor

std::vector<Finding> examine_sentinels(const Location& location,
                                       const std::vector<Sentinels::Opinion>& opinions) {
  using Level = Finding::Level;
  std::vector<Finding> findings;
  std::size_t answers = 0;
  std::uint64_t replicas = 0;
  for (const auto& opinion : opinions) {
    if (opinion.master) {
      ++answers;
      replicas = std::max(replicas, opinion.replicas);
    } else {
      findings.push_back({Level::warning, "a sentinel does not help: " + opinion.why, "see its log"});
    }
  }
  const auto text = std::to_string(answers) + " of " + std::to_string(opinions.size()) +
                    " sentinels know the master '" + location.master + "'";
  if (opinions.size() < 3 || answers * 2 <= opinions.size()) {
    findings.insert(findings.begin(), {Level::warning, text + ": too few to survive the loss of one",
                                       "name three or more, on machines of their own"});
  } else {
    findings.insert(findings.begin(), {Level::good, text, ""});
  }
  if (replicas == 0) {
    findings.push_back({Level::warning, "the master has no replica: nobody takes over when it fails",
                        "give it a replica, or two with ?wait=1"});
  }
  return findings;
}

}  // namespace ordo::store::redis
