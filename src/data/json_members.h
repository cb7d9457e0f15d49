// The rest of data/json_value.h, which is the one to include: what needs a whole Json.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <tuple>
#include <utility>

#include "data/json_value.h"

namespace lockstep {

// A field of an object: for (const auto& [key, value] : object).
class JsonMember {
 public:
  JsonMember(std::string_view key, Json value);
  JsonMember(Text key, Json value) noexcept : key_(std::move(key)), value_(std::move(value)) {}

  std::string_view key() const noexcept { return key_.view(); }
  const Text& key_text() const noexcept { return key_; }
  const Json& value() const noexcept { return value_; }
  Json& value() noexcept { return value_; }

  template <size_t Part>
  decltype(auto) get() const noexcept {
    if constexpr (Part == 0)
      return key();
    else
      return (value_);
  }
  template <size_t Part>
  decltype(auto) get() noexcept {
    if constexpr (Part == 0)
      return key();
    else
      return (value_);
  }

  friend bool operator==(const JsonMember& a, const JsonMember& b) {
    return a.key_ == b.key_ && a.value_ == b.value_;
  }

  // Long objects are searched by hash.
  static constexpr size_t index_places(size_t capacity) noexcept {
    constexpr size_t longest_without = 24;
    return capacity <= longest_without ? 0 : std::bit_ceil(2 * capacity);
  }

 private:
  Text key_;
  Json value_;
};

// One value, or a list of them, between the braces of a JsonObject, a JsonArray or a Json.
class JsonItem {
 public:
  template <typename Value>
    requires(!std::same_as<std::remove_cvref_t<Value>, JsonItem> &&
             std::constructible_from<Json, Value &&>)
  JsonItem(Value&& value) : value_(std::forward<Value>(value)) {}                     // NOLINT
  JsonItem(std::initializer_list<JsonItem> items) : value_(items), is_list_(true) {}  // NOLINT

  // Moves the value out, once: a list in braces is only a source to take values from.
  Json take() const noexcept { return std::move(value_); }
  // {"key", value}: what may be a field.
  bool is_field() const noexcept;
  const Json& value() const noexcept { return value_; }

 private:
  mutable Json value_;
  bool is_list_ = false;
};

inline const Json* JsonArray::end() const noexcept { return items_.end(); }
inline const Json& JsonArray::operator[](size_t at) const noexcept { return data()[at]; }
inline const Json& JsonArray::front() const noexcept { return *data(); }
inline const Json& JsonArray::back() const noexcept { return data()[size() - 1]; }
inline const Json* JsonArray::if_contains(size_t at) const noexcept {
  return at < size() ? data() + at : nullptr;
}
inline Json* JsonArray::data() {
  items_.make_own();
  return items_.own();
}
inline Json* JsonArray::end() { return data() + size(); }
inline Json& JsonArray::operator[](size_t at) { return data()[at]; }
inline Json& JsonArray::front() { return *data(); }
inline Json& JsonArray::back() { return data()[size() - 1]; }
inline Json* JsonArray::if_contains(size_t at) { return at < size() ? data() + at : nullptr; }
inline void JsonArray::reserve(size_t count) { items_.make_room(count); }
inline void JsonArray::push_back(Json item) {
  items_.make_room(size() + 1);
  items_.append(std::move(item));
}
template <typename... Arguments>
Json& JsonArray::emplace_back(Arguments&&... arguments) {
  Json item(std::forward<Arguments>(arguments)...);
  items_.make_room(size() + 1);
  return items_.append(std::move(item));
}
template <std::input_iterator Iterator>
JsonArray::JsonArray(Iterator first, Iterator last) {
  for (; first != last; ++first) emplace_back(*first);
}
template <std::input_iterator Iterator>
Json* JsonArray::insert(const Json* place, Iterator first, Iterator last) {
  const auto at = static_cast<size_t>(place - std::as_const(*this).begin());
  size_t next = at;
  for (; first != last; ++first) {
    Json item(*first);
    items_.make_room(size() + 1);
    items_.insert(next++, std::move(item));
  }
  return data() + at;
}

inline const JsonMember* JsonObject::end() const noexcept { return members_.end(); }
inline const Json* JsonObject::if_contains(std::string_view key) const noexcept {
  const JsonMember* member = locate(key);
  return member == nullptr ? nullptr : &member->value();
}
inline const JsonMember* JsonObject::find(std::string_view key) const noexcept {
  const JsonMember* member = locate(key);
  return member == nullptr ? end() : member;
}
inline JsonMember* JsonObject::begin() {
  make_own();
  return members_.own();
}
inline JsonMember* JsonObject::end() { return begin() + size(); }
template <typename Value>
std::pair<JsonMember*, bool> JsonObject::emplace(std::string_view key, Value&& value) {
  if (const JsonMember* member = locate(key)) {
    const auto at = member - members_.begin();
    return {begin() + at, false};
  }
  return {add(key, Json(std::forward<Value>(value))), true};
}
template <typename Value>
std::pair<JsonMember*, bool> JsonObject::insert_or_assign(std::string_view key, Value&& value) {
  Json held(std::forward<Value>(value));
  if (const JsonMember* member = locate(key)) {
    const auto at = member - members_.begin();
    JsonMember* own = begin() + at;
    own->value() = std::move(held);
    return {own, false};
  }
  return {add(key, std::move(held)), true};
}

inline void Json::swap(Json& other) noexcept {
  std::byte bytes[sizeof(Json)];
  std::memcpy(bytes, static_cast<const void*>(this), sizeof(Json));
  std::memcpy(static_cast<void*>(this), static_cast<const void*>(&other), sizeof(Json));
  std::memcpy(static_cast<void*>(&other), bytes, sizeof(Json));
}
inline void Json::steal(Json& other) noexcept { swap(other); }
inline void Json::share(const Json& other) noexcept {
  switch (other.kind_) {
    case JsonKind::string:
      new (&string_) JsonString(other.string_);
      break;
    case JsonKind::array:
      new (&array_) JsonArray(other.array_);
      break;
    case JsonKind::object:
      new (&object_) JsonObject(other.object_);
      break;
    default:
      integer_ = other.integer_;
      if (other.kind_ == JsonKind::bool_) bool_ = other.bool_;
      break;
  }
  kind_ = other.kind_;
}

}  // namespace lockstep

template <>
struct std::tuple_size<lockstep::JsonMember> : std::integral_constant<size_t, 2> {};
template <>
struct std::tuple_element<0, lockstep::JsonMember> {
  using type = const std::string_view;
};
template <>
struct std::tuple_element<1, lockstep::JsonMember> {
  using type = lockstep::Json&;
};
template <>
struct std::tuple_element<0, const lockstep::JsonMember> {
  using type = const std::string_view;
};
template <>
struct std::tuple_element<1, const lockstep::JsonMember> {
  using type = const lockstep::Json&;
};
