#include "contract/world.h"

#include <unistd.h>

#include <filesystem>
#include <stdexcept>
#include <utility>

#include "store/memory/memory_store.h"
#include "store/redis/redis_store.h"
#include "store/sqlite/sqlite_store.h"
#include "store/test_log.h"
#include "support/redis_cluster.h"
#include "support/redis_server.h"

namespace ordo::store {
namespace {

constexpr Duration kUntold =
    std::chrono::hours{1};  // a wait ends by being told, or late enough to be noticed

class MemoryWorld final : public World {
 public:
  explicit MemoryWorld(Clock& clock) : store_(clock) {}

  Store& store() override { return store_; }
  Store& second() override { return store_; }
  void reopen() override {}
  void join_elsewhere(const std::string& node, const std::string& facts) override {
    store_.join(node, facts);
  }
  void kill(const std::string& node) override { store_.kill_node(node); }

 private:
  memory::MemoryStore store_;
};

// Memory where there is some: the rules are tested here, and not the disk.
std::filesystem::path make_directory() {
  const char* const parent = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
  std::string path = std::string(parent) + "/ordo-contract-XXXXXX";
  if (mkdtemp(path.data()) == nullptr) throw std::runtime_error("cannot make a directory like " + path);
  return path;
}

class SqliteWorld final : public World {
 public:
  explicit SqliteWorld(Clock& clock) : clock_(clock) { store_ = open(); }
  ~SqliteWorld() override {
    close_all();
    std::filesystem::remove_all(directory_);
  }

  Store& store() override { return *store_; }

  Store& second() override {
    if (second_ == nullptr) second_ = open();
    return *second_;
  }

  void reopen() override {
    close_all();
    store_ = open();
  }

  void join_elsewhere(const std::string& node, const std::string& facts) override {
    auto& process = elsewhere_[node];
    if (process == nullptr) process = open();
    process->join(node, facts);
  }

  void kill(const std::string& node) override { elsewhere_.erase(node); }

 private:
  std::unique_ptr<Store> open() {
    return std::make_unique<sqlite::SqliteStore>((directory_ / "jobs.db").string(), clock_);
  }
  void close_all() {
    elsewhere_.clear();
    second_.reset();
    store_.reset();
  }

  Clock& clock_;
  const std::filesystem::path directory_ = make_directory();
  std::unique_ptr<Store> store_;
  std::unique_ptr<Store> second_;
  std::map<std::string, std::unique_ptr<Store>> elsewhere_;
};

/// `Servers` are started once.
template <class Servers>
class RedisWorld final : public World {
 public:
  RedisWorld() {
    servers().empty();
    store_ = open();
  }

  Store& store() override { return *store_; }
  Store& second() override {
    if (second_ == nullptr) second_ = open();
    return *second_;
  }
  void reopen() override {
    second_.reset();
    store_ = open();
  }
  void join_elsewhere(const std::string& node, const std::string& facts) override {
    store_->join(node, facts);
  }
  void kill(const std::string&) override {}

 private:
  static Servers& servers() {
    static Servers only;
    return only;
  }
  static std::unique_ptr<Store> open() {
    return std::make_unique<redis::RedisStore>(servers().location(),
                                               redis::Patience{.answer = kPatience, .silence = kUntold});
  }

  std::unique_ptr<Store> store_;
  std::unique_ptr<Store> second_;
};

}  // namespace

Time StoppedClock::wall() {
  const std::lock_guard lock(mutex_);
  return Time{std::chrono::seconds{1'700'000'000} + moved_ + leapt_};
}

Duration StoppedClock::steady() {
  const std::lock_guard lock(mutex_);
  return moved_;
}

void StoppedClock::move(Duration by) {
  const std::lock_guard lock(mutex_);
  moved_ += by;
}

void StoppedClock::leap(Duration by) {
  const std::lock_guard lock(mutex_);
  leapt_ += by;
}

std::unique_ptr<World> make_memory_world(Clock& clock) { return std::make_unique<MemoryWorld>(clock); }
std::unique_ptr<World> make_sqlite_world(Clock& clock) { return std::make_unique<SqliteWorld>(clock); }
std::unique_ptr<World> make_redis_world(Clock&) { return std::make_unique<RedisWorld<redis::TestServer>>(); }
std::unique_ptr<World> make_redis_cluster_world(Clock&) {
  return std::make_unique<RedisWorld<redis::TestCluster>>();
}

}  // namespace ordo::store
