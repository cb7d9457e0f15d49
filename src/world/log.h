// The log as a part that is handed in. One line per record: time, level, message, key=value pairs.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lockstep {

enum class LogLevel { debug, info, warning, error };

using LogField = std::pair<std::string_view, std::string>;

class Log {
 public:
  virtual ~Log() = default;
  virtual void write(LogLevel level, std::string_view message,
                     std::initializer_list<LogField> fields) = 0;

  void debug(std::string_view message, std::initializer_list<LogField> fields = {}) {
    write(LogLevel::debug, message, fields);
  }
  void info(std::string_view message, std::initializer_list<LogField> fields = {}) {
    write(LogLevel::info, message, fields);
  }
  void warning(std::string_view message, std::initializer_list<LogField> fields = {}) {
    write(LogLevel::warning, message, fields);
  }
  void error(std::string_view message, std::initializer_list<LogField> fields = {}) {
    write(LogLevel::error, message, fields);
  }
};

// "warn  node is cordoned node=gpu-7 reason=\"no space left\"", without the time. Always one line
// of plain text: control characters and broken UTF-8 are escaped, so that what an object or a
// program says can neither forge a record nor steer a terminal.
std::string format_log_line(LogLevel level, std::string_view message,
                            std::initializer_list<LogField> fields);

// To standard error, "2026-11-15T04:20:11.123Z " and the line.
std::unique_ptr<Log> make_stderr_log(LogLevel threshold);

class SilentLog final : public Log {
 public:
  void write(LogLevel, std::string_view, std::initializer_list<LogField>) override {}
};

// Keeps the lines, of every level, for tests.
class MemoryLog final : public Log {
 public:
  void write(LogLevel level, std::string_view message,
             std::initializer_list<LogField> fields) override;
  std::vector<std::string> lines;
};

}  // namespace lockstep
