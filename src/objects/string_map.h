// Labels and annotations: a map from Text to Text kept as one sorted vector. Sixteen bytes an
// entry, and shared keys and values cost nothing more.
#pragma once

#include <initializer_list>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"

namespace lockstep {

class StringMap {
 public:
  using Entry = std::pair<Text, Text>;

  StringMap() = default;
  StringMap(std::initializer_list<Entry> entries);
  // Any order; of equal keys the last wins, as in JSON. Takes exactly the memory it needs.
  static StringMap from_entries(const std::vector<Entry>& entries);

  // Null when the key is missing. Any change makes the pointer invalid.
  const Text* find(std::string_view key) const;
  // Empty when the key is missing.
  std::string_view get(std::string_view key) const;
  bool contains(std::string_view key) const { return find(key) != nullptr; }
  // As LabelSelector::Labels asks.
  std::optional<std::string_view> value_of(std::string_view key) const;

  void set(Text key, Text value);
  bool erase(std::string_view key);

  bool empty() const { return entries_.empty(); }
  size_t size() const { return entries_.size(); }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }
  bool operator==(const StringMap&) const = default;

 private:
  std::vector<Entry> entries_;
};

}  // namespace lockstep
