#include <ordo/decimal.hpp>

#include <algorithm>

namespace ordo {
namespace {

constexpr std::size_t kPlaces = 6, kDigits = 10;

bool are_digits(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

std::optional<Decimal> Decimal::parse(std::string_view text) {
  const auto point = std::min(text.find('.'), text.size());
  const auto whole = text.substr(0, point);
  auto places = point < text.size() ? std::string(text.substr(point + 1)) : std::string{};
  if (whole.empty() || whole.size() > kDigits || !are_digits(whole) || !are_digits(places))
    return std::nullopt;
  if (places.size() > kPlaces || (point < text.size() && places.empty())) return std::nullopt;
  places.resize(kPlaces, '0');
  const auto millionths = std::stoll(std::string(whole)) * kOne + std::stoll(places);
  return millionths <= kMost ? std::optional(of_millionths(millionths)) : std::nullopt;
}

std::string Decimal::text() const {
  const auto size =
      millionths_ < 0 ? 0 - static_cast<std::uint64_t>(millionths_) : static_cast<std::uint64_t>(millionths_);
  std::string text = std::to_string(size / kOne);
  if (auto places = std::to_string(kOne + static_cast<std::int64_t>(size % kOne)).substr(1);
      places.find_first_not_of('0') != std::string::npos) {
    places.erase(places.find_last_not_of('0') + 1);
    text += '.' + places;
  }
  return millionths_ < 0 ? '-' + text : text;
}

}  // namespace ordo
