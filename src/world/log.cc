#include "world/log.h"

#include <algorithm>

#include <fmt/format.h>
#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>

#include "base/strings.h"

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

// The length of the UTF-8 character at the front, or 0 when it is none that may be shown: a control
// character (the C1 ones, U+0080 to U+009F, too) or broken.
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

spdlog::level::level_enum spdlog_level(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return spdlog::level::debug;
    case LogLevel::info:
      return spdlog::level::info;
    case LogLevel::warning:
      return spdlog::level::warn;
    case LogLevel::error:
      return spdlog::level::err;
  }
  return spdlog::level::err;
}

class StderrLog final : public Log {
 public:
  explicit StderrLog(LogLevel threshold)
      : logger_("lockstep", std::make_shared<spdlog::sinks::stderr_sink_mt>()) {
    logger_.set_level(spdlog_level(threshold));
    logger_.set_formatter(std::make_unique<spdlog::pattern_formatter>(
        "%Y-%m-%dT%H:%M:%S.%eZ %v", spdlog::pattern_time_type::utc));
    logger_.flush_on(spdlog::level::trace);
  }

  void write(LogLevel level, std::string_view message,
             std::initializer_list<LogField> fields) override {
    const auto as_spdlog = spdlog_level(level);
    if (!logger_.should_log(as_spdlog)) return;
    logger_.log(as_spdlog, format_log_line(level, message, fields));
  }

 private:
  spdlog::logger logger_;
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
