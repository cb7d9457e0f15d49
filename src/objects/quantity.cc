#include "objects/quantity.h"

#include <algorithm>
#include <array>
#include <limits>

#include "base/strings.h"
#include "data/json_reader.h"
#include "objects/decode_context.h"

namespace lockstep {

namespace {

__extension__ typedef __int128 Wide;

constexpr Wide nanos_per_one = 1'000'000'000;
// What Kubernetes caps quantities at.
constexpr Wide largest = static_cast<Wide>(std::numeric_limits<int64_t>::max()) * nanos_per_one;

struct Suffix {
  std::string_view text;
  int base;
  int exponent;
};
constexpr std::array<Suffix, 16> suffixes = {{{"", 10, 0},
                                              {"n", 10, -9},
                                              {"u", 10, -6},
                                              {"m", 10, -3},
                                              {"k", 10, 3},
                                              {"M", 10, 6},
                                              {"G", 10, 9},
                                              {"T", 10, 12},
                                              {"P", 10, 15},
                                              {"E", 10, 18},
                                              {"Ki", 2, 10},
                                              {"Mi", 2, 20},
                                              {"Gi", 2, 30},
                                              {"Ti", 2, 40},
                                              {"Pi", 2, 50},
                                              {"Ei", 2, 60}}};

Wide capped_product(Wide value, Wide factor) {
  return value > largest / factor ? largest : std::min(value * factor, largest);
}

Unexpected malformed(std::string_view text) {
  return failf(ErrorKind::invalid,
               "'{}' is not a quantity: quantities must match the regular expression "
               "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
               text.substr(0, 64));
}

Unexpected bad_suffix(std::string_view text) {
  return failf(ErrorKind::invalid, "'{}' is not a quantity: unable to parse quantity's suffix",
               text.substr(0, 64));
}

Wide rounded_up(Wide nanos, Wide unit) {
  Wide whole = nanos / unit;
  if (nanos > 0 && whole * unit != nanos) ++whole;
  return whole;
}

int64_t within_64_bits(Wide value) {
  constexpr auto low = std::numeric_limits<int64_t>::min();
  constexpr auto high = std::numeric_limits<int64_t>::max();
  return value < low ? low : value > high ? high : static_cast<int64_t>(value);
}

}  // namespace

Quantity Quantity::of(int64_t value) {
  Quantity quantity;
  quantity.nanos_ = static_cast<Wide>(value) * nanos_per_one;
  return quantity;
}

Result<Quantity> Quantity::parse(std::string_view text) {
  std::string_view rest = text;
  bool negative = false;
  if (!rest.empty() && (rest.front() == '-' || rest.front() == '+')) {
    negative = rest.front() == '-';
    rest.remove_prefix(1);
  }
  size_t integer_size = 0;
  while (integer_size < rest.size() && is_digit(rest[integer_size])) ++integer_size;
  std::string_view integer = rest.substr(0, integer_size);
  rest.remove_prefix(integer_size);
  std::string_view fraction;
  if (!rest.empty() && rest.front() == '.') {
    rest.remove_prefix(1);
    size_t size = 0;
    while (size < rest.size() && is_digit(rest[size])) ++size;
    fraction = rest.substr(0, size);
    rest.remove_prefix(size);
  }
  if (integer.empty() && fraction.empty()) return malformed(text);

  int base = 10;
  int64_t exponent = 0;
  auto suffix = std::find_if(suffixes.begin(), suffixes.end(),
                             [&](const Suffix& candidate) { return candidate.text == rest; });
  if (suffix != suffixes.end()) {
    base = suffix->base;
    exponent = suffix->exponent;
  } else if (rest.size() > 1 && (rest.front() == 'e' || rest.front() == 'E')) {
    std::string_view digits = rest.substr(1);
    bool plus = digits.front() == '+';
    if (plus) digits.remove_prefix(1);
    auto number = plus && digits.starts_with('-') ? std::nullopt : parse_integer(digits);
    if (!number) return bad_suffix(text);
    exponent = std::clamp<int64_t>(*number, -100, 100);
  } else {
    return bad_suffix(text);
  }

  // A number of nanos, and whether something finer than that was cut off. Digits are taken while
  // they count: with a large negative exponent most of them do not.
  Wide nanos = 0;
  bool inexact = false;
  auto scaled = [&](int digit, int64_t power) {  // digit * 10^power * the factor, in nanos
    if (digit == 0) return;
    Wide amount = digit;
    if (base == 2) {
      // Binary: multiply first, the division by a power of ten comes last and is exact enough.
      amount = capped_product(amount, Wide{1} << exponent);
      power += 9;
    } else {
      power += exponent + 9;
    }
    for (; power > 0 && amount < largest; --power) amount = capped_product(amount, 10);
    for (; power < 0 && amount > 0; ++power) {
      inexact = inexact || amount % 10 != 0;
      amount /= 10;
    }
    nanos = std::min(nanos + amount, largest);
  };
  for (size_t i = 0; i < integer.size(); ++i) {
    scaled(integer[i] - '0', static_cast<int64_t>(integer.size() - 1 - i));
  }
  for (size_t i = 0; i < fraction.size(); ++i) {
    scaled(fraction[i] - '0', -static_cast<int64_t>(i) - 1);
  }
  if (inexact && nanos < largest) ++nanos;

  Quantity quantity;
  quantity.nanos_ = negative ? -nanos : nanos;
  return quantity;
}

int64_t Quantity::value() const { return within_64_bits(rounded_up(nanos_, nanos_per_one)); }
int64_t Quantity::milli_value() const {
  return within_64_bits(rounded_up(nanos_, nanos_per_one / 1000));
}

int64_t amount_of(const ResourceAmounts& amounts, std::string_view name) {
  for (const ResourceAmount& amount : amounts) {
    if (amount.name == name) return amount.amount;
  }
  return 0;
}

bool is_extended_resource(std::string_view name) {
  return name.find('/') != std::string_view::npos && !name.starts_with("kubernetes.io/");
}

template <typename Reader>
ResourceAmounts decode_extended_resources(Reader& in, DecodeContext& context) {
  ResourceAmounts amounts;
  in.object([&](std::string_view key) {
    if (!is_extended_resource(key)) return in.skip();
    Text name = context.pool.intern(key);
    auto quantity = Quantity::parse(in.scalar());
    if (in.failed()) return;
    if (!quantity) return context.fail(fmt::format("{}: {}", name.view(), quantity.error().text()));
    amounts.push_back({std::move(name), quantity->value()});
  });
  amounts.shrink_to_fit();
  std::stable_sort(
      amounts.begin(), amounts.end(),
      [](const ResourceAmount& a, const ResourceAmount& b) { return a.name < b.name; });
  return amounts;
}

template ResourceAmounts decode_extended_resources(JsonReader& in, DecodeContext& context);
template ResourceAmounts decode_extended_resources(TreeReader& in, DecodeContext& context);

}  // namespace lockstep
