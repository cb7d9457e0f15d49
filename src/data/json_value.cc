#include "data/json_value.h"

#include <algorithm>
#include <functional>
#include <ostream>
#include <stdexcept>
#include <string>

#include "data/json.h"

namespace lockstep {

namespace {

// Keys repeat from object to object.
Text shared_key(std::string_view key) {
  constexpr size_t slots = 1 << 12;
  thread_local TextPool pool(slots);
  return pool.intern(key);
}

bool is_field_key(const Text& held, std::string_view key) {
  return held.size() == key.size() && std::memcmp(held.view().data(), key.data(), key.size()) == 0;
}

size_t hash_of_key(std::string_view key) { return std::hash<std::string_view>()(key); }

bool is_whole(const Json& value) { return value.is_int64() || value.is_uint64(); }

bool whole_numbers_equal(const Json& a, const Json& b) {
  if (a.kind() == b.kind()) return a.get_uint64() == b.get_uint64();
  const Json& with_sign = a.is_int64() ? a : b;
  const Json& without = a.is_int64() ? b : a;
  return with_sign.get_int64() >= 0 &&
         static_cast<uint64_t>(with_sign.get_int64()) == without.get_uint64();
}

}  // namespace

JsonMember::JsonMember(std::string_view key, Json value)
    : key_(shared_key(key)), value_(std::move(value)) {}

bool JsonItem::is_field() const noexcept {
  if (!is_list_) return false;
  const JsonArray* items = std::as_const(value_).if_array();
  return items != nullptr && items->size() == 2 && items->front().is_string();
}

// --- arrays

JsonArray::JsonArray(std::initializer_list<JsonItem> items) {
  items_.make_room(items.size());
  for (const JsonItem& item : items) items_.append(item.take());
}

const Json& JsonArray::at(size_t at) const {
  if (at >= size()) throw std::out_of_range("the JSON array has no such item");
  return (*this)[at];
}

Json& JsonArray::at(size_t at) {
  if (at >= size()) throw std::out_of_range("the JSON array has no such item");
  return (*this)[at];
}

void JsonArray::pop_back() {
  items_.make_own();
  items_.erase(size() - 1, 1);
}

Json* JsonArray::insert(const Json* place, Json item) {
  const auto at = static_cast<size_t>(place - items_.begin());
  items_.make_room(size() + 1);
  return items_.insert(at, std::move(item));
}

Json* JsonArray::erase(const Json* place) { return erase(place, place + 1); }

Json* JsonArray::erase(const Json* first, const Json* last) {
  const auto at = static_cast<size_t>(first - items_.begin());
  const auto count = static_cast<size_t>(last - first);
  items_.make_own();
  if (count > 0) items_.erase(at, count);
  return items_.own() + at;
}

bool operator==(const JsonArray& a, const JsonArray& b) {
  return a.is_same(b) || std::equal(a.begin(), a.end(), b.begin(), b.end());
}

// --- objects

JsonObject::JsonObject(std::initializer_list<Entry> entries) {
  reserve(entries.size());
  for (const Entry& entry : entries) emplace(entry.first, entry.second.take());
}

const JsonMember* JsonObject::locate(std::string_view key) const noexcept {
  if (members_.index() != nullptr) return locate_by_index(key);
  const JsonMember* const last = members_.end();
  if (key.size() <= Text::inline_limit) {
    const uint64_t bits = Text(key).bits();
    for (const JsonMember* at = members_.begin(); at != last; ++at) {
      if (at->key_text().bits() == bits) return at;
    }
    return nullptr;
  }
  const uint16_t mark = Text::mark_of(key);
  for (const JsonMember* at = members_.begin(); at != last; ++at) {
    if (at->key_text().mark() == mark && is_field_key(at->key_text(), key)) return at;
  }
  return nullptr;
}

const JsonMember* JsonObject::locate_by_index(std::string_view key) const noexcept {
  const uint32_t* index = members_.index();
  const size_t mask = JsonMember::index_places(members_.capacity()) - 1;
  for (size_t place = hash_of_key(key) & mask; index[place] != 0; place = (place + 1) & mask) {
    const JsonMember* member = members_.begin() + (index[place] - 1);
    if (is_field_key(member->key_text(), key)) return member;
  }
  return nullptr;
}

void JsonObject::enter_in_index(size_t at) noexcept {
  uint32_t* index = members_.index();
  if (index == nullptr) return;
  const size_t mask = JsonMember::index_places(members_.capacity()) - 1;
  size_t place = hash_of_key(members_.begin()[at].key()) & mask;
  while (index[place] != 0) place = (place + 1) & mask;
  index[place] = static_cast<uint32_t>(at + 1);
}

void JsonObject::rebuild_index() noexcept {
  uint32_t* index = members_.index();
  if (index == nullptr) return;
  std::fill_n(index, JsonMember::index_places(members_.capacity()), 0);
  for (size_t at = 0; at < size(); ++at) enter_in_index(at);
}

void JsonObject::make_own() {
  if (members_.make_own()) rebuild_index();
}

void JsonObject::reserve(size_t count) {
  if (members_.make_room(count)) rebuild_index();
}

JsonMember* JsonObject::add(std::string_view key, Json value) {
  JsonMember member(key, std::move(value));
  reserve(size() + 1);
  JsonMember& added = members_.append(std::move(member));
  enter_in_index(size() - 1);
  return &added;
}

const Json& JsonObject::at(std::string_view key) const {
  const Json* value = if_contains(key);
  if (value == nullptr) throw std::out_of_range("the JSON object has no " + std::string(key));
  return *value;
}

Json& JsonObject::at(std::string_view key) {
  Json* value = if_contains(key);
  if (value == nullptr) throw std::out_of_range("the JSON object has no " + std::string(key));
  return *value;
}

JsonMember* JsonObject::find(std::string_view key) {
  make_own();
  const JsonMember* member = locate(key);
  return member == nullptr ? end() : members_.own() + (member - members_.begin());
}

Json* JsonObject::if_contains(std::string_view key) {
  const JsonMember* member = locate(key);
  if (member == nullptr) return nullptr;
  const auto at = member - members_.begin();
  return &begin()[at].value();
}

Json& JsonObject::operator[](std::string_view key) {
  if (Json* held = if_contains(key)) return *held;
  return add(key, Json())->value();
}

std::pair<JsonMember*, bool> JsonObject::insert(JsonMember member) {
  return emplace(member.key(), std::move(member.value()));
}

std::pair<JsonMember*, bool> JsonObject::insert(Entry entry) {
  return emplace(entry.first, entry.second.take());
}

size_t JsonObject::erase(std::string_view key) {
  const JsonMember* member = locate(key);
  if (member == nullptr) return 0;
  erase(member);
  return 1;
}

JsonMember* JsonObject::erase(const JsonMember* place) {
  const auto at = static_cast<size_t>(place - members_.begin());
  members_.make_own();
  members_.erase_unordered(at);
  rebuild_index();
  return members_.own() + at;
}

JsonMember* JsonObject::stable_erase(const JsonMember* place) {
  const auto at = static_cast<size_t>(place - members_.begin());
  members_.make_own();
  members_.erase(at, 1);
  rebuild_index();
  return members_.own() + at;
}

bool operator==(const JsonObject& a, const JsonObject& b) {
  if (a.is_same(b)) return true;
  if (a.size() != b.size()) return false;
  return std::all_of(a.begin(), a.end(), [&](const JsonMember& member) {
    const Json* other = b.if_contains(member.key());
    return other != nullptr && member.value() == *other;
  });
}

// --- values

Json::Json(std::initializer_list<JsonItem> items) : Json() {
  const bool is_object =
      std::all_of(items.begin(), items.end(), [](const JsonItem& item) { return item.is_field(); });
  if (!is_object) {
    *this = JsonArray(items);
    return;
  }
  JsonObject object;
  object.reserve(items.size());
  for (const JsonItem& item : items) {
    const JsonArray& field = item.value().get_array();
    object.emplace(field[0].get_string().view(), field[1]);
  }
  *this = std::move(object);
}

void Json::drop() noexcept {
  switch (kind_) {
    case JsonKind::string:
      string_.~JsonString();
      break;
    case JsonKind::array:
      array_.~JsonArray();
      break;
    default:
      object_.~JsonObject();
      break;
  }
}

void Json::refuse(JsonKind wanted) const {
  static constexpr const char* names[] = {
      "null",     "a boolean", "an integer", "an unsigned integer",
      "a number", "a string",  "an array",   "an object"};
  throw std::invalid_argument(std::string("a JSON value is not ") +
                              names[static_cast<size_t>(wanted)]);
}

bool operator==(const Json& a, const Json& b) {
  if (is_whole(a) && is_whole(b)) return whole_numbers_equal(a, b);
  if (a.kind_ != b.kind_) return false;
  switch (a.kind_) {
    case JsonKind::bool_:
      return a.bool_ == b.bool_;
    case JsonKind::double_:
      return a.double_ == b.double_;
    case JsonKind::string:
      return a.string_ == b.string_;
    case JsonKind::array:
      return a.array_ == b.array_;
    case JsonKind::object:
      return a.object_ == b.object_;
    default:
      return true;
  }
}

std::ostream& operator<<(std::ostream& out, const Json& value) { return out << print_json(value); }

}  // namespace lockstep
