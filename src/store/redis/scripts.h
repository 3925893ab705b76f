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
/// Lua: add_entry(log, place, bytes, more), for scripts that append.
extern const char* const kEntriesLua;
const Script& append_script();
const Script& commit_script();
const Script& revive_script();
const Script& erase_dead_script();
const Script& replace_kept_script();
const Script& create_script();
const Script& restore_script();
const Script& acquire_script();
const Script& free_script();
const Script& release_script();
const Script& catch_up_script();
const Script& renumber_script();

// Those of waits (waits.cpp).
const Script& wait_row_script();
const Script& put_wait_script();
const Script& step_row_script();
const Script& answer_script();

// Those of the registry (registry_scripts.cpp). Their keys are always the same.
const Script& find_queue_script();
const Script& name_queue_script();
const Script& pause_script();
const Script& forget_queue_script();
const Script& close_script();
const Script& replace_script();
const Script& left_script();
const Script& close_log_script();
const Script& nodes_script();
const Script& join_script();
const Script& renew_script();
const Script& request_script();
const Script& leave_script();
const Script& histories_script();

std::span<const Script* const> all_scripts();

/// Begins the call of `script`; `keys` + `arguments` words follow. All keys that a script touches are named,
/// and are in one slot: half of it must not be refused, for half of the keys having moved.
void call(CommandText& commands, const Script& script, std::size_t keys, std::size_t arguments);

/// The same for a script of the registry, whose keys it adds.
void registry_call(CommandText& commands, const Script& script, std::size_t arguments);

}  // namespace ordo::store::redis
