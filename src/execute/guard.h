#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <ordo/time.hpp>

namespace ordo::execute {

/// What a program of ordo::main() runs as guard: itself.
inline constexpr std::string_view kOwnProgram = "/proc/self/exe";

/// The hidden first argument that makes a program the guard of one worker process.
inline constexpr std::string_view kGuardArgument = "--guard";

/// The guard's end of its socket to the node.
inline constexpr int kGuardFd = 3;

/// What a guard tells its node. One message is one packet.
struct GuardMessage {
  enum class Kind : std::int32_t {
    started,      ///< value: pid of the worker process
    not_started,  ///< value: errno
    ended,        ///< value: status as of wait()
    lease_ended,  ///< the process is being killed
  };
  Kind kind = Kind::started;
  std::int32_t value = 0;
};

/// Tells a guard the steady time at which it must kill. Drops the message when the guard does not read.
void send_lease_end(int socket, Duration end);

/// Nothing when there is no message.
std::optional<GuardMessage> receive_guard_message(int socket);

/// Runs `argv[2]…` as a child in the caller's process group, its standard streams passed through, and kills
/// the whole group, itself included, and a child that has left it, when the socket at kGuardFd closes (the
/// node died) or the lease ends. It stays after the child's end until then, so the node can end what the
/// child has left behind. To be called by main() before anything else when argv[1] is kGuardArgument; the
/// caller returns its result.
int guard_main(int argc, char** argv);

}  // namespace ordo::execute
