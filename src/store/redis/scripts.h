#pragma once

#include <span>
#include <string>

#include "store/redis/resp.h"

namespace ordo::store::redis {

/// A step that the server does as one. Arguments and answers are bytes and decimal numbers.
struct Script {
  explicit Script(std::string text);

  const std::string text;
  const std::string sha;  ///< what the server calls it
};

// What each takes and answers stands above its text (scripts.cpp).
const Script& append_script();
const Script& commit_script();
const Script& define_script();
const Script& pause_script();
const Script& remove_script();
const Script& close_script();
const Script& replace_script();
const Script& shards_script();
const Script& join_script();
const Script& renew_script();
const Script& request_script();
const Script& leave_script();
const Script& acquire_script();
const Script& release_script();
const Script& catch_up_script();
const Script& erase_dead_script();
const Script& revive_script();

std::span<const Script* const> all_scripts();

/// Begins the call of `script`; `keys` + `arguments` words follow.
void call(CommandText& commands, const Script& script, std::size_t keys, std::size_t arguments);

}  // namespace ordo::store::redis
