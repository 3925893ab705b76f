#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <ordo/options.hpp>

#include "server/config_reading.h"

// The tables that are values of a queue's or a kind's keys. All fail as Reading does.
namespace ordo::server {

void read_retry(RetryPolicy& retry, const Reading& value);
std::vector<Window> read_windows(const Reading& value);
Unique read_unique(const Reading& value);
RateLimit read_rate(const Reading& value);
std::map<std::string, std::uint32_t> read_shares(const Reading& value);

}  // namespace ordo::server
