#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <ordo/options.hpp>

namespace ordo::domain {

/// The kinds of jobs a shard has met, by number, and the rules of each. A kind is never forgotten.
class KindTable {
 public:
  static constexpr std::size_t kMost = 65'535;

  struct Kind {
    std::string name;
    QueueOptions rules;  ///< the queue's, with what is its own
    bool served = true;  ///< false: none of its jobs start here
  };

  explicit KindTable(const QueueOptions& options);

  const QueueOptions& queue() const { return options_; }
  std::size_t size() const { return kinds_.size(); }
  /// Not all kinds have the queue's.
  bool have_own_windows() const { return own_windows_; }
  const Kind& operator[](std::uint16_t kind) const { return *kinds_[kind]; }

  std::optional<std::uint16_t> find(std::string_view name) const;
  /// Its number, a new one if it was not known. Nothing: there are too many of them.
  std::optional<std::uint16_t> add(std::string_view name);
  void serve(std::uint16_t kind, bool on) { kinds_[kind]->served = on; }
  std::vector<std::string> names() const;

 private:
  QueueOptions options_;
  bool own_windows_ = false;
  std::vector<std::unique_ptr<Kind>> kinds_;
  std::unordered_map<std::string_view, std::uint16_t> by_name_;
};

}  // namespace ordo::domain
