#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/terminal_text.h"

namespace ordo::cli {

enum class Tone : std::uint8_t { plain, dim, good, warning, bad };

struct Cell {
  std::string text;
  Tone tone = Tone::plain;
};

enum class Colours : std::uint8_t { off, on };

/// The cell's text in the colour of its tone.
std::string coloured(const Cell& cell, Colours colours);

enum class Side : std::uint8_t { left, right };

struct Column {
  std::string title;
  Side side = Side::left;
};

/// Rows for people, aligned by display width.
class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// One cell per column.
  void add(std::vector<Cell> row);

  std::string text(Colours colours) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace ordo::cli
