#pragma once

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "store/redis/slot_map.h"
#include "support/redis_server.h"

// For tests: a real Redis Cluster on loopback.
namespace ordo::store::redis {

class TestCluster {
 public:
  static constexpr std::size_t kMasters = 3;

  /// Three masters, each with `replicas`, that have a third of the slots. Returns when all agree on that.
  explicit TestCluster(std::size_t replicas = 0, const std::vector<std::string>& options = {}) {
    for (std::size_t i = 0; i < kMasters * (1 + replicas); ++i) {
      servers_.push_back(start_member(options, replicas > 0));
    }
    for (std::size_t i = 0; i < kMasters; ++i) {
      const auto first = i * kSlots / kMasters, last = (i + 1) * kSlots / kMasters - 1;
      command(i, {"CLUSTER", "SET-CONFIG-EPOCH", std::to_string(i + 1)});
      command(i, {"CLUSTER", "ADDSLOTSRANGE", std::to_string(first), std::to_string(last)});
    }
    for (std::size_t i = 1; i < servers_.size(); ++i) {
      command(0, {"CLUSTER", "MEET", "127.0.0.1", port(i), std::to_string(servers_[i]->bus_port())});
    }
    wait_until("all know all",
               [&] { return all_say("cluster_known_nodes", std::to_string(servers_.size())); });
    for (std::size_t i = kMasters; i < servers_.size(); ++i) {
      command(i, {"CLUSTER", "REPLICATE", id(i % kMasters)});
    }
    wait_until("it is up", [&] { return all_say("cluster_state", "ok") && has_replicas(replicas); });
  }

  Location location() const {
    auto location = servers_[0]->location();
    for (std::size_t i = 1; i < kMasters; ++i) location.others.push_back(servers_[i]->location().address());
    return location;
  }

  TestServer& server(std::size_t place) { return *servers_[place]; }
  std::size_t size() const { return servers_.size(); }

  void empty() {
    for (std::size_t i = 0; i < kMasters; ++i) command(i, {"FLUSHALL", "SYNC"});
  }

  /// The place of the master that says it has `slot`, or size() while there is none.
  std::size_t master_of(Slot slot) const {
    for (std::size_t i = 0; i < servers_.size(); ++i) {
      if (servers_[i]->pid() > 0 && knows(i, slot, i)) return i;
    }
    return servers_.size();
  }

  /// Moves a slot and what is in it, as `redis-cli --cluster reshard` does; `between` is called when all keys
  /// are there and nobody has said so yet.
  void move(
      Slot slot, std::size_t to, const std::function<void()>& between = [] {}) {
    const auto from = master_of(slot);
    const auto number = std::to_string(slot);
    command(to, {"CLUSTER", "SETSLOT", number, "IMPORTING", id(from)});
    command(from, {"CLUSTER", "SETSLOT", number, "MIGRATING", id(to)});
    while (true) {
      const auto keys = servers_[from]->run({"CLUSTER", "GETKEYSINSLOT", number, "100"});
      if (keys.items.empty()) break;
      std::vector<std::string> words = {"MIGRATE", "127.0.0.1", port(to), "", "0", "10000", "KEYS"};
      for (const auto& key : keys.items) words.push_back(key.text);
      servers_[from]->run(words);
    }
    between();
    for (const auto at : {to, from}) command(at, {"CLUSTER", "SETSLOT", number, "NODE", id(to)});
    // Without the highest epoch everywhere, what the old owner said before may still be believed.
    wait_until("all know who has the slot", [&] {
      bool agreed = true;
      const auto epoch = fact(to, "cluster_current_epoch");
      if (fact(to, "cluster_my_epoch") != epoch) {
        servers_[to]->run({"CLUSTER", "BUMPEPOCH"});
        agreed = false;
      }
      for (std::size_t i = 0; i < kMasters; ++i) {
        if (fact(i, "cluster_current_epoch") != epoch) agreed = false;
        if (knows(i, slot, to)) continue;
        servers_[i]->run({"CLUSTER", "SETSLOT", number, "NODE", id(to)});
        agreed = false;
      }
      return agreed;
    });
  }

  /// Waits for it, a minute at most.
  static void wait_until(const char* what, const std::function<bool()>& holds) {
    const auto end = system_clock().steady() + std::chrono::minutes{1};
    while (!holds()) {
      if (system_clock().steady() > end) throw std::runtime_error(std::string("the cluster: never ") + what);
      poll(nullptr, 0, 5);
    }
  }

 private:
  // The bus has a port of its own, free by chance at worst.
  static std::unique_ptr<TestServer> start_member(std::vector<std::string> options, bool fails_over) {
    // Only a replica has a reason to hurry: a slow machine must not look like a dead one.
    const auto* const timeout = fails_over ? "2000" : "30000";
    const std::vector<std::string> ours = {"--cluster-enabled",
                                           "yes",
                                           "--cluster-node-timeout",
                                           timeout,
                                           "--cluster-replica-validity-factor",
                                           "0",
                                           "--cluster-port",
                                           "BUS",
                                           "--repl-diskless-sync-delay",
                                           "0"};
    options.insert(options.end(), ours.begin(), ours.end());
    return std::make_unique<TestServer>(options);
  }

  void command(std::size_t at, const std::vector<std::string>& words) const {
    const auto reply = servers_[at]->run(words);
    if (reply.is_error()) throw std::runtime_error(words[0] + " " + words[1] + ": " + reply.text);
  }
  std::string port(std::size_t at) const { return std::to_string(servers_[at]->location().port); }
  std::string id(std::size_t at) const { return servers_[at]->run({"CLUSTER", "MYID"}).text; }

  std::string fact(std::size_t at, std::string_view name) const {
    return std::string(server_fact(servers_[at]->run({"CLUSTER", "INFO"}).text, name));
  }
  bool all_say(std::string_view name, std::string_view value) const {
    for (std::size_t i = 0; i < servers_.size(); ++i) {
      if (fact(i, name) != value) return false;
    }
    return true;
  }
  /// Whether the server at `at` says that the one at `owner` has the slot.
  bool knows(std::size_t at, Slot slot, std::size_t owner) const {
    for (const auto& range : servers_[at]->run({"CLUSTER", "SLOTS"}).items) {
      if (range.at(0).number() > slot || range.at(1).number() < slot) continue;
      return range.at(2).at(1).number() == servers_[owner]->location().port;
    }
    return false;
  }
  bool has_replicas(std::size_t count) const {
    for (std::size_t i = 0; i < kMasters; ++i) {
      const auto info = servers_[i]->run({"INFO", "replication"}).text;
      if (server_fact(info, "connected_slaves") != std::to_string(count)) return false;
      for (std::size_t j = 0; j < count; ++j) {
        const auto replica = server_fact(info, "slave" + std::to_string(j));
        if (replica.find("state=online") == std::string_view::npos) return false;
      }
    }
    return true;
  }

  std::vector<std::unique_ptr<TestServer>> servers_;
};

}  // namespace ordo::store::redis
