// Writes Prometheus' text format, version 0.0.4. A writer of our own and not prometheus-cpp: the
// numbers live in their components already, so that a registry would be a second copy to keep in
// step, and one dependency more in every image.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace lockstep::http {

// Of an answer in this format.
inline constexpr std::string_view prometheus_type = "text/plain; version=0.0.4; charset=utf-8";

using MetricLabels = std::vector<std::pair<std::string_view, std::string>>;

class PrometheusText {
 public:
  // Begins a metric; all its samples follow before the next one begins.
  PrometheusText& gauge(std::string_view name, std::string_view help);
  PrometheusText& counter(std::string_view name, std::string_view help);
  PrometheusText& histogram(std::string_view name, std::string_view help);

  template <typename Number, typename = std::enable_if_t<std::is_arithmetic_v<Number>>>
  PrometheusText& sample(Number value, const MetricLabels& labels = {}) {
    return sample("", static_cast<double>(value), labels);
  }
  // `suffix`: "_bucket", "_sum", "_count" of a histogram.
  PrometheusText& sample(std::string_view suffix, double value, const MetricLabels& labels);

  const std::string& text() const { return text_; }

 private:
  PrometheusText& begin(std::string_view name, std::string_view help, std::string_view type);

  std::string name_;
  std::string text_;
};

}  // namespace lockstep::http
