#include <iostream>
#include <ordo/ordo.hpp>

int main() {
  ordo::Client client(ordo::Config{.store = "memory:", .queues = {{.name = "orders"}}});
  const std::string id = client.push("orders", {.id = "42", .payload = R"({"total":7})"});
  std::cout << "pushed 1: " << id << "\n";
}
