#pragma once

#include <span>
#include <string>

#include "store/redis/lua_files.h"
#include "store/redis/resp.h"

namespace ordo::store::redis {

/// A step that the server does as one. Arguments and answers are bytes and decimal numbers.
struct Script {
  explicit Script(std::string text);

  const std::string text;
  const std::string sha;  ///< what the server calls it
};

/// Of the files, one after the other.
template <const char* const&... files>
const Script& script_of() {
  static const Script script((std::string() + ... + files));
  return script;
}

// What each takes and answers is said in its file.

// Of logs and shards.
inline const Script& append_script() { return script_of<kWithEntriesLua, kLogAppendLua>(); }
inline const Script& close_log_script() { return script_of<kLogCloseLua>(); }
inline const Script& catch_up_script() { return script_of<kLogCatchUpLua>(); }
inline const Script& renumber_script() { return script_of<kLogRenumberLua>(); }
inline const Script& commit_script() { return script_of<kWithAsideLua, kShardCommitLua>(); }
inline const Script& create_script() { return script_of<kWithShardMakerLua, kShardCreateLua>(); }
inline const Script& restore_script() { return script_of<kWithShardMakerLua, kShardRestoreLua>(); }
inline const Script& acquire_script() { return script_of<kWithAsideLua, kShardAcquireLua>(); }
inline const Script& free_script() { return script_of<kShardFreeLua>(); }
inline const Script& release_script() { return script_of<kShardReleaseLua>(); }

// Of what a shard keeps.
inline const Script& erase_dead_script() { return script_of<kWithDeadLua, kDeadEraseLua>(); }
inline const Script& revive_script() { return script_of<kWithEntriesLua, kWithDeadLua, kDeadReviveLua>(); }
inline const Script& replace_kept_script() { return script_of<kKeptReplaceLua>(); }

// Of waits, by the name of their queue.
inline const Script& wait_row_script() { return script_of<kWaitRowLua>(); }
inline const Script& sweep_waits_script() { return script_of<kWithRowsLua, kWaitSweepLua>(); }
inline const Script& step_row_script() { return script_of<kWithEntriesLua, kWithRowsLua, kWaitStepLua>(); }

// Of the registry. Their keys are always the same.
inline const Script& find_queue_script() { return script_of<kWithRegistryLua, kQueueFindLua>(); }
inline const Script& name_queue_script() { return script_of<kWithRegistryLua, kQueueNameLua>(); }
inline const Script& pause_script() { return script_of<kWithRegistryLua, kQueuePauseLua>(); }
inline const Script& close_script() { return script_of<kWithRegistryLua, kQueueCloseLua>(); }
inline const Script& replace_script() { return script_of<kWithRegistryLua, kQueueReplaceLua>(); }
inline const Script& forget_queue_script() { return script_of<kWithRegistryLua, kQueueForgetLua>(); }
inline const Script& left_script() { return script_of<kWithRegistryLua, kQueuesLeftLua>(); }
inline const Script& nodes_script() { return script_of<kWithRegistryLua, kNodesLua>(); }
inline const Script& join_script() { return script_of<kWithRegistryLua, kNodeJoinLua>(); }
inline const Script& renew_script() { return script_of<kWithRegistryLua, kNodeRenewLua>(); }
inline const Script& request_script() { return script_of<kWithRegistryLua, kNodeRequestLua>(); }
inline const Script& leave_script() { return script_of<kWithRegistryLua, kNodeLeaveLua>(); }

// Of the server.
inline const Script& histories_script() { return script_of<kHistoriesLua>(); }

// Of questions to a node.
inline const Script& answer_script() { return script_of<kQuestionAnswerLua>(); }

std::span<const Script* const> all_scripts();

/// Begins the call of `script`; `keys` + `arguments` words follow. All keys that a script touches are named,
/// and are in one slot: half of it must not be refused, for half of the keys having moved.
void call(CommandText& commands, const Script& script, std::size_t keys, std::size_t arguments);

/// The same for a script of the registry, whose keys it adds.
void registry_call(CommandText& commands, const Script& script, std::size_t arguments);

}  // namespace ordo::store::redis
