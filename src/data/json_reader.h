// Reading JSON without building a tree: the decoders of typed objects pull the fields they want and
// skip the rest. Two sources with the same shape: JsonReader over bytes (a list of ten thousand nodes
// from the network) and TreeReader over a parsed document (the in-process API). A decoder is a
// template over the two:
//
//   template <typename Reader> void decode(Reader& in, Taint& taint, DecodeContext& context) {
//     in.object([&](std::string_view key) {
//       if (key == "key") taint.key = in.text(context.pool);
//       else in.skip();
//     });
//   }
//
// Errors are sticky: after the first one every call returns nothing and loops end; the caller asks
// failed() once, at the end. A null, or a value of another type than asked for, reads as empty (null)
// or is an error (another type).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/text.h"
#include "data/json.h"

namespace lockstep {

class JsonReader {
 public:
  explicit JsonReader(std::string_view bytes, size_t depth_limit = 128);

  // Calls on_field(key) for each field; on_field must consume the value, once. `key` is valid until
  // the value is read.
  template <typename OnField>
  void object(OnField on_field) {
    if (!begin('{')) return;
    for (bool first = true; next_field(first); first = false) on_field(std::string_view(key_));
    end();
  }
  // Calls on_item() for each element, which must consume it.
  template <typename OnItem>
  void array(OnItem on_item) {
    if (!begin('[')) return;
    for (bool first = true; next_item(first); first = false) on_item();
    end();
  }

  // The value as text; valid until the next call. Empty for null.
  std::string_view text();
  Text text(TextPool& pool) { return pool.intern(text()); }
  int64_t integer();
  double number();
  bool boolean();
  // Whatever is there, as the text of its scalar: strings unquoted, numbers and booleans as written.
  // (Kubernetes' quantities and int-or-string fields.)
  std::string_view scalar();
  void skip();
  // The bytes of the value, skipped over (checked for balance and syntax).
  std::string_view raw();
  // The value as a tree.
  Json tree();
  bool at_null();

  bool failed() const { return failed_; }
  Error error() const;
  // True when nothing but white space is left.
  bool at_end();

  // Private to the templates above, but public to keep them simple.
  bool begin(char opening);
  bool next_field(bool first);
  bool next_item(bool first);
  void end();

 private:
  std::string_view bytes_;
  size_t position_ = 0;
  size_t depth_ = 0;
  size_t depth_limit_;
  bool failed_ = false;
  std::string problem_;
  std::string_view key_;
  std::string key_buffer_;
  std::string buffer_;
};

class TreeReader {
 public:
  explicit TreeReader(const Json& value) : current_(&value) {}

  template <typename OnField>
  void object(OnField on_field) {
    const Json* here = current_;
    if (failed_ || here->is_null()) return;
    if (!here->is_object()) return mismatch("an object");
    for (const auto& [key, value] : here->get_object()) {
      current_ = &value;
      on_field(std::string_view(key.data(), key.size()));
      if (failed_) return;
    }
    current_ = here;
  }
  template <typename OnItem>
  void array(OnItem on_item) {
    const Json* here = current_;
    if (failed_ || here->is_null()) return;
    if (!here->is_array()) return mismatch("an array");
    for (const auto& value : here->get_array()) {
      current_ = &value;
      on_item();
      if (failed_) return;
    }
    current_ = here;
  }
  std::string_view text();
  Text text(TextPool& pool) { return pool.intern(text()); }
  int64_t integer();
  double number();
  bool boolean();
  std::string_view scalar();
  void skip() {}
  Json tree() { return *current_; }
  bool at_null() { return current_->is_null(); }
  bool failed() const { return failed_; }
  Error error() const;

 private:
  void mismatch(std::string_view wanted);
  const Json* current_;
  bool failed_ = false;
  std::string problem_;
  std::string buffer_;
};

}  // namespace lockstep
