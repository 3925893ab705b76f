#pragma once

#include <string>
#include <string_view>

#include <ordo/abi.hpp>

namespace ordo {

/// How a type travels as payload bytes. Specialise it for your own types:
///
///   template <> struct ordo::Codec<Order> {
///     static std::string encode(const Order& order);
///     static Order decode(std::string_view bytes);   // throws to fail the job
///   };
///
/// Equal values must encode to equal bytes: that is how payloads merge. <ordo/json.hpp> has the one for Json.
template <class T>
struct Codec;

/// Bytes as they are.
template <>
struct Codec<std::string> {
  static std::string encode(std::string_view bytes) { return std::string(bytes); }
  static std::string decode(std::string_view bytes) { return std::string(bytes); }
};

}  // namespace ordo
