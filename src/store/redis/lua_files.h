#pragma once

namespace ordo::store::redis {

// The files of lua/ (cmake/embed.cmake). Those named with_… stand in front of others, which use their
// functions.
extern const char* const kDeadEraseLua;
extern const char* const kDeadReviveLua;
extern const char* const kHistoriesLua;
extern const char* const kKeptReplaceLua;
extern const char* const kLogAppendLua;
extern const char* const kLogCatchUpLua;
extern const char* const kLogCloseLua;
extern const char* const kLogRenumberLua;
extern const char* const kNodeJoinLua;
extern const char* const kNodeLeaveLua;
extern const char* const kNodeRenewLua;
extern const char* const kNodeRequestLua;
extern const char* const kNodesLua;
extern const char* const kQuestionAnswerLua;
extern const char* const kQueueCloseLua;
extern const char* const kQueueFindLua;
extern const char* const kQueueForgetLua;
extern const char* const kQueueNameLua;
extern const char* const kQueuePauseLua;
extern const char* const kQueueReplaceLua;
extern const char* const kQueuesLeftLua;
extern const char* const kShardAcquireLua;
extern const char* const kShardCommitLua;
extern const char* const kShardCreateLua;
extern const char* const kShardFreeLua;
extern const char* const kShardReleaseLua;
extern const char* const kShardRestoreLua;
extern const char* const kWaitRowLua;
extern const char* const kWaitStepLua;
extern const char* const kWaitSweepLua;
extern const char* const kWithAsideLua;
extern const char* const kWithDeadLua;
extern const char* const kWithEntriesLua;
extern const char* const kWithRegistryLua;
extern const char* const kWithRowsLua;
extern const char* const kWithShardMakerLua;

}  // namespace ordo::store::redis
