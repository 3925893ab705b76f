#include "cli/table.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/assert.h"

namespace ordo::cli {
namespace {

constexpr std::size_t kWidestCell = 60;

std::string_view colour_of(Tone tone) {
  switch (tone) {
    case Tone::plain:
      return "";
    case Tone::dim:
      return "\033[2m";
    case Tone::good:
      return "\033[32m";
    case Tone::warning:
      return "\033[33m";
    case Tone::bad:
      return "\033[31m";
  }
  return "";
}

}  // namespace

void Table::add(std::vector<Cell> row) {
  ORDO_ASSERT(row.size() == columns_.size());
  for (Cell& cell : row) cell.text = printable(cell.text, kWidestCell);
  rows_.push_back(std::move(row));
}

std::string coloured(const Cell& cell, Colours colours) {
  const std::string_view colour = colours == Colours::on ? colour_of(cell.tone) : "";
  return colour.empty() ? cell.text : fmt::format("{}{}\033[0m", colour, cell.text);
}

std::string Table::text(Colours colours) const {
  std::vector<Cell> titles;
  std::vector<std::size_t> widths;
  for (const Column& column : columns_) {
    titles.push_back({column.title, Tone::dim});
    widths.push_back(display_width(column.title));
  }
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], display_width(row[i].text));
  }
  std::string text;
  const auto append = [&](const std::vector<Cell>& row) {
    std::string gap;  // printed only before more text, so that lines do not end in spaces
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string pad(widths[i] - display_width(row[i].text), ' ');
      const bool right = columns_[i].side == Side::right;
      if (right) gap += pad;
      if (!row[i].text.empty()) {
        text += gap + coloured(row[i], colours);
        gap.clear();
      }
      gap += (right ? "" : pad) + "  ";
    }
    text += '\n';
  };
  append(titles);
  for (const auto& row : rows_) append(row);
  return text;
}

}  // namespace ordo::cli
