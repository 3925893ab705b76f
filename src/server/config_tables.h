#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <ordo/options.hpp>

#include "domain/option_table.h"
#include "server/config_reading.h"

// What keys_of() puts into options by code of its own: the tables that are values of a queue's or a kind's
// keys. All fail as Reading does.
namespace ordo::server {

void put(RetryPolicy& to, const domain::Own& values, const Reading& value);
void put(std::vector<Window>& to, const domain::Own& values, const Reading& value);
void put(Unique& to, const domain::Own& values, const Reading& value);
void put(RateLimit& to, const domain::Own& values, const Reading& value);
void put(std::map<std::string, std::uint32_t>& to, const domain::Own& values, const Reading& value);
void put(std::vector<AccessToken>& to, const domain::Own& values, const Reading& value);
void put(std::vector<SourceMap>& to, const domain::Own& values, const Reading& value);
void put(std::chrono::seconds& to, const domain::Own& values, const Reading& value);
void put(std::uint8_t& to, const domain::Own& values, const Reading& value);
void put(std::string& to, const domain::Own& values, const Reading& value);
void put(std::string& to, const domain::PayloadText& values, const Reading& value);
void put(std::string& to, const domain::RedisUrl& values, const Reading& value);
void put(std::string& to, const domain::Zone& values, const Reading& value);
void put(std::string& to, const domain::File& values, const Reading& value);
void put(std::vector<std::string>& to, const domain::Texts& values, const Reading& value);
void put(std::vector<Duration>& to, const domain::Own& values, const Reading& value);
void put(Execution& to, const domain::Command& values, const Reading& value);
void put(Execution& to, const domain::Library& values, const Reading& value);

}  // namespace ordo::server
