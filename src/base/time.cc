#include "base/time.h"

#include <array>
#include <limits>
#include <optional>

#include "base/strings.h"

namespace lockstep {

namespace {

constexpr int64_t nanoseconds_per_second = 1'000'000'000;

// Reads a string from left to right; every step says whether it succeeded.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : rest_(text) {}

  bool done() const { return rest_.empty(); }
  char peek() const { return rest_.empty() ? '\0' : rest_.front(); }
  std::string_view rest() const { return rest_; }
  void skip(size_t count) { rest_.remove_prefix(count); }

  bool take(char expected) {
    if (rest_.empty() || rest_.front() != expected) return false;
    rest_.remove_prefix(1);
    return true;
  }

  bool take_either(char one, char other) { return take(one) || take(other); }

  std::optional<int> take_number(size_t digits) {
    if (rest_.size() < digits) return std::nullopt;
    int value = 0;
    for (size_t i = 0; i < digits; ++i) {
      if (!is_digit(rest_[i])) return std::nullopt;
      value = value * 10 + (rest_[i] - '0');
    }
    rest_.remove_prefix(digits);
    return value;
  }

 private:
  std::string_view rest_;
};

// The civil time of day and date in one place, split for printing.
struct Civil {
  int year;
  unsigned month, day;
  int64_t hour, minute, second, nanosecond;
};

Civil to_civil(Time time) {
  const int64_t unix_seconds = time.unix_seconds();
  const auto point = std::chrono::sys_seconds(std::chrono::seconds(unix_seconds));
  const auto midnight = std::chrono::floor<std::chrono::days>(point);
  const std::chrono::year_month_day date(midnight);
  const int64_t of_day = (point - midnight).count();
  // Unsigned, because unix_seconds * 10^9 may lie just below the smallest int64.
  const auto nanosecond =
      static_cast<int64_t>(static_cast<uint64_t>(time.unix_nanoseconds) -
                           static_cast<uint64_t>(unix_seconds) * nanoseconds_per_second);
  return {static_cast<int>(date.year()),
          static_cast<unsigned>(date.month()),
          static_cast<unsigned>(date.day()),
          of_day / 3600,
          of_day / 60 % 60,
          of_day % 60,
          nanosecond};
}

// Writes digits over the zeros of a string. A Time can hold only years of four digits.
void put_number(std::string& text, size_t place, size_t digits, int64_t number) {
  for (size_t i = place + digits; i > place; --i) {
    text[i - 1] = static_cast<char>('0' + number % 10);
    number /= 10;
  }
}

struct Unit {
  std::string_view name;
  int64_t length;
};

// Longer names first: "ms" must not be read as "m" and a stray "s".
constexpr std::array<Unit, 8> duration_units = {{{"ns", 1},
                                                 {"us", 1'000},
                                                 {"\u00b5s", 1'000},  // micro sign
                                                 {"\u03bcs", 1'000},  // Greek letter mu
                                                 {"ms", 1'000'000},
                                                 {"s", nanoseconds_per_second},
                                                 {"m", 60 * nanoseconds_per_second},
                                                 {"h", 3600 * nanoseconds_per_second}}};

// `count` of unit `length`, with the decimals that are not zero: "1.5s".
std::string format_decimal(uint64_t count, uint64_t length, std::string_view unit) {
  std::string text = fmt::format("{}", count / length);
  if (uint64_t remainder = count % length; remainder != 0) {
    text += '.';
    for (uint64_t place = length / 10; remainder != 0; place /= 10) {
      text += static_cast<char>('0' + remainder / place);
      remainder %= place;
    }
  }
  text += unit;
  return text;
}

}  // namespace

std::string format_rfc3339(Time time) {
  const Civil at = to_civil(time);
  std::string text = "0000-00-00T00:00:00Z";
  put_number(text, 0, 4, at.year);
  put_number(text, 5, 2, at.month);
  put_number(text, 8, 2, at.day);
  put_number(text, 11, 2, at.hour);
  put_number(text, 14, 2, at.minute);
  put_number(text, 17, 2, at.second);
  return text;
}

std::string format_rfc3339_micro(Time time) {
  const Civil at = to_civil(time);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z", at.year, at.month, at.day,
                     at.hour, at.minute, at.second, at.nanosecond / 1000);
}

Result<Time> parse_rfc3339(std::string_view text) {
  const auto wrong = [&](std::string_view why) {
    return failf(ErrorKind::invalid,
                 "'{}' is not an RFC 3339 time such as 2026-11-15T04:20:11Z: {}",
                 text.substr(0, 64), why);
  };
  Cursor cursor(text);
  const auto year = cursor.take_number(4);
  if (!year || !cursor.take('-')) return wrong("the year");
  const auto month = cursor.take_number(2);
  if (!month || !cursor.take('-')) return wrong("the month");
  const auto day = cursor.take_number(2);
  if (!day || !cursor.take_either('T', 't')) return wrong("the day");
  const auto hour = cursor.take_number(2);
  if (!hour || !cursor.take(':')) return wrong("the hour");
  const auto minute = cursor.take_number(2);
  if (!minute || !cursor.take(':')) return wrong("the minute");
  const auto second = cursor.take_number(2);
  if (!second) return wrong("the second");

  const std::chrono::year_month_day date(std::chrono::year(*year),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day)));
  if (!date.ok()) return wrong("there is no such day");
  // A leap second (:60) is refused, as Kubernetes refuses it.
  if (*hour > 23 || *minute > 59 || *second > 59) return wrong("there is no such time of day");

  int64_t fraction = 0;
  if (cursor.take('.')) {
    if (!is_digit(cursor.peek())) return wrong("the fraction has no digits");
    for (int64_t place = nanoseconds_per_second / 10; is_digit(cursor.peek()); place /= 10) {
      fraction += (cursor.peek() - '0') * place;
      cursor.skip(1);
    }
  }

  int64_t offset = 0;
  if (!cursor.take_either('Z', 'z')) {
    const int sign = cursor.take('+') ? 1 : cursor.take('-') ? -1 : 0;
    if (sign == 0) return wrong("the zone: Z or an offset such as +02:00");
    const auto offset_hour = cursor.take_number(2);
    if (!offset_hour || *offset_hour > 23 || !cursor.take(':')) return wrong("the zone's offset");
    const auto offset_minute = cursor.take_number(2);
    if (!offset_minute || *offset_minute > 59) return wrong("the zone's offset");
    offset = sign * (*offset_hour * 3600 + *offset_minute * 60);
  }
  if (!cursor.done()) return wrong("there is text after it");

  const int64_t unix_seconds =
      std::chrono::sys_days(date).time_since_epoch().count() * int64_t{86400} + *hour * 3600 +
      *minute * 60 + *second - offset;
  constexpr int64_t go_zero_time = -62'135'596'800;  // 0001-01-01T00:00:00Z
  if (unix_seconds == go_zero_time && fraction == 0) return Time{};
  constexpr int64_t limit = std::numeric_limits<int64_t>::max() / nanoseconds_per_second;
  if (unix_seconds < -limit || unix_seconds >= limit) return wrong("too far from today");
  return Time{unix_seconds * nanoseconds_per_second + fraction};
}

std::string human_duration(Duration duration) {
  using std::chrono::days;
  constexpr Duration day = days(1);
  constexpr Duration year = days(365);
  // Clocks of two machines differ a little: just below zero still counts as now.
  if (duration <= seconds(-2)) return "<invalid>";
  if (duration < seconds(1)) return "0s";

  // Two or three significant figures: up to `below`, so many of the large unit and, where there is
  // a small one, so many of it.
  struct Range {
    Duration below;
    Duration large;
    char large_name;
    Duration small;
    char small_name;
  };
  static constexpr Range ranges[] = {
      {minutes(2), seconds(1), 's', {}, 0}, {minutes(10), minutes(1), 'm', seconds(1), 's'},
      {hours(3), minutes(1), 'm', {}, 0},   {hours(8), hours(1), 'h', minutes(1), 'm'},
      {hours(48), hours(1), 'h', {}, 0},    {8 * day, day, 'd', hours(1), 'h'},
      {2 * year, day, 'd', {}, 0},          {8 * year, year, 'y', day, 'd'},
      {Duration::max(), year, 'y', {}, 0}};
  const Range* range = ranges;
  while (duration >= range->below && range->below != Duration::max()) ++range;

  std::string text = fmt::format("{}{}", duration / range->large, range->large_name);
  if (range->small_name != 0) {
    const int64_t rest = duration % range->large / range->small;
    if (rest != 0) text += fmt::format("{}{}", rest, range->small_name);
  }
  return text;
}

std::string format_duration(Duration duration) {
  if (duration == Duration::zero()) return "0s";
  const bool negative = duration < Duration::zero();
  // Negated as unsigned: the smallest duration has no positive counterpart.
  uint64_t rest = static_cast<uint64_t>(duration.count());
  if (negative) rest = 0 - rest;

  std::string text = negative ? "-" : "";
  if (rest < 1'000) return text + fmt::format("{}ns", rest);
  if (rest < 1'000'000) return text + format_decimal(rest, 1'000, "us");
  if (rest < nanoseconds_per_second) return text + format_decimal(rest, 1'000'000, "ms");

  constexpr uint64_t minute = 60ULL * nanoseconds_per_second;
  constexpr uint64_t hour = 60 * minute;
  if (rest >= hour) text += fmt::format("{}h", rest / hour);
  rest %= hour;
  if (rest >= minute) text += fmt::format("{}m", rest / minute);
  rest %= minute;
  if (rest != 0) text += format_decimal(rest, nanoseconds_per_second, "s");
  return text;
}

Result<Duration> parse_duration(std::string_view text) {
  const auto wrong = [&](std::string_view why) {
    return failf(ErrorKind::invalid, "'{}' is not a duration such as 1h30m or 500ms: {}",
                 text.substr(0, 64), why);
  };
  constexpr auto limit = static_cast<uint64_t>(longest_duration.count());
  Cursor cursor(text);
  const bool negative = cursor.take('-');
  if (!negative) cursor.take('+');
  if (cursor.rest() == "0") return Duration::zero();
  if (cursor.done()) return wrong("there is no number");

  uint64_t total = 0;
  while (!cursor.done()) {
    bool any_digit = false;
    uint64_t whole = 0;
    for (; is_digit(cursor.peek()); cursor.skip(1)) {
      any_digit = true;
      if (whole > limit / 10) return wrong("it is longer than 100 years");
      whole = whole * 10 + static_cast<uint64_t>(cursor.peek() - '0');
    }
    // Decimals beyond the eighteenth cannot change the result.
    uint64_t decimals = 0;
    double scale = 1;
    if (cursor.take('.')) {
      for (; is_digit(cursor.peek()); cursor.skip(1)) {
        any_digit = true;
        if (scale >= 1e18) continue;
        decimals = decimals * 10 + static_cast<uint64_t>(cursor.peek() - '0');
        scale *= 10;
      }
    }
    if (!any_digit) return wrong("a number is missing");

    const Unit* unit = nullptr;
    for (const Unit& candidate : duration_units) {
      if (cursor.rest().starts_with(candidate.name)) {
        unit = &candidate;
        break;
      }
    }
    if (unit == nullptr) return wrong("a unit is missing: ns, us, ms, s, m or h");
    cursor.skip(unit->name.size());

    const auto length = static_cast<uint64_t>(unit->length);
    if (whole > limit / length) return wrong("it is longer than 100 years");
    const auto part = static_cast<uint64_t>(static_cast<double>(decimals) *
                                            (static_cast<double>(unit->length) / scale));
    // The product is at most the limit and `part` at most an hour, so the sum cannot wrap.
    const uint64_t term = whole * length + part;
    if (term > limit - total) return wrong("it is longer than 100 years");
    total += term;
  }
  const auto length = static_cast<int64_t>(total);
  return Duration(negative ? -length : length);
}

}  // namespace lockstep
