#include "world/log.h"

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>

#include "base/strings.h"
#include "base/time.h"
#include "world/event_loop.h"

namespace lockstep {

namespace {

std::string_view name(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return "debug";
    case LogLevel::info:
      return "info";
    case LogLevel::warning:
      return "warn";
    case LogLevel::error:
      return "error";
  }
  return "error";
}

// The length of the UTF-8 character at the front, or 0 if it must not be shown: a control character
// (C1, U+0080 to U+009F, too) or an invalid one.
size_t printable_length(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  if (first < 0x80) return first >= 0x20 && first != 0x7f ? 1 : 0;
  const size_t length = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  if (!is_valid_utf8(text.substr(0, length))) return 0;
  const bool is_control = first == 0xc2 && static_cast<unsigned char>(text[1]) < 0xa0;
  return is_control ? 0 : length;
}

void append_escaped(std::string& line, std::string_view text, bool quoted) {
  while (!text.empty()) {
    const char c = text.front();
    size_t length = 1;
    if (c == '\n') {
      line += "\\n";
    } else if (c == '\t') {
      line += "\\t";
    } else if (c == '\r') {
      line += "\\r";
    } else if (quoted && (c == '"' || c == '\\')) {
      line += '\\';
      line += c;
    } else if (const size_t printable = printable_length(text); printable > 0) {
      length = printable;
      line += text.substr(0, length);
    } else {
      line += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
    text.remove_prefix(length);
  }
}

bool needs_quotes(std::string_view value) {
  if (value.empty() || !is_valid_utf8(value)) return true;
  return std::any_of(value.begin(), value.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    // 0xc2 starts the C1 control characters (and some harmless ones).
    return byte <= 0x20 || byte == 0x7f || byte == 0xc2 || c == '"' || c == '=' || c == '\\';
  });
}

class StderrLog final : public Log {
 public:
  explicit StderrLog(LogLevel threshold) : threshold_(threshold) {}

  void write(LogLevel level, std::string_view message,
             std::initializer_list<LogField> fields) override {
    if (level < threshold_) return;
    std::string time = format_rfc3339_micro(system_time());
    time.replace(time.size() - 4, 4, "Z ");  // milliseconds are enough
    std::string line = time + format_log_line(level, message, fields) + '\n';
    // The standard error is not buffered: one call is one write, whichever thread it comes from.
    std::fwrite(line.data(), 1, line.size(), stderr);
  }

 private:
  LogLevel threshold_;
};

}  // namespace

std::string format_log_line(LogLevel level, std::string_view message,
                            std::initializer_list<LogField> fields) {
  std::string line = fmt::format("{:<5} ", name(level));
  append_escaped(line, message, false);
  for (const auto& [key, value] : fields) {
    line += ' ';
    line += key;
    line += '=';
    if (needs_quotes(value)) {
      line += '"';
      append_escaped(line, value, true);
      line += '"';
    } else {
      line += value;
    }
  }
  return line;
}

std::unique_ptr<Log> make_stderr_log(LogLevel threshold) {
  return std::make_unique<StderrLog>(threshold);
}

void MemoryLog::write(LogLevel level, std::string_view message,
                      std::initializer_list<LogField> fields) {
  lines.push_back(format_log_line(level, message, fields));
}

}  // namespace lockstep
