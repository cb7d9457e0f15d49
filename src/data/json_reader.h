// Reading JSON without building a tree: the decoders of typed objects pull the fields they want and
// skip the rest. Two sources with the same shape: JsonReader over bytes (a list of ten thousand
// nodes from the network) and TreeReader over a parsed document (the in-process API). A decoder is
// a template over the two:
//
//   template <typename Reader> void decode(Reader& in, Taint& taint, DecodeContext& context) {
//     in.object([&](std::string_view key) {
//       if (key == "key") taint.key = in.text(context.pool);
//       else in.skip();
//     });
//   }
//
// Errors are sticky: after the first one every call returns nothing and loops end; the caller asks
// failed() once, at the end. A null, or a value of another type than asked for, reads as empty
// (null) or is an error (another type).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/text.h"
#include "data/json.h"

namespace lockstep {

// Accepts what parse_json accepts, byte for byte, also inside of what is skipped. A duplicate key
// is reported as often as it is there: a decoder that assigns keeps the last value, as parse_json
// does. Strings without escapes are views into the bytes; nothing is allocated for them.
class JsonReader {
 public:
  // The bytes must outlive the reader.
  explicit JsonReader(std::string_view bytes, size_t depth_limit = JsonLimits{}.depth);

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
  Text text_of_its_own() { return Text(text()); }
  // Also 1.0 and 1e3; an error when it has a fraction or does not fit.
  int64_t integer();
  double number();
  bool boolean();
  // Whatever is there, as the text of its scalar: strings unquoted, numbers and booleans as
  // written. (Kubernetes' quantities and int-or-string fields.) Valid until the next call.
  std::string_view scalar();
  void skip();
  // The bytes of the value, skipped over (checked for balance and syntax).
  std::string_view raw();
  // The value as a tree.
  Json tree();
  // Peeks; the null is still to be consumed.
  bool at_null();

  bool failed() const { return failed_; }
  // The first error; its place is "line:column".
  Error error() const { return error_; }
  // The byte at which the first error is.
  size_t error_offset() const { return error_offset_; }
  // True when nothing but white space is left.
  bool at_end();

  // Private to the templates above, but public to keep them simple.
  bool begin(char opening);
  bool next_field(bool first);
  bool next_item(bool first);
  void end();

 private:
  // To the first byte of the next value: false at the end of the bytes or after an error.
  bool to_value();
  bool take_null();
  bool next(bool first, char closing);
  const char* fail_at(const char* at, std::string_view problem,
                      ErrorKind kind = ErrorKind::invalid);
  void mismatch(std::string_view wanted);

  // Each takes the place behind what was peeked at and returns the place behind the whole, or a
  // null pointer after noting the error.
  const char* skip_value(const char* at);
  const char* skip_object(const char* at);
  const char* skip_array(const char* at);
  const char* skip_string(const char* at);
  const char* skip_string_specials(const char* at);
  const char* skip_word(const char* at, std::string_view word);
  const char* skip_number(const char* at);
  const char* skip_colon(const char* at);
  const char* read_string(const char* at, std::string_view& text, std::string& buffer);

  const char* bytes_begin_;
  const char* at_;
  const char* bytes_end_;
  size_t depth_ = 0;
  size_t depth_limit_;
  bool failed_ = false;
  size_t error_offset_ = 0;
  Error error_;
  std::string_view key_;
  std::string key_buffer_;
  std::string buffer_;
};

// The same over a tree, which must outlive the reader. scalar() and raw() give numbers as
// print_json writes them, which need not be how they were written once.
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
  // The document's own text: what comes from one document is shared as it is.
  Text text(TextPool&) { return text_of_its_own(); }
  Text text_of_its_own();
  int64_t integer();
  double number();
  bool boolean();
  std::string_view scalar();
  void skip() {}
  std::string_view raw();
  Json tree() { return failed_ ? Json() : *current_; }
  bool at_null() { return !failed_ && current_->is_null(); }

  bool failed() const { return failed_; }
  Error error() const { return error_; }
  bool at_end() { return !failed_; }

 private:
  void mismatch(std::string_view wanted);

  const Json* current_;
  bool failed_ = false;
  Error error_;
  std::string buffer_;
};

}  // namespace lockstep
