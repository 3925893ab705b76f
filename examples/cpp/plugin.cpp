// Workers in a library that `ordo work -r ./libexample_plugin.so` or `library = "./libexample_plugin.so"`
// loads.

#include <iostream>

#include <ordo/ordo.hpp>

extern "C" const int ordo_abi = ordo::kAbi;  // must match the program's

extern "C" void ordo_load(ordo::Server& server) {
  server.add("orders", ordo::make_worker<ordo::Json>([](const ordo::TypedJob<ordo::Json>& job) {
               const auto total = job.payload()["total"].as_int();
               if (total < 0) throw std::runtime_error("a negative total");
               std::cout << "shipped " + job.id + " over " + std::to_string(total) + "\n" << std::flush;
             }));
  server.add("orders", ordo::make_worker([](ordo::Batch& batch) {
               for (const auto& job : batch.jobs()) std::cout << "refunded " + job.id + "\n" << std::flush;
             }),
             "refund");
}
