// What was decoded of documents that others in the process decode too: a store in memory hands the
// same document to every watch, list and read. It keeps nothing alive, and what it forgets is
// decoded again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "data/json.h"

namespace lockstep::kube {

template <typename T>
class DecodedObjects {
 public:
  using Object = std::shared_ptr<const T>;

  // Null: it is not known.
  Object find(const Document& document) const {
    if (entries_.empty()) return nullptr;
    const Entry& entry = entries_[place_of(document)];
    // Where one is gone, another may be at its address.
    const bool is_it = entry.address == document.get() && !entry.document.expired();
    return is_it ? entry.object.lock() : nullptr;
  }

  void keep(const Document& document, const Object& object) {
    if (entries_.empty()) entries_.resize(places);
    entries_[place_of(document)] = {document.get(), document, object};
  }

 private:
  static constexpr size_t places = 1 << 12;
  struct Entry {
    const Json* address = nullptr;
    std::weak_ptr<const Json> document;
    std::weak_ptr<const T> object;
  };
  static size_t place_of(const Document& document) {
    constexpr uint64_t factor = 0x9e3779b97f4a7c15ULL;
    return (reinterpret_cast<uintptr_t>(document.get()) * factor) >> (64 - 12);
  }

  std::vector<Entry> entries_;
};

}  // namespace lockstep::kube
