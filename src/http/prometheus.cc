#include "http/prometheus.h"

#include <cmath>

#include <fmt/format.h>

namespace lockstep::http {

namespace {

void append_escaped(std::string& to, std::string_view text, bool quotes) {
  for (char c : text) {
    if (c == '\\') {
      to += "\\\\";
    } else if (c == '\n') {
      to += "\\n";
    } else if (c == '"' && quotes) {
      to += "\\\"";
    } else {
      to += c;
    }
  }
}

void append_number(std::string& to, double value) {
  if (std::isnan(value)) {
    to += "NaN";
  } else if (std::isinf(value)) {
    to += value > 0 ? "+Inf" : "-Inf";
  } else {
    fmt::format_to(std::back_inserter(to), "{}", value);
  }
}

}  // namespace

PrometheusText& PrometheusText::begin(std::string_view name, std::string_view help,
                                      std::string_view type) {
  name_ = name;
  fmt::format_to(std::back_inserter(text_), "# HELP {} ", name);
  append_escaped(text_, help, false);
  fmt::format_to(std::back_inserter(text_), "\n# TYPE {} {}\n", name, type);
  return *this;
}

PrometheusText& PrometheusText::gauge(std::string_view name, std::string_view help) {
  return begin(name, help, "gauge");
}
PrometheusText& PrometheusText::counter(std::string_view name, std::string_view help) {
  return begin(name, help, "counter");
}
PrometheusText& PrometheusText::histogram(std::string_view name, std::string_view help) {
  return begin(name, help, "histogram");
}

PrometheusText& PrometheusText::sample(std::string_view suffix, double value,
                                       const MetricLabels& labels) {
  text_ += name_;
  text_ += suffix;
  char separator = '{';
  for (const auto& [name, text] : labels) {
    text_ += separator;
    separator = ',';
    text_ += name;
    text_ += "=\"";
    append_escaped(text_, text, true);
    text_ += '"';
  }
  if (!labels.empty()) text_ += '}';
  text_ += ' ';
  append_number(text_, value);
  text_ += '\n';
  return *this;
}

}  // namespace lockstep::http
