#include "rollout/time_zone.h"

#include <algorithm>
#include <chrono>

namespace lockstep::rollout {

namespace {

constexpr int64_t seconds_of_day = 86400;

int64_t days_of(int year, int month, int day) {
  namespace c = std::chrono;
  auto date =
      c::year(year) / c::month(static_cast<unsigned>(month)) / c::day(static_cast<unsigned>(day));
  return c::sys_days(date).time_since_epoch().count();
}

// Big-endian numbers, one after another; past the end it says so and gives zeros.
class Bytes {
 public:
  explicit Bytes(std::string_view bytes) : bytes_(bytes) {}

  int64_t number(size_t size) {
    if (bytes_.size() < at_ + size) {
      failed_ = true;
      return 0;
    }
    uint64_t value = 0;
    for (size_t i = 0; i < size; ++i) value = value << 8 | static_cast<uint8_t>(bytes_[at_ + i]);
    at_ += size;
    // Two's complement of that size.
    size_t unused = 8 * (sizeof(value) - size);
    return static_cast<int64_t>(value << unused) >> unused;
  }
  std::string_view text(size_t size) {
    if (bytes_.size() < at_ + size) {
      failed_ = true;
      return {};
    }
    at_ += size;
    return bytes_.substr(at_ - size, size);
  }
  std::string_view rest() const { return bytes_.substr(std::min(at_, bytes_.size())); }
  bool failed() const { return failed_; }

 private:
  std::string_view bytes_;
  size_t at_ = 0;
  bool failed_ = false;
};

struct Header {
  int64_t utc_flags = 0;
  int64_t standard_flags = 0;
  int64_t leaps = 0;
  int64_t times = 0;
  int64_t types = 0;
  int64_t characters = 0;
};

constexpr int64_t most_entries = 100'000;

bool read_header(Bytes& in, Header& header) {
  if (in.text(4) != "TZif") return false;
  std::string_view version = in.text(16);
  // Version 1 has no 64-bit times: no system has written it for twenty years.
  if (version.empty() || version.front() < '2') return false;
  header.utc_flags = in.number(4);
  header.standard_flags = in.number(4);
  header.leaps = in.number(4);
  header.times = in.number(4);
  header.types = in.number(4);
  header.characters = in.number(4);
  for (int64_t count : {header.utc_flags, header.standard_flags, header.leaps, header.times,
                        header.types, header.characters}) {
    if (count < 0 || count > most_entries) return false;
  }
  return !in.failed();
}

// Reads the parts of a POSIX rule from the left.
class RuleText {
 public:
  explicit RuleText(std::string_view text) : text_(text) {}

  bool skip_name() {
    if (take('<')) {
      size_t end = text_.find('>');
      if (end == std::string_view::npos) return false;
      text_.remove_prefix(end + 1);
      return true;
    }
    size_t length = 0;
    while (length < text_.size() && is_letter(text_[length])) ++length;
    text_.remove_prefix(length);
    return length >= 3;
  }
  bool number(int64_t& into) {
    size_t length = 0;
    int64_t value = 0;
    while (length < text_.size() && length < 4 && text_[length] >= '0' && text_[length] <= '9') {
      value = 10 * value + (text_[length++] - '0');
    }
    text_.remove_prefix(length);
    into = value;
    return length > 0;
  }
  // [+-]hh[:mm[:ss]]
  bool time(int64_t& seconds) {
    int64_t sign = take('-') ? -1 : 1;
    (void)take('+');
    int64_t part = 0;
    // A time of a change may be in the days around it: up to 167 hours (RFC 9636).
    if (!number(part) || part > 167) return false;
    seconds = part * 3600;
    if (take(':')) {
      if (!number(part) || part > 59) return false;
      seconds += part * 60;
      if (take(':')) {
        if (!number(part) || part > 59) return false;
        seconds += part;
      }
    }
    seconds *= sign;
    return true;
  }
  bool take(char character) {
    if (text_.empty() || text_.front() != character) return false;
    text_.remove_prefix(1);
    return true;
  }
  bool at_end() const { return text_.empty(); }
  char next() const { return text_.empty() ? '\0' : text_.front(); }

 private:
  static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
  std::string_view text_;
};

// From UTC, as RFC 9636 bounds it: no place has more.
bool is_offset(int64_t seconds) { return seconds >= -89'999 && seconds <= 93'599; }

}  // namespace

LocalTime civil_time(int64_t unix_seconds) {
  namespace c = std::chrono;
  int64_t days = unix_seconds / seconds_of_day;
  int64_t rest = unix_seconds % seconds_of_day;
  if (rest < 0) {
    rest += seconds_of_day;
    --days;
  }
  c::sys_days day{c::days(days)};
  c::year_month_day date(day);
  LocalTime local;
  local.year = int(date.year());
  local.month = static_cast<int>(unsigned(date.month()));
  local.day = static_cast<int>(unsigned(date.day()));
  local.weekday = static_cast<int>(c::weekday(day).c_encoding());
  local.hour = static_cast<int>(rest / 3600);
  local.minute = static_cast<int>(rest % 3600 / 60);
  local.second = static_cast<int>(rest % 60);
  return local;
}

TimeZone TimeZone::utc() { return {}; }

bool TimeZone::parse_rule(std::string_view text, Rule& rule) {
  RuleText in(text);
  if (!in.skip_name() || !in.time(rule.standard_offset)) return false;
  if (!is_offset(-rule.standard_offset)) return false;
  // POSIX counts westwards.
  rule.standard_offset = -rule.standard_offset;
  rule.is_set = true;
  if (in.at_end()) return true;
  if (!in.skip_name()) return false;
  rule.has_saving = true;
  rule.saving_offset = rule.standard_offset + 3600;
  if (in.next() != ',') {
    if (!in.time(rule.saving_offset)) return false;
    rule.saving_offset = -rule.saving_offset;
  }
  if (!is_offset(rule.saving_offset)) return false;
  for (YearlyChange* change : {&rule.begins, &rule.ends}) {
    int64_t month = 0;
    int64_t week = 0;
    int64_t weekday = 0;
    // Days of the year ("J60") are not used by any zone of today.
    if (!in.take(',') || !in.take('M') || !in.number(month) || !in.take('.') || !in.number(week) ||
        !in.take('.') || !in.number(weekday)) {
      return false;
    }
    if (month < 1 || month > 12 || week < 1 || week > 5 || weekday > 6) return false;
    *change = {static_cast<int>(month), static_cast<int>(week), static_cast<int>(weekday)};
    if (in.take('/') && !in.time(change->second_of_day)) return false;
  }
  return in.at_end();
}

int64_t TimeZone::moment(const YearlyChange& change, int year, int64_t offset_before) {
  int64_t first = days_of(year, change.month, 1);
  int64_t weekday_of_first = ((first % 7) + 4 + 7) % 7;  // 1 January 1970 was a Thursday
  int64_t day = first + (change.weekday - weekday_of_first + 7) % 7 + 7 * (change.week - 1);
  int64_t next_month =
      change.month == 12 ? days_of(year + 1, 1, 1) : days_of(year, change.month + 1, 1);
  while (day >= next_month) day -= 7;
  return day * seconds_of_day + change.second_of_day - offset_before;
}

int64_t TimeZone::offset_by_rule(int64_t unix_seconds) const {
  if (!rule_.has_saving) return rule_.standard_offset;
  int year = civil_time(unix_seconds + rule_.standard_offset).year;
  int64_t begins = moment(rule_.begins, year, rule_.standard_offset);
  int64_t ends = moment(rule_.ends, year, rule_.saving_offset);
  // In the south saving begins late in the year and ends early in the next.
  bool saves = begins < ends ? unix_seconds >= begins && unix_seconds < ends
                             : unix_seconds >= begins || unix_seconds < ends;
  return saves ? rule_.saving_offset : rule_.standard_offset;
}

Result<TimeZone> TimeZone::from_tzif(std::string_view bytes) {
  Bytes in(bytes);
  auto broken = [] { return fail(ErrorKind::invalid, "is no file of the time zone database"); };
  Header first;
  if (!read_header(in, first)) return broken();
  // The first block has 32-bit times, for old readers.
  int64_t block = first.times * 5 + first.types * 6 + first.characters + first.leaps * 8 +
                  first.standard_flags + first.utc_flags;
  (void)in.text(static_cast<size_t>(block));
  Header header;
  if (!read_header(in, header) || header.types == 0) return broken();
  std::vector<int64_t> times;
  for (int64_t i = 0; i < header.times; ++i) times.push_back(in.number(8));
  std::vector<int64_t> types;
  for (int64_t i = 0; i < header.times; ++i) types.push_back(in.number(1));
  std::vector<int64_t> offsets;
  for (int64_t i = 0; i < header.types; ++i) {
    offsets.push_back(in.number(4));
    if (!is_offset(offsets.back())) return broken();
    (void)in.text(2);
  }
  (void)in.text(static_cast<size_t>(header.characters + header.leaps * 12 + header.standard_flags +
                                    header.utc_flags));
  if (in.failed()) return broken();
  TimeZone zone;
  zone.first_offset_ = offsets.front();
  for (size_t i = 0; i < times.size(); ++i) {
    if (types[i] < 0 || types[i] >= header.types) return broken();
    if (i > 0 && times[i] <= times[i - 1]) return broken();
    zone.changes_.push_back({times[i], offsets[static_cast<size_t>(types[i])]});
  }
  std::string_view rule = in.rest();
  if (rule.size() >= 2 && rule.front() == '\n' && rule.back() == '\n') {
    rule = rule.substr(1, rule.size() - 2);
    if (!rule.empty() && !parse_rule(rule, zone.rule_)) {
      return failf(ErrorKind::unsupported, "the rule {} for years to come is not understood", rule);
    }
  }
  return zone;
}

Result<TimeZone> TimeZone::from_rule(std::string_view rule) {
  TimeZone zone;
  if (!parse_rule(rule, zone.rule_)) {
    return failf(ErrorKind::invalid, "{} is no rule of a time zone", rule);
  }
  return zone;
}

int64_t TimeZone::offset_seconds(Time time) const {
  int64_t at = time.unix_seconds();
  if (changes_.empty()) return rule_.is_set ? offset_by_rule(at) : first_offset_;
  if (at >= changes_.back().from && rule_.is_set) return offset_by_rule(at);
  auto after = std::upper_bound(changes_.begin(), changes_.end(), at,
                                [](int64_t when, const Change& c) { return when < c.from; });
  return after == changes_.begin() ? first_offset_ : std::prev(after)->offset;
}

LocalTime TimeZone::local(Time time) const {
  return civil_time(time.unix_seconds() + offset_seconds(time));
}

}  // namespace lockstep::rollout
