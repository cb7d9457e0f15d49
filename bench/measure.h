// What the benchmarks share: memory and processor time as the process sees them, and figures
// printed beside their targets.
#pragma once

#include <cstdio>
#include <malloc.h>
#include <string>
#include <string_view>
#include <time.h>

#include <fmt/format.h>

namespace lockstep::bench {

// Figures that missed their target: main() turns it into the exit code.
inline int missed = 0;

// What malloc has handed out, large blocks of their own included.
inline size_t bytes_in_use() {
  struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

// Processor time of this thread: what else runs on the machine does not count.
inline double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

// Enough digits for small figures, no more than needed for large ones.
inline std::string figure(double value) {
  return value < 100 ? fmt::format("{:.2f}", value) : fmt::format("{:.0f}", value);
}

inline void report_at_least(std::string_view name, double value, std::string_view unit,
                            double target) {
  bool met = value >= target;
  fmt::print("{}: {} {} (target at least {}{})\n", name, figure(value), unit, target,
             met ? "" : ", MISSED");
  std::fflush(stdout);
  if (!met) ++missed;
}

inline void report_at_most(std::string_view name, double value, std::string_view unit,
                           double target) {
  bool met = value <= target;
  fmt::print("{}: {} {} (target at most {}{})\n", name, figure(value), unit, target,
             met ? "" : ", MISSED");
  std::fflush(stdout);
  if (!met) ++missed;
}

inline void report(std::string_view name, double value, std::string_view unit) {
  fmt::print("{}: {} {}\n", name, figure(value), unit);
}

}  // namespace lockstep::bench
