#include "runtime/node_end.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "runtime/trouble.h"

namespace ordo::runtime {
namespace node_end_test {

using State = NodeEnd::State;

// What of {released, engine_over, runs, rest} makes an end.
TEST(NodeEnd, knows_when_runs_are_over_and_when_nothing_is_left) {
  const struct {
    State state;
    bool runs_are_over, is_idle;
  } cases[] = {
      {{}, false, false},
      {{.runs = 1, .rest = 1, .released = true}, false, false},
      {{.rest = 1, .released = true}, true, false},
      {{.released = true}, true, true},
      {{.runs = 1, .rest = 1, .engine_over = true}, false, false},
      {{.rest = 1, .engine_over = true}, true, true},  // it gives nothing back any more
  };
  for (const auto& [state, runs_are_over, is_idle] : cases) {
    EXPECT_EQ(state.runs_are_over(), runs_are_over);
    EXPECT_EQ(state.is_idle(), is_idle);
  }
}

TEST(NodeEnd, keeps_the_first_failure_and_stops_for_it) {
  NodeEnd end;
  EXPECT_FALSE(end.state().failed());
  EXPECT_TRUE(end.fail(std::make_exception_ptr(std::runtime_error("first"))));
  EXPECT_FALSE(end.fail(std::make_exception_ptr(std::runtime_error("second"))));
  EXPECT_TRUE(end.state().stopping);
  EXPECT_EQ(text_of(end.state().failure), "first");
}

TEST(NodeEnd, who_waits_hears_of_what_is_so_already) {
  NodeEnd end;
  end.note_work(0, 3);
  end.note([](State& state) { state.released = true; });
  EXPECT_EQ(end.wait(&State::runs_are_over).rest, 3U);
  EXPECT_FALSE(end.wait(Duration{0}, &State::is_idle).is_idle());
}

}  // namespace node_end_test
}  // namespace ordo::runtime
