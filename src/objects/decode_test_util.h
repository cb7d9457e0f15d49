// For tests of decoders: reads a string with both readers and requires the same result.
#pragma once

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "objects/decode.h"

namespace lockstep {

template <typename T>
Result<T> decode_both(std::string_view text) {
  DecodeContext context;
  Result<T> from_bytes = decode_object<T>(text, context);
  auto tree = parse_json(text);
  EXPECT_TRUE(tree.has_value()) << text;
  if (!tree) return from_bytes;
  Result<T> from_tree = decode_object<T>(*tree, context);
  EXPECT_EQ(from_bytes.has_value(), from_tree.has_value());
  if (from_bytes && from_tree) {
    EXPECT_TRUE(*from_bytes == *from_tree);
  }
  return from_bytes;
}

// The object; a test failure if decoding fails.
template <typename T>
T decoded(std::string_view text) {
  Result<T> object = decode_both<T>(text);
  EXPECT_TRUE(object.has_value()) << (object ? "" : object.error().text());
  return object ? *object : T();
}

// The error's text; a test failure if decoding succeeds.
template <typename T>
std::string decode_error(std::string_view text) {
  Result<T> object = decode_both<T>(text);
  EXPECT_FALSE(object.has_value()) << text;
  return object ? "" : object.error().text();
}

}  // namespace lockstep
