// The binary format of parameters and results: big-endian, lengths before bytes.
#include <algorithm>
#include <bit>
#include <cstring>

#include "store/postgres/connection.h"

namespace ordo::store::postgres {
namespace {

template <class T>
void put(std::string& out, T value) {
  char bytes[sizeof value];
  for (std::size_t i = 0; i < sizeof value; ++i) {
    bytes[i] = static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * (sizeof value - 1 - i)) & 0xff);
  }
  out.append(bytes, sizeof value);
}

template <class T>
T get(const char* bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return static_cast<T>(value);
}

std::string array_of(std::size_t count, Oid element) {
  std::string out;
  put(out, std::int32_t{count == 0 ? 0 : 1});  // dimensions
  put(out, std::int32_t{0});                   // no NULLs
  put(out, element);
  if (count > 0) {
    put(out, static_cast<std::int32_t>(count));
    put(out, std::int32_t{1});  // the first index
  }
  return out;
}

}  // namespace

Parameters& Parameters::add(std::string_view value, Oid type) {
  values_.emplace_back(std::in_place, value);
  types_.push_back(type);
  return *this;
}

Parameters& Parameters::number(std::int64_t value) { return maybe(value); }

Parameters& Parameters::maybe(std::optional<std::int64_t> value) {
  auto& bytes = values_.emplace_back();
  if (value) put(bytes.emplace(), *value);
  types_.push_back(kInt8);
  return *this;
}

Parameters& Parameters::flag(bool value) { return add(std::string_view(value ? "\1" : "\0", 1), kBool); }

Parameters& Parameters::numbers(std::span<const std::int64_t> values) {
  auto out = array_of(values.size(), kInt8);
  out.reserve(out.size() + values.size() * 12);
  for (const auto value : values) {
    put(out, std::int32_t{8});
    put(out, value);
  }
  values_.emplace_back(std::move(out));
  types_.push_back(kInt8Array);
  return *this;
}

Parameters& Parameters::flags(std::span<const bool> values) {
  auto out = array_of(values.size(), kBool);
  for (const bool value : values) {
    put(out, std::int32_t{1});
    out.push_back(value ? '\1' : '\0');
  }
  values_.emplace_back(std::move(out));
  types_.push_back(kBoolArray);
  return *this;
}

template <class String>
Parameters& Parameters::strings(std::span<const String> values, Oid element, Oid array) {
  auto out = array_of(values.size(), element);
  std::size_t size = out.size();
  for (const auto& value : values) size += 4 + value.size();
  out.reserve(size);
  for (const auto& value : values) {
    put(out, static_cast<std::int32_t>(value.size()));
    out.append(value);
  }
  values_.emplace_back(std::move(out));
  types_.push_back(array);
  return *this;
}

template Parameters& Parameters::strings(std::span<const std::string>, Oid, Oid);
template Parameters& Parameters::strings(std::span<const std::string_view>, Oid, Oid);

Parameters::Pointers Parameters::pointers() const {
  Pointers pointers;
  for (const auto& value : values_) {
    pointers.values.push_back(value ? value->data() : nullptr);
    pointers.lengths.push_back(value ? static_cast<int>(value->size()) : 0);
    pointers.formats.push_back(1);
  }
  return pointers;
}

std::int64_t Result::number(int row, int column) const {
  const char* const bytes = PQgetvalue(result_.get(), row, column);
  return PQgetlength(result_.get(), row, column) == 4 ? get<std::int32_t>(bytes) : get<std::int64_t>(bytes);
}

std::vector<std::int64_t> Result::numbers(int row, int column) const {
  const auto array = bytes(row, column);
  std::vector<std::int64_t> numbers;
  if (is_null(row, column) || get<std::int32_t>(array.data()) == 0) return numbers;
  const auto count = get<std::int32_t>(array.data() + 12);
  for (std::int32_t i = 0; i < count; ++i)
    numbers.push_back(get<std::int64_t>(array.data() + 20 + i * 12 + 4));
  return numbers;
}

}  // namespace ordo::store::postgres
