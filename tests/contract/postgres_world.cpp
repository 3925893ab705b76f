#include <map>
#include <utility>

#include "contract/world.h"
#include "store/postgres/postgres_store.h"
#include "support/postgres_server.h"

namespace ordo::store {
namespace {

class PostgresWorld final : public World {
 public:
  explicit PostgresWorld(Clock& clock) : clock_(clock) { store_ = open(); }

  Store& store() override { return *store_; }

  Store& second() override {
    if (second_ == nullptr) second_ = open();
    return *second_;
  }

  void reopen() override {
    elsewhere_.clear();
    second_.reset();
    store_.reset();
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
    return std::make_unique<postgres::PostgresStore>(url_, clock_, postgres::TimeSource::clock);
  }

  Clock& clock_;
  const std::string url_ = test::PostgresServer::shared().new_schema();
  std::unique_ptr<Store> store_;
  std::unique_ptr<Store> second_;
  std::map<std::string, std::unique_ptr<Store>> elsewhere_;
};

}  // namespace

std::unique_ptr<World> make_postgres_world(Clock& clock) { return std::make_unique<PostgresWorld>(clock); }

}  // namespace ordo::store
