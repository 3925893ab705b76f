#include "domain/payload_set.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
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
  bytes.copy(block_->bytes, bytes.size());  // none may have no place
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

Seq last_arrival(const Piece& piece) { return std::max(piece.seq, piece.newest); }

// Two places are the same only where a copy of the log has no entry of either any more.
bool before(const Piece& a, const Piece& b) {
  if (a.score != b.score) return a.score < b.score;
  return last_arrival(a) != last_arrival(b) ? last_arrival(a) < last_arrival(b) : a.seq > b.seq;
}

bool equal(const Piece& a, const Piece& b) {
  return a.bytes.present() && b.bytes.present() && a.bytes.view() == b.bytes.view();
}

PayloadSet::Merged join(Piece& kept, Piece& other, EqualPayloads which) {
  PayloadSet::Merged merged;
  if (other.seq < kept.seq) {
    std::swap(kept.seq, other.seq);
    std::swap(kept.score, other.score);
    std::swap(kept.newest, other.newest);
  }
  merged.kept = kept.seq;
  merged.duplicate = other.seq;
  const bool is_newest = which == EqualPayloads::newest;
  merged.score_changed = is_newest ? before(kept, other) : other.score < kept.score;
  if (merged.score_changed) {
    kept.score = other.score;
    kept.newest = is_newest ? last_arrival(other) : 0;
  }
  merged.score = kept.score;
  merged.newest = kept.newest;
  return merged;
}

constexpr std::size_t kFew = 16;  // so many are compared one by one

}  // namespace

// ------------------------------------------------------------------------------------------------------ many

PayloadSet::Many::Many(std::vector<Piece> all) : pieces(std::move(all)), sorted(false) {
  arrival = pieces.front().seq;
  for (const auto& piece : pieces) {
    arrival = std::min(arrival, piece.seq);
    last = std::max(last, piece.seq);
  }
}

void PayloadSet::Many::add(Piece piece) {
  arrival = std::min(arrival, piece.seq);
  last = std::max(last, piece.seq);
  sorted = sorted && before(pieces.back(), piece);
  pieces.push_back(std::move(piece));
}

void PayloadSet::Many::sort() {
  if (std::exchange(sorted, true)) return;
  std::sort(pieces.begin(), pieces.end(), before);
  forget_index();
}

void PayloadSet::Many::forget_index() {
  by_bytes.clear();
  indexed = 0;
}

Piece* PayloadSet::Many::find(const Piece& other) {
  if (!other.bytes.present()) return nullptr;
  if (pieces.size() <= kFew) {
    const auto found = std::ranges::find_if(pieces, [&](const Piece& kept) { return equal(kept, other); });
    return found == pieces.end() ? nullptr : &*found;
  }
  const std::hash<std::string_view> hash;
  for (; indexed < pieces.size(); ++indexed) {
    const auto& bytes = pieces[indexed].bytes;
    if (bytes.present()) by_bytes.emplace(hash(bytes.view()), static_cast<std::uint32_t>(indexed));
  }
  const auto [first, end] = by_bytes.equal_range(hash(other.bytes.view()));
  for (auto at = first; at != end; ++at) {
    if (equal(pieces[at->second], other)) return &pieces[at->second];
  }
  return nullptr;
}

// ------------------------------------------------------------------------------------------------------- set

std::span<const Piece> PayloadSet::pieces() const {
  if (!many_) return {&one_, 1};
  many_->sort();
  return many_->pieces;
}

Seq PayloadSet::last() const { return many_ ? many_->last : one_.seq; }

std::optional<PayloadSet::Merged> PayloadSet::add(Piece piece, EqualPayloads which) {
  if (!many_) {
    if (equal(one_, piece)) return join(one_, piece, which);
    std::vector<Piece> both;
    both.push_back(std::move(one_));
    both.push_back(std::move(piece));
    many_ = std::make_unique<Many>(std::move(both));
    return std::nullopt;
  }
  Piece* kept = many_->find(piece);
  if (kept == nullptr) {
    many_->add(std::move(piece));
    return std::nullopt;
  }
  const auto seq = kept->seq;
  const auto merged = join(*kept, piece, which);
  many_->arrival = std::min(many_->arrival, kept->seq);
  if (kept->seq != seq || merged.score_changed) many_->sorted = false;
  // The later of the two has gone: the set ends where its last piece is.
  if (merged.duplicate == many_->last) settle(std::move(many_->pieces));
  return merged;
}

std::vector<PayloadSet::Merged> PayloadSet::merge_duplicates(EqualPayloads which) {
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
      merged.push_back(join(kept.back(), piece, which));
    } else {
      kept.push_back(std::move(piece));
    }
  }
  settle(std::move(kept));
  return merged;
}

Piece PayloadSet::remove(std::size_t index) {
  if (!many_) return std::move(one_);
  many_->sort();
  auto& all = many_->pieces;
  Piece removed = std::move(all[index]);
  all.erase(all.begin() + static_cast<std::ptrdiff_t>(index));
  settle(std::move(all));
  return removed;
}

void PayloadSet::drop(std::span<const Seq> entries) {
  ORDO_ASSERT(many_);
  auto left = std::move(many_->pieces);
  std::erase_if(left,
                [&](const Piece& piece) { return std::ranges::find(entries, piece.seq) != entries.end(); });
  ORDO_ASSERT(!left.empty());
  settle(std::move(left));
}

std::vector<Piece> PayloadSet::take_first(std::size_t count) {
  ORDO_ASSERT(many_ && count < many_->pieces.size());
  many_->sort();
  auto& all = many_->pieces;
  const auto end = all.begin() + static_cast<std::ptrdiff_t>(count);
  std::vector<Piece> taken(std::move_iterator(all.begin()), std::move_iterator(end));
  all.erase(all.begin(), end);
  settle(std::move(all));
  return taken;
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

void PayloadSet::forget_bytes() {
  if (many_) many_->forget_index();
  for (auto& piece : stored()) piece.bytes = {};
}

bool PayloadSet::all_present() const {
  const auto is_present = [](const Piece& piece) { return piece.bytes.present(); };
  return many_ ? std::ranges::all_of(many_->pieces, is_present) : is_present(one_);
}

std::vector<std::pair<Seq, double>> PayloadSet::absent() const {
  std::vector<std::pair<Seq, double>> absent;
  for (const auto& piece : pieces()) {
    if (!piece.bytes.present()) absent.emplace_back(piece.seq, piece.score);
  }
  return absent;
}

void PayloadSet::drop_absent() {
  if (!many_) return;
  std::erase_if(many_->pieces, [](const Piece& piece) { return !piece.bytes.present(); });
  settle(std::move(many_->pieces));
}

void PayloadSet::settle(std::vector<Piece> pieces) {
  if (pieces.size() == 1) {
    Piece last = std::move(pieces.front());
    many_.reset();
    one_ = std::move(last);
  } else {
    many_ = std::make_unique<Many>(std::move(pieces));
  }
}

}  // namespace ordo::domain
