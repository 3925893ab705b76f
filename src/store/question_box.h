#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <ordo/time.hpp>

#include "store/store.h"

namespace ordo::store {

/// Questions to nodes of this process and their answers, in memory: see Store::ask(). Thread-safe.
class QuestionBox {
 public:
  std::string ask(const std::string& node, std::string bytes, Time now);
  std::vector<Question> open(const std::string& node, Time now);
  /// False: nobody asks that here, or it is answered.
  bool answer(const std::string& node, const std::string& id, std::string bytes, Time now);
  std::optional<std::string> take_answer(const std::string& node, const std::string& id, Time now);

 private:
  struct Asked {
    std::string node;
    std::string question;
    std::optional<std::string> answer;
    Time until{};
  };
  void trim(Time now);

  std::mutex mutex_;
  std::map<std::string, Asked> asked_;  // by the question's id
};

}  // namespace ordo::store
