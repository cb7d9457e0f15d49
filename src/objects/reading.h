// What the decoders of typed objects share. For .cc files of this folder.
#pragma once

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"
#include "data/json_reader.h"
#include "objects/decode_context.h"
#include "objects/int_or_percent.h"
#include "objects/selector.h"
#include "objects/string_map.h"

// A decoder is a template over the reader; its .cc makes it for both.
#define LOCKSTEP_INSTANTIATE_DECODE(Type)                   \
  template void decode(JsonReader&, Type&, DecodeContext&); \
  template void decode(TreeReader&, Type&, DecodeContext&)

namespace lockstep {

// Strings of which no other object has the same are not worth a place in the pool.
template <typename Reader>
Text read_unique(Reader& in) {
  return in.text_of_its_own();
}

template <typename Reader>
Time read_time(Reader& in, DecodeContext& context) {
  std::string_view text = in.text();
  if (text.empty()) return {};
  auto time = parse_rfc3339(text);
  if (time) return *time;
  context.fail(time.error().text());
  return {};
}

template <typename Reader>
StringMap read_string_map(Reader& in, DecodeContext& context,
                          const std::vector<std::string>& drop = {}) {
  auto& entries = context.entries;
  entries.clear();
  in.object([&](std::string_view key) {
    for (const std::string& name : drop) {
      bool dropped = name.ends_with('/') ? key.starts_with(name) : key == name;
      if (dropped) return in.skip();
    }
    Text interned = context.pool.intern(key);
    entries.emplace_back(std::move(interned), in.text(context.pool));
  });
  StringMap map = StringMap::from_entries(entries);
  entries.clear();
  return map;
}

// Anything with a decode() of its own.
template <typename T, typename Reader>
void read_vector(Reader& in, std::vector<T>& values, DecodeContext& context) {
  values.clear();
  in.array([&] { decode(in, values.emplace_back(), context); });
  values.shrink_to_fit();
}

template <typename Reader>
void read_texts(Reader& in, std::vector<Text>& values, DecodeContext& context) {
  values.clear();
  in.array([&] { values.push_back(in.text(context.pool)); });
  values.shrink_to_fit();
}

template <typename Reader>
LabelSelector read_selector(Reader& in, DecodeContext& context) {
  Json tree = in.tree();
  if (in.failed()) return LabelSelector::nothing();
  auto selector = LabelSelector::from_json(&tree);
  if (selector) return std::move(*selector);
  context.fail(selector.error().text());
  return LabelSelector::nothing();
}

template <typename Reader>
std::optional<IntOrPercent> read_int_or_percent(Reader& in, std::string_view field,
                                                DecodeContext& context) {
  Json tree = in.tree();
  if (in.failed() || tree.is_null()) return std::nullopt;
  auto value = IntOrPercent::from_json(tree);
  if (value) return *value;
  context.fail(fmt::format("{}: {}", field, value.error().text()));
  return std::nullopt;
}

}  // namespace lockstep
