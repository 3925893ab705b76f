// Pushes orders and ships them in the same program, with a type of its own as payload.

#include <iostream>
#include <string>

#include <ordo/ordo.hpp>

struct Order {
  std::string customer;
  long total = 0;
};

template <>
struct ordo::Codec<Order> {
  static std::string encode(const Order& order) {
    return R"({"customer":")" + order.customer + R"(","total":)" + std::to_string(order.total) + "}";
  }
  static Order decode(std::string_view bytes) {
    const Json json = Json::parse(bytes);
    return {json["customer"].as_string(), static_cast<long>(json["total"].as_int())};
  }
};

int main(int argc, char** argv) {
  ordo::Config config;
  config.store = argc > 1 ? argv[1] : "memory:";
  config.queues = {{.name = "orders", .max_retries = 5}};

  ordo::Server server(config);
  server.add("orders", ordo::make_worker<Order>([](const ordo::TypedJob<Order>& job) {
               const Order& newest = job.payload();
               if (newest.total < 0)
                 throw std::runtime_error("a negative total");  // fails this job: it is retried
               std::cout << "shipped order " + job.id + " of " + newest.customer + " over " +
                                std::to_string(newest.total) + " (" + std::to_string(job.payloads.size()) +
                                " payloads)\n";
             }));

  ordo::Client client = server.client();  // another process would make its own: ordo::Client client(config);
  client.push_value("orders", Order{"Ann", 7}, {.id = "42", .score = 1});
  client.push_value("orders", Order{"Ann", 9}, {.id = "42", .score = 2});  // merges: order 42 still waits

  server.start();
  server.drain();  // a service would wait() instead
  server.stop();
}
