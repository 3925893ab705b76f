#include "store/redis/slot_map.h"

#include <algorithm>
#include <charconv>
#include <set>

#include <ordo/error.hpp>

#include "store/redis/keys.h"

namespace ordo::store::redis {
namespace {

constexpr std::uint16_t kPolynomial = 0x1021;  // CRC-16/XMODEM
constexpr Duration kConnectInCluster = std::chrono::seconds{1};

/// The place of `address` in `servers`, where it is added if it is new.
std::uint32_t place_of(std::vector<Address>& servers, const Address& address) {
  const auto found = std::find(servers.begin(), servers.end(), address);
  if (found != servers.end()) return static_cast<std::uint32_t>(found - servers.begin());
  servers.push_back(address);
  return static_cast<std::uint32_t>(servers.size() - 1);
}

/// A server that does not know how others reach it leaves its host out.
Address address_of(std::string_view host, std::uint64_t port, const Address& from) {
  const bool is_unknown = host.empty() || host == "?";
  return {is_unknown ? from.host : std::string(host), static_cast<std::uint16_t>(port)};
}

}  // namespace

Slot cluster_slot(std::string_view key) {
  if (const auto open = key.find('{'); open != std::string_view::npos) {
    const auto close = key.find('}', open + 1);
    if (close != std::string_view::npos && close > open + 1) key = key.substr(open + 1, close - open - 1);
  }
  std::uint16_t crc = 0;
  for (const char byte : key) {
    crc = static_cast<std::uint16_t>(crc ^ static_cast<unsigned char>(byte) << 8);
    for (int bit = 0; bit < 8; ++bit) {
      crc = static_cast<std::uint16_t>((crc & 0x8000) != 0 ? crc << 1 ^ kPolynomial : crc << 1);
    }
  }
  return crc % kSlots;
}

std::optional<Redirect> redirect_of(const Reply& reply, const Address& from) {
  const bool moved = reply.is_error("MOVED ");
  if (!moved && !reply.is_error("ASK ")) return std::nullopt;
  std::string_view text = reply.text;
  text.remove_prefix(text.find(' ') + 1);
  const auto space = text.find(' ');
  const auto colon = text.rfind(':');
  if (space == std::string_view::npos || colon == std::string_view::npos || colon < space)
    return std::nullopt;
  const auto number = [](std::string_view digits, std::uint64_t bound) -> std::optional<std::uint64_t> {
    std::uint64_t parsed = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), parsed);
    if (error != std::errc{} || end != digits.data() + digits.size() || parsed >= bound) return std::nullopt;
    return parsed;
  };
  const auto slot = number(text.substr(0, space), kSlots);
  const auto port = number(text.substr(colon + 1), 1u << 16);
  if (!slot || !port) return std::nullopt;
  return Redirect{.slot = static_cast<Slot>(*slot),
                  .to = address_of(text.substr(space + 1, colon - space - 1), *port, from),
                  .moved = moved};
}

SlotMap::SlotMap(const Location& location, Duration patience)
    : location_(location),
      patience_(patience),
      sentinels_(location.sentinels.empty() ? nullptr : std::make_unique<Sentinels>(location, patience)) {
  if (sentinels_ != nullptr) {
    servers_.push_back(sentinels_->master());
    owners_.assign(1, 0);
    const Connection connection(location_.at(servers_[0]), patience_);
    look_at_history(connection, servers_[0]);
    if (connection.is_cluster()) {
      throw Error(ErrorKind::unsupported,
                  "cannot use sentinels of a cluster, which needs none: name its servers, redis://host,host");
    }
    return;
  }
  servers_.push_back(location_.address());
  for (const auto& other : location_.others) servers_.push_back(other);
  for (std::size_t i = 0;; ++i) {
    const auto from = servers_[i];
    try {
      Connection connection(location_.at(from), patience_);
      is_cluster_ = connection.is_cluster();
      look_at_history(connection, from);
      if (is_cluster_) {
        learn(connection, from);
      } else if (location_.others.empty()) {
        owners_.assign(1, 0);
      } else {
        throw Error(ErrorKind::unsupported, "cannot use several servers that are no cluster: name " +
                                                location_.at(from).name() + " alone");
      }
      return;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::unavailable || i == location_.others.size()) throw;
    }
  }
}

Slot SlotMap::slot_of(ShardId shard) const {
  return is_cluster_ ? cluster_slot(shard_key(shard, "")) : Slot{0};
}

Address SlotMap::server_of(Slot slot) const {
  const std::lock_guard lock(mutex_);
  return servers_[owners_[slot]];
}

void SlotMap::moved(Slot slot, const Address& to) {
  const std::lock_guard lock(mutex_);
  if (slot >= owners_.size()) return;
  const auto place = place_of(servers_, to);
  if (std::ranges::find(owners_, place) == owners_.end()) ++turns_[to];
  owners_[slot] = place;
}

std::uint64_t SlotMap::turns(const Address& server) const {
  const std::lock_guard lock(mutex_);
  const auto found = turns_.find(server);
  return found == turns_.end() ? 0 : found->second;
}

void SlotMap::refresh() {
  if (sentinels_ != nullptr) {
    try {
      return moved(0, sentinels_->master());
    } catch (const Error&) {
      return;  // what is known may still be true
    }
  }
  if (!is_cluster_) return;
  std::vector<Address> servers;
  {
    const std::lock_guard lock(mutex_);
    servers = servers_;
    std::rotate(servers.begin(), servers.begin() + answered_, servers.end());
  }
  for (const auto& from : servers) {
    try {
      Connection connection(location_.at(from), connect_within());
      return learn(connection, from);
    } catch (const Error&) {
      continue;  // the next one may know
    }
  }
}

void SlotMap::check(const Connection& connection, const Address& from) {
  if (!is_cluster_ && connection.is_cluster()) {
    throw Error(ErrorKind::unavailable,
                "cannot use " + location_.at(from).name() + ": it has become a cluster; start again");
  }
  look_at_history(connection, from);
}

// A server gets a new history when it is started or takes another's place, and then says whose it had
// followed. It also gets one, which says nothing, with its first replica: so what a successor had followed
// may be known by another name. Of a cluster one that merely was not asked before is none, until all were
// asked. histories_script() decides likewise.
void SlotMap::look_at_history(const Connection& connection, const Address& from) {
  const auto& now = connection.history();
  const auto name = historian(from);
  const std::lock_guard lock(mutex_);
  const auto known = histories_.find(name);
  const auto has = [&](const std::string& history) {
    return std::ranges::any_of(histories_, [&](const auto& other) { return other.second.name == history; });
  };
  bool is_successor = false;
  if (has(now.name)) {
    // the same, or the replica of one that is known
  } else if (known != histories_.end()) {
    is_successor = known->second.run != now.run || now.is_taken_over();
  } else {
    is_successor = now.is_taken_over() && (knows_all_ || has(now.before));
  }
  histories_[name] = now;
  setbacks_ += is_successor;
}

// All that stands behind one address, or behind sentinels, is one server that may go back.
std::string SlotMap::historian(const Address& server) const {
  return is_cluster_ ? location_.at(server).name() : std::string();
}

std::map<std::string, History> SlotMap::histories() {
  std::map<std::string, History> histories;
  const auto servers = masters();
  const std::lock_guard lock(mutex_);
  knows_all_ = true;
  for (const auto& server : servers) {
    if (const auto known = histories_.find(historian(server)); known != histories_.end())
      histories.insert(*known);
  }
  return histories;
}

Duration SlotMap::connect_within() const {
  return fails_over() ? std::min(patience_, kConnectInCluster) : patience_;
}

std::vector<Address> SlotMap::masters() const {
  const std::lock_guard lock(mutex_);
  const std::set<std::uint32_t> places(owners_.begin(), owners_.end());
  std::vector<Address> masters;
  for (const auto place : places) masters.push_back(servers_[place]);
  return masters;
}

void SlotMap::learn(Connection& connection, const Address& from) {
  CommandText command;
  command.add("CLUSTER", "SLOTS");
  const auto reply = connection.ask("read the slots of the cluster", command).at(0);
  std::vector<Address> servers = {location_.address()};
  servers.insert(servers.end(), location_.others.begin(), location_.others.end());
  std::vector<std::uint32_t> owners(kSlots,
                                    place_of(servers, from));  // of a slot without a server it says so
  for (const auto& range : reply.items) {
    for (std::size_t i = 2; i < range.items.size(); ++i) {
      const auto& server = range.at(i);
      const auto place = place_of(servers, address_of(server.at(0).text, server.at(1).number(), from));
      if (i > 2) continue;  // a replica
      const auto last = std::min<std::uint64_t>(range.at(1).number(), kSlots - 1);
      for (auto slot = range.at(0).number(); slot <= last; ++slot) owners[slot] = place;
    }
  }
  const auto answered = place_of(servers, from);
  const auto masters_before = masters();
  const std::lock_guard lock(mutex_);
  for (const auto place : std::set<std::uint32_t>(owners.begin(), owners.end())) {
    if (std::ranges::find(masters_before, servers[place]) == masters_before.end()) ++turns_[servers[place]];
  }
  answered_ = answered;
  servers_ = std::move(servers);
  owners_ = std::move(owners);
}

}  // namespace ordo::store::redis
