// A program that is the whole command line of Ordo, with workers of its own: `example_own_cli work`, `…
// push`, `… stats`.

#include <iostream>

#include <ordo/ordo.hpp>

int main(int argc, char** argv) {
  return ordo::main(argc, argv, [](ordo::Server& server) {
    server.add("orders", ordo::make_worker([](ordo::Batch& batch) {
                 for (const auto& job : batch.jobs()) std::cout << "shipped " + job.id + "\n" << std::flush;
               }));
  });
}
