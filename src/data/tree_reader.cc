#include "data/json_reader.h"
#include "data/json_text.h"

namespace lockstep {

namespace {

std::string_view kind_of(const Json& value) {
  switch (value.kind()) {
    case JsonKind::null:
      return "null";
    case JsonKind::bool_:
      return "a boolean";
    case JsonKind::string:
      return "a string";
    case JsonKind::array:
      return "an array";
    case JsonKind::object:
      return "an object";
    default:
      return "a number";
  }
}

}  // namespace

void TreeReader::mismatch(std::string_view wanted) {
  if (failed_) return;
  failed_ = true;
  error_ = Error{
      ErrorKind::invalid, fmt::format("expected {}, found {}", wanted, kind_of(*current_)), {}};
}

std::string_view TreeReader::text() {
  if (failed_ || current_->is_null()) return {};
  if (!current_->is_string()) mismatch("a string");
  return as_text(current_);
}

Text TreeReader::text_of_its_own() {
  if (!failed_ && current_->is_string()) return current_->get_string().text();
  return Text(text());
}

int64_t TreeReader::integer() {
  if (failed_ || current_->is_null()) return 0;
  const auto value = integer_of(*current_);
  if (!value) mismatch("an integer of 64 bits");
  return value.value_or(0);
}

double TreeReader::number() {
  if (failed_ || current_->is_null()) return 0;
  if (current_->is_double()) return current_->get_double();
  if (current_->is_int64()) return static_cast<double>(current_->get_int64());
  if (current_->is_uint64()) return static_cast<double>(current_->get_uint64());
  mismatch("a number");
  return 0;
}

bool TreeReader::boolean() {
  if (failed_ || current_->is_null()) return false;
  if (!current_->is_bool()) mismatch("a boolean");
  return as_bool(current_);
}

std::string_view TreeReader::scalar() {
  if (failed_ || current_->is_null()) return {};
  if (current_->is_string()) return as_text(current_);
  if (current_->is_structured()) {
    mismatch("a string, a number or a boolean");
    return {};
  }
  return raw();
}

std::string_view TreeReader::raw() {
  if (failed_) return {};
  buffer_ = print_json(*current_);
  return buffer_;
}

}  // namespace lockstep
