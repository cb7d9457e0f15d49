// The objects under one value of a cache's index, in the order of their keys. A DaemonSet has a pod
// on every node: in one row of a hundred thousand, every pod that comes or goes would move half of
// the others, so the row is cut into pieces.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace lockstep::kube {

// Slot has a key() that can be compared.
template <typename Slot>
class CacheBucket {
 public:
  void insert(const Slot* slot) {
    if (pieces_.empty()) pieces_.emplace_back();
    auto piece = piece_of(slot);
    piece->insert(place_in(*piece, slot), slot);
    ++size_;
    if (piece->size() <= largest_piece) return;
    auto middle = piece->begin() + largest_piece / 2;
    std::vector<const Slot*> second(middle, piece->end());
    piece->erase(middle, piece->end());
    pieces_.insert(piece + 1, std::move(second));
  }

  void erase(const Slot* slot) {
    if (pieces_.empty()) return;
    auto piece = piece_of(slot);
    auto at = place_in(*piece, slot);
    if (at == piece->end() || *at != slot) return;
    piece->erase(at);
    --size_;
    if (piece->empty()) pieces_.erase(piece);
  }

  template <typename Visit>
  void for_each(const Visit& visit) const {
    for (const auto& piece : pieces_) {
      for (const Slot* slot : piece) visit(*slot);
    }
  }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

 private:
  static constexpr ptrdiff_t largest_piece = 512;
  using Piece = std::vector<const Slot*>;

  // The last that begins at or before the slot's key, or the first.
  typename std::vector<Piece>::iterator piece_of(const Slot* slot) {
    auto after = std::upper_bound(pieces_.begin() + 1, pieces_.end(), slot,
                                  [](const Slot* wanted, const Piece& piece) {
                                    return wanted->key() < piece.front()->key();
                                  });
    return after - 1;
  }
  static typename Piece::iterator place_in(Piece& piece, const Slot* slot) {
    return std::lower_bound(piece.begin(), piece.end(), slot,
                            [](const Slot* a, const Slot* b) { return a->key() < b->key(); });
  }

  std::vector<Piece> pieces_;  // none of them empty
  size_t size_ = 0;
};

}  // namespace lockstep::kube
