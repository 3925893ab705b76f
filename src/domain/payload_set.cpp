#include "domain/payload_set.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "base/assert.h"

namespace ordo::domain {

struct CachedBytes::Block {
  PayloadBudget* budget;
  std::uint32_t size;
  char bytes[1];

  static constexpr std::size_t kOverhead = 32;  // header, and what malloc adds
};

CachedBytes::CachedBytes(std::string_view bytes, PayloadBudget& budget) {
  block_ =
      static_cast<Block*>(::operator new(offsetof(Block, bytes) + std::max<std::size_t>(bytes.size(), 1)));
  block_->budget = &budget;
  block_->size = static_cast<std::uint32_t>(bytes.size());
  std::memcpy(block_->bytes, bytes.data(), bytes.size());
  budget.used += bytes.size() + Block::kOverhead;
}

CachedBytes& CachedBytes::operator=(CachedBytes&& other) noexcept {
  if (this != &other) {
    drop();
    block_ = std::exchange(other.block_, nullptr);
  }
  return *this;
}

std::string_view CachedBytes::view() const {
  ORDO_ASSERT(block_ != nullptr);
  return {block_->bytes, block_->size};
}

void CachedBytes::drop() {
  if (block_ == nullptr) return;
  block_->budget->used -= block_->size + Block::kOverhead;
  ::operator delete(block_);
  block_ = nullptr;
}

namespace {

bool before(const Piece& a, const Piece& b) { return a.score != b.score ? a.score < b.score : a.seq < b.seq; }

bool equal(const Piece& a, const Piece& b) {
  return a.bytes.present() && b.bytes.present() && a.bytes.view() == b.bytes.view();
}

PayloadSet::Merged join(Piece& kept, Piece& other) {
  PayloadSet::Merged merged;
  if (other.seq < kept.seq) {
    std::swap(kept.seq, other.seq);
    std::swap(kept.score, other.score);
  }
  merged.kept = kept.seq;
  merged.duplicate = other.seq;
  merged.score_changed = other.score < kept.score;
  kept.score = std::min(kept.score, other.score);
  return merged;
}

}  // namespace

std::span<const Piece> PayloadSet::pieces() const {
  return many_ ? std::span<const Piece>(many_->pieces) : std::span<const Piece>(&one_, 1);
}

std::span<Piece> PayloadSet::pieces() {
  return many_ ? std::span<Piece>(many_->pieces) : std::span<Piece>(&one_, 1);
}

Seq PayloadSet::last() const {
  Seq last = 0;
  for (const auto& piece : pieces()) last = std::max(last, piece.seq);
  return last;
}

std::optional<PayloadSet::Merged> PayloadSet::add(Piece piece) {
  for (auto& kept : pieces()) {
    if (!equal(kept, piece)) continue;
    const auto merged = join(kept, piece);
    if (many_) settle(std::move(many_->pieces));
    return merged;
  }
  if (!many_) {
    many_ = std::make_unique<Many>();
    many_->arrival = one_.seq;
    many_->pieces.push_back(std::move(one_));
  }
  many_->arrival = std::min(many_->arrival, piece.seq);
  auto& all = many_->pieces;
  all.insert(std::upper_bound(all.begin(), all.end(), piece, before), std::move(piece));
  return std::nullopt;
}

std::vector<PayloadSet::Merged> PayloadSet::merge_duplicates() {
  std::vector<Merged> merged;
  if (!many_) return merged;
  auto left = std::move(many_->pieces);
  // By bytes, then arrival: equal ones stand together, the earliest first.
  std::sort(left.begin(), left.end(), [](const Piece& a, const Piece& b) {
    const int order = a.bytes.view().compare(b.bytes.view());
    return order != 0 ? order < 0 : a.seq < b.seq;
  });
  std::vector<Piece> kept;
  for (auto& piece : left) {
    if (!kept.empty() && equal(kept.back(), piece)) {
      merged.push_back(join(kept.back(), piece));
    } else {
      kept.push_back(std::move(piece));
    }
  }
  settle(std::move(kept));
  return merged;
}

Piece PayloadSet::remove(std::size_t index) {
  if (!many_) return std::move(one_);
  auto& all = many_->pieces;
  Piece removed = std::move(all[index]);
  all.erase(all.begin() + static_cast<std::ptrdiff_t>(index));
  settle(std::move(all));
  return removed;
}

std::vector<Piece> PayloadSet::take_all() {
  std::vector<Piece> all;
  if (many_) {
    all = std::move(many_->pieces);
    many_.reset();
  } else {
    all.push_back(std::move(one_));
  }
  return all;
}

bool PayloadSet::all_present() const {
  return std::all_of(pieces().begin(), pieces().end(),
                     [](const Piece& piece) { return piece.bytes.present(); });
}

void PayloadSet::settle(std::vector<Piece> pieces) {
  if (pieces.size() == 1) {
    Piece last = std::move(pieces.front());
    many_.reset();
    one_ = std::move(last);
    return;
  }
  std::sort(pieces.begin(), pieces.end(), before);
  if (!many_) many_ = std::make_unique<Many>();
  many_->pieces = std::move(pieces);
  many_->arrival =
      std::min_element(many_->pieces.begin(), many_->pieces.end(), [](const Piece& a, const Piece& b) {
        return a.seq < b.seq;
      })->seq;
}

}  // namespace ordo::domain
