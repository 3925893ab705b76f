// The steps that must be one, in the server's Lua. A script is short and knows nothing of the bytes it moves.
//
// At maxmemory Redis refuses a script's first write if that can make the data grow, and nothing after a first
// write that cannot. So whatever must work on a full server begins with XDEL, of an entry that is not there
// if need be (stores.md §6.2). Numbers of 64 bits stay text; those that are counted with are below 2^53.
#include "store/redis/scripts.h"

#include <array>

#include "base/digest.h"
#include "store/redis/keys.h"

namespace ordo::store::redis {
namespace {

constexpr std::array kRegistryKeys = {kQueuesKey, kRegistryKey, kNodesKey, kFactsKey, kRequestsKey, kWakeKey};

std::string sha_of(std::string_view text) { return to_hex(sha1(text)); }

}  // namespace

Script::Script(std::string script) : text(std::move(script)), sha(sha_of(text)) {}

void call(CommandText& commands, const Script& script, std::size_t keys, std::size_t arguments) {
  commands.begin(3 + keys + arguments);
  commands.word(std::string_view("EVALSHA"));
  commands.word(std::string_view(script.sha));
  commands.word(keys);
}

void registry_call(CommandText& commands, const Script& script, std::size_t arguments) {
  call(commands, script, kRegistryKeys.size(), arguments);
  for (const auto key : kRegistryKeys) commands.word(key);
}

std::span<const Script* const> all_scripts() {
  static const std::array scripts = {
      &append_script(),       &commit_script(),     &revive_script(),       &erase_dead_script(),
      &create_script(),       &acquire_script(),    &free_script(),         &release_script(),
      &catch_up_script(),     &find_queue_script(), &pause_script(),        &name_queue_script(),
      &forget_queue_script(), &join_script(),       &renew_script(),        &request_script(),
      &leave_script(),        &nodes_script(),      &close_script(),        &replace_script(),
      &left_script(),         &close_log_script(),  &restore_script(),      &wait_row_script(),
      &step_row_script(),     &answer_script(),     &replace_kept_script(), &histories_script(),
      &sweep_waits_script(),
  };
  return scripts;
}

}  // namespace ordo::store::redis
