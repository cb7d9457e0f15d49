// Points in time and lengths of time as plain values. Nothing here reads a clock.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace lockstep {

using Duration = std::chrono::nanoseconds;

// 100 years. Numbers from outside become at most this, so that the sum of a few of them, and of a
// time of today, has a place in 64 bits.
inline constexpr Duration longest_duration = std::chrono::hours(24 * 36'500);
template <class Unit>
constexpr Duration bounded_duration(int64_t n) {
  constexpr int64_t most = std::chrono::duration_cast<Unit>(longest_duration).count();
  return Unit(n > most ? most : n < -most ? -most : n);
}

constexpr Duration nanoseconds(int64_t n) { return std::chrono::nanoseconds(n); }
constexpr Duration microseconds(int64_t n) {
  return bounded_duration<std::chrono::microseconds>(n);
}
constexpr Duration milliseconds(int64_t n) {
  return bounded_duration<std::chrono::milliseconds>(n);
}
constexpr Duration seconds(int64_t n) { return bounded_duration<std::chrono::seconds>(n); }
constexpr Duration minutes(int64_t n) { return bounded_duration<std::chrono::minutes>(n); }
constexpr Duration hours(int64_t n) { return bounded_duration<std::chrono::hours>(n); }
constexpr double in_seconds(Duration d) { return std::chrono::duration<double>(d).count(); }

// A wall-clock time in UTC, as Kubernetes writes it. Zero means "not set".
struct Time {
  int64_t unix_nanoseconds = 0;

  static constexpr Time from_unix(int64_t unix_seconds) {
    int64_t nanoseconds = 0;
    if (!__builtin_mul_overflow(unix_seconds, int64_t{1'000'000'000}, &nanoseconds)) {
      return Time{nanoseconds};
    }
    return Time{unix_seconds < 0 ? INT64_MIN : INT64_MAX};
  }
  constexpr bool is_set() const { return unix_nanoseconds != 0; }
  // Rounded down, before 1970 too.
  constexpr int64_t unix_seconds() const {
    int64_t quotient = unix_nanoseconds / 1'000'000'000;
    return unix_nanoseconds % 1'000'000'000 < 0 ? quotient - 1 : quotient;
  }

  constexpr auto operator<=>(const Time&) const = default;
  // What would not fit is the earliest or the latest time there is.
  friend constexpr Time operator+(Time t, Duration d) {
    int64_t sum = 0;
    if (!__builtin_add_overflow(t.unix_nanoseconds, d.count(), &sum)) return Time{sum};
    return Time{d.count() < 0 ? INT64_MIN : INT64_MAX};
  }
  friend constexpr Time operator-(Time t, Duration d) {
    return Time{(t - Time{d.count()}).count()};
  }
  friend constexpr Duration operator-(Time a, Time b) {
    int64_t difference = 0;
    if (!__builtin_sub_overflow(a.unix_nanoseconds, b.unix_nanoseconds, &difference)) {
      return Duration(difference);
    }
    return Duration(b.unix_nanoseconds > 0 ? INT64_MIN : INT64_MAX);
  }
};

constexpr int64_t unix_milliseconds(Time time) { return time.unix_nanoseconds / 1'000'000; }

// "2026-11-15T04:20:11Z", as metav1.Time.
std::string format_rfc3339(Time time);
// "2026-11-15T04:20:11.123456Z", as metav1.MicroTime.
std::string format_rfc3339_micro(Time time);
// Any RFC 3339 time from 1678 to 2261, with fraction and offset. Go's zero time,
// 0001-01-01T00:00:00Z, reads as "not set". A fraction finer than nanoseconds is cut.
Result<Time> parse_rfc3339(std::string_view text);

// "3d4h", "12m", "45s": the age column of kubectl get.
std::string human_duration(Duration duration);
// "1h30m", "1.5s", "500ms", "1us", "0s": Go's durations. Reads whatever Go reads, up to 100 years.
// What it writes is Go's form made shorter (no trailing "0m0s") and plain ASCII ("us"); Go reads it
// back unchanged.
std::string format_duration(Duration duration);
Result<Duration> parse_duration(std::string_view text);

}  // namespace lockstep
