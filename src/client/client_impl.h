#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>

#include <ordo/client.hpp>

#include "client/store_handle.h"
#include "domain/entry.h"

namespace ordo {

class Client::Impl {
 public:
  explicit Impl(std::shared_ptr<StoreHandle> handle) : handle_(std::move(handle)) {}

  std::vector<std::string> push(std::string_view queue, std::vector<NewJob> jobs);
  std::vector<std::string> push_async(std::string_view queue, std::vector<NewJob> jobs,
                                      std::function<void(std::exception_ptr)> done);
  void use(ClientMiddleware middleware) { middlewares_.push_back(std::move(middleware)); }
  StoreHandle& handle() { return *handle_; }

 private:
  struct Prepared {
    std::vector<std::string> ids;
    std::vector<store::NewEntry> entries;
    std::size_t bytes = 0;
  };

  Prepared prepare(const std::string& queue, std::vector<NewJob> jobs);
  void append(const std::string& queue, Prepared prepared, std::function<void(std::exception_ptr)> done);
  std::vector<std::string> through_middlewares(
      const std::string& queue, std::vector<NewJob> jobs,
      const std::function<std::vector<std::string>(std::vector<NewJob>)>& last);

  std::shared_ptr<StoreHandle> handle_;
  std::vector<ClientMiddleware> middlewares_;
  std::mutex mutex_;
  std::condition_variable room_;
  std::size_t under_way_ = 0;  // bytes
};

}  // namespace ordo
