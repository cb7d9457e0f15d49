#include "apiserver/schema/formats.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cctype>
#include <string>

#include "base/strings.h"
#include "base/time.h"
#include "objects/quantity.h"

namespace lockstep::apiserver {

namespace {

bool is_hexadecimal(char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; }

bool is_address(std::string_view text, int family) {
  unsigned char address[sizeof(in6_addr)];
  return inet_pton(family, std::string(text).c_str(), address) == 1;
}

bool is_network(std::string_view text) {
  size_t slash = text.find('/');
  if (slash == std::string_view::npos) return false;
  std::optional<uint64_t> bits = parse_unsigned(text.substr(slash + 1));
  std::string_view address = text.substr(0, slash);
  if (!bits) return false;
  return (is_address(address, AF_INET) && *bits <= 32) ||
         (is_address(address, AF_INET6) && *bits <= 128);
}

bool is_uuid(std::string_view text) {
  std::string digits;
  for (char c : text) {
    if (c != '-') digits += c;
  }
  return digits.size() == 32 && text.size() <= 36 &&
         std::all_of(digits.begin(), digits.end(), is_hexadecimal);
}

bool is_date(std::string_view text) {
  return text.size() == 10 && parse_rfc3339(std::string(text) + "T00:00:00Z").has_value();
}

bool is_base64(std::string_view text) {
  if (text.find_first_of("\r\n") != std::string_view::npos) return false;
  return base64_decode(text).has_value();
}

bool is_color(std::string_view text) {
  if (text.starts_with('#')) text.remove_prefix(1);
  return (text.size() == 3 || text.size() == 6) &&
         std::all_of(text.begin(), text.end(), is_hexadecimal);
}

bool is_any_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace

bool is_quantity(std::string_view text) {
  size_t end = text.find_first_not_of("0123456789.+-");
  bool has_digits = std::any_of(
      text.begin(), text.begin() + static_cast<long>(std::min(end, text.size())), is_digit);
  return has_digits && Quantity::parse(text).has_value();
}

bool has_format(std::string_view text, std::string_view format) {
  if (is_any_of(format, {"date-time", "datetime"})) return parse_rfc3339(text).has_value();
  if (format == "date") return is_date(text);
  if (format == "duration") return parse_duration(text).has_value();
  if (format == "byte") return is_base64(text);
  if (format == "ipv4") return is_address(text, AF_INET);
  if (format == "ipv6") return is_address(text, AF_INET6);
  if (format == "cidr") return is_network(text);
  if (is_any_of(format, {"uuid", "uuid3", "uuid4", "uuid5"})) return is_uuid(text);
  if (format == "hexcolor") return is_color(text);
  if (format == "quantity") return is_quantity(text);
  return true;
}

}  // namespace lockstep::apiserver
