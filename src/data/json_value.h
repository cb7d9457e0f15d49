// The tree of a JSON document. Copies share what they have in common: a copy of any document is a
// pointer, and a change copies the objects and lists on the way to it, nothing besides. So a store
// may keep a thousand versions of an object, and two documents that come from one are compared
// where they differ.
//
//   Json before = node;                       // no copy of anything
//   node.as_object()["spec"] = JsonObject{};  // copies the list of the node's fields
//
// Access without const counts as a change: readers should use a const reference. A reference into a
// document, other than a const one, is good until the document is copied: what is written through
// it after that would show in the copy.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <iterator>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/text.h"
#include "data/shared_items.h"

namespace lockstep {

class Json;
class JsonMember;
class JsonItem;

enum class JsonKind : uint8_t { null, bool_, int64, uint64, double_, string, array, object };

class JsonString {
 public:
  JsonString() noexcept = default;
  explicit JsonString(std::string_view text) : text_(text) {}
  explicit JsonString(const std::string& text) : text_(text) {}
  explicit JsonString(const char* text) : text_(text) {}
  explicit JsonString(Text text) noexcept : text_(std::move(text)) {}

  std::string_view view() const noexcept { return text_.view(); }
  operator std::string_view() const noexcept { return view(); }  // NOLINT: reads like a string
  const char* data() const noexcept { return view().data(); }
  size_t size() const noexcept { return view().size(); }
  bool empty() const noexcept { return text_.empty(); }
  const Text& text() const noexcept { return text_; }

  friend bool operator==(const JsonString& a, const JsonString& b) noexcept {
    return a.text_ == b.text_;
  }
  friend bool operator==(const JsonString& a, std::string_view b) noexcept { return a.view() == b; }

 private:
  Text text_;
};

class JsonArray {
 public:
  using value_type = Json;
  using iterator = Json*;
  using const_iterator = const Json*;

  JsonArray() noexcept = default;
  JsonArray(std::initializer_list<JsonItem> items);
  template <std::input_iterator Iterator>
  JsonArray(Iterator first, Iterator last);

  size_t size() const noexcept { return items_.size(); }
  bool empty() const noexcept { return size() == 0; }
  const Json* data() const noexcept { return items_.begin(); }
  const Json* begin() const noexcept { return items_.begin(); }
  const Json* end() const noexcept;
  const Json& operator[](size_t at) const noexcept;
  const Json& at(size_t at) const;
  const Json& front() const noexcept;
  const Json& back() const noexcept;
  const Json* if_contains(size_t at) const noexcept;

  Json* data();
  Json* begin() { return data(); }
  Json* end();
  Json& operator[](size_t at);
  Json& at(size_t at);
  Json& front();
  Json& back();
  Json* if_contains(size_t at);

  void reserve(size_t count);
  void push_back(Json item);
  template <typename... Arguments>
  Json& emplace_back(Arguments&&... arguments);
  void pop_back();
  void clear() noexcept { items_ = {}; }
  Json* insert(const Json* place, Json item);
  template <std::input_iterator Iterator>
  Json* insert(const Json* place, Iterator first, Iterator last);
  Json* erase(const Json* place);
  Json* erase(const Json* first, const Json* last);

  // The same items in the same memory: nothing to compare.
  bool is_same(const JsonArray& other) const noexcept { return items_.is_same(other.items_); }
  friend bool operator==(const JsonArray& a, const JsonArray& b);

 private:
  SharedItems<Json> items_;
};

// Keys in the order in which they came. A key is there once.
class JsonObject {
 public:
  using value_type = JsonMember;
  using iterator = JsonMember*;
  using const_iterator = const JsonMember*;
  using Entry = std::pair<std::string_view, JsonItem>;

  JsonObject() noexcept = default;
  JsonObject(std::initializer_list<Entry> entries);

  size_t size() const noexcept { return members_.size(); }
  bool empty() const noexcept { return size() == 0; }
  const JsonMember* begin() const noexcept { return members_.begin(); }
  const JsonMember* end() const noexcept;
  const JsonMember* find(std::string_view key) const noexcept;
  const Json* if_contains(std::string_view key) const noexcept;
  bool contains(std::string_view key) const noexcept { return locate(key) != nullptr; }
  const Json& at(std::string_view key) const;

  JsonMember* begin();
  JsonMember* end();
  JsonMember* find(std::string_view key);
  Json* if_contains(std::string_view key);
  Json& at(std::string_view key);
  // Null when it is new.
  Json& operator[](std::string_view key);

  void reserve(size_t count);
  void clear() noexcept { members_ = {}; }
  // Keeps what is there.
  template <typename Value>
  std::pair<JsonMember*, bool> emplace(std::string_view key, Value&& value);
  std::pair<JsonMember*, bool> insert(JsonMember member);
  std::pair<JsonMember*, bool> insert(Entry entry);
  template <typename Value>
  std::pair<JsonMember*, bool> insert_or_assign(std::string_view key, Value&& value);
  // The last member takes its place; stable_erase() keeps the order.
  size_t erase(std::string_view key);
  JsonMember* erase(const JsonMember* place);
  JsonMember* stable_erase(const JsonMember* place);
  void swap(JsonObject& other) noexcept { std::swap(members_, other.members_); }

  // The same members in the same memory: nothing to compare.
  bool is_same(const JsonObject& other) const noexcept { return members_.is_same(other.members_); }
  // In any order.
  friend bool operator==(const JsonObject& a, const JsonObject& b);

 private:
  const JsonMember* locate(std::string_view key) const noexcept;
  const JsonMember* locate_by_index(std::string_view key) const noexcept;
  JsonMember* add(std::string_view key, Json value);
  void enter_in_index(size_t at) noexcept;
  void rebuild_index() noexcept;
  void make_own();

  SharedItems<JsonMember> members_;
};

class Json {
 public:
  Json() noexcept : kind_(JsonKind::null), integer_(0) {}
  Json(std::nullptr_t) noexcept : Json() {}  // NOLINT: all of these convert, as in JSON's own text
  template <std::same_as<bool> Bool>
  Json(Bool value) noexcept : kind_(JsonKind::bool_), bool_(value) {}  // NOLINT
  template <std::integral Integer>
    requires(!std::same_as<Integer, bool> && !std::same_as<Integer, char>)
  Json(Integer value) noexcept {  // NOLINT
    if constexpr (std::is_signed_v<Integer>) {
      kind_ = JsonKind::int64;
      integer_ = value;
    } else {
      kind_ = JsonKind::uint64;
      unsigned_ = value;
    }
  }
  Json(double value) noexcept : kind_(JsonKind::double_), double_(value) {}              // NOLINT
  Json(std::string_view text) : kind_(JsonKind::string), string_(text) {}                // NOLINT
  Json(const char* text) : Json(std::string_view(text)) {}                               // NOLINT
  Json(const std::string& text) : Json(std::string_view(text)) {}                        // NOLINT
  Json(JsonString text) noexcept : kind_(JsonKind::string), string_(std::move(text)) {}  // NOLINT
  Json(JsonArray array) noexcept : kind_(JsonKind::array), array_(std::move(array)) {}   // NOLINT
  Json(JsonObject object) noexcept                                                       // NOLINT
      : kind_(JsonKind::object), object_(std::move(object)) {}
  // {{"a", 1}, {"b", 2}} is an object, any other list an array.
  Json(std::initializer_list<JsonItem> items);
  Json(const Json& other) noexcept : kind_(JsonKind::null), integer_(0) { share(other); }
  Json(Json&& other) noexcept : kind_(JsonKind::null), integer_(0) { steal(other); }
  Json& operator=(const Json& other) noexcept {
    Json copy(other);
    swap(copy);
    return *this;
  }
  Json& operator=(Json&& other) noexcept {
    Json taken(std::move(other));
    swap(taken);
    return *this;
  }
  ~Json() {
    if (kind_ >= JsonKind::string) drop();
  }
  void swap(Json& other) noexcept;

  JsonKind kind() const noexcept { return kind_; }
  bool is_null() const noexcept { return kind_ == JsonKind::null; }
  bool is_bool() const noexcept { return kind_ == JsonKind::bool_; }
  bool is_int64() const noexcept { return kind_ == JsonKind::int64; }
  bool is_uint64() const noexcept { return kind_ == JsonKind::uint64; }
  bool is_double() const noexcept { return kind_ == JsonKind::double_; }
  bool is_number() const noexcept { return kind_ >= JsonKind::int64 && kind_ <= JsonKind::double_; }
  bool is_string() const noexcept { return kind_ == JsonKind::string; }
  bool is_array() const noexcept { return kind_ == JsonKind::array; }
  bool is_object() const noexcept { return kind_ == JsonKind::object; }
  bool is_primitive() const noexcept { return kind_ <= JsonKind::string; }
  bool is_structured() const noexcept { return kind_ >= JsonKind::array; }

  // Only of that kind; those that begin with "as" throw when it is another, "if" gives null.
  bool get_bool() const noexcept { return bool_; }
  int64_t get_int64() const noexcept { return integer_; }
  uint64_t get_uint64() const noexcept { return unsigned_; }
  double get_double() const noexcept { return double_; }
  const JsonString& get_string() const noexcept { return string_; }
  const JsonArray& get_array() const noexcept { return array_; }
  JsonArray& get_array() noexcept { return array_; }
  const JsonObject& get_object() const noexcept { return object_; }
  JsonObject& get_object() noexcept { return object_; }

  bool as_bool() const { return expect(JsonKind::bool_), bool_; }
  int64_t as_int64() const { return expect(JsonKind::int64), integer_; }
  uint64_t as_uint64() const { return expect(JsonKind::uint64), unsigned_; }
  double as_double() const { return expect(JsonKind::double_), double_; }
  const JsonString& as_string() const { return expect(JsonKind::string), string_; }
  const JsonArray& as_array() const { return expect(JsonKind::array), array_; }
  JsonArray& as_array() { return expect(JsonKind::array), array_; }
  const JsonObject& as_object() const { return expect(JsonKind::object), object_; }
  JsonObject& as_object() { return expect(JsonKind::object), object_; }

  const JsonString* if_string() const noexcept { return is_string() ? &string_ : nullptr; }
  const JsonArray* if_array() const noexcept { return is_array() ? &array_ : nullptr; }
  JsonArray* if_array() noexcept { return is_array() ? &array_ : nullptr; }
  const JsonObject* if_object() const noexcept { return is_object() ? &object_ : nullptr; }
  JsonObject* if_object() noexcept { return is_object() ? &object_ : nullptr; }

  const Json& at(std::string_view key) const { return as_object().at(key); }
  Json& at(std::string_view key) { return as_object().at(key); }
  const Json& at(size_t at) const { return as_array().at(at); }
  Json& at(size_t at) { return as_array().at(at); }

  JsonArray& emplace_array() { return *this = JsonArray(), array_; }
  JsonObject& emplace_object() { return *this = JsonObject(), object_; }

  // Numbers without a fraction by value, objects in any order. json_equal() compares all numbers by
  // value.
  friend bool operator==(const Json& a, const Json& b);
  friend std::ostream& operator<<(std::ostream& out, const Json& value);

  static constexpr size_t index_places(size_t) noexcept { return 0; }

 private:
  void share(const Json& other) noexcept;
  void steal(Json& other) noexcept;
  void drop() noexcept;
  void expect(JsonKind kind) const {
    if (kind_ != kind) refuse(kind);
  }
  [[noreturn]] void refuse(JsonKind wanted) const;

  JsonKind kind_;
  union {
    bool bool_;
    int64_t integer_;
    uint64_t unsigned_;
    double double_;
    JsonString string_;
    JsonArray array_;
    JsonObject object_;
  };
};

}  // namespace lockstep

#include "data/json_members.h"
