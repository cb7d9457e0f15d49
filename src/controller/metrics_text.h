// Writes Prometheus' text format, version 0.0.4. A writer of our own and not prometheus-cpp: the
// numbers live in the controller already, so that a registry would be a second copy to keep in
// step, and one dependency more in every image.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lockstep::controller {

using MetricLabels = std::vector<std::pair<std::string_view, std::string>>;

class MetricsText {
 public:
  // Begins a metric; all its samples follow before the next one begins.
  MetricsText& gauge(std::string_view name, std::string_view help);
  MetricsText& counter(std::string_view name, std::string_view help);
  MetricsText& histogram(std::string_view name, std::string_view help);

  MetricsText& sample(double value, const MetricLabels& labels = {}) {
    return sample("", value, labels);
  }
  // `suffix`: "_bucket", "_sum", "_count" of a histogram.
  MetricsText& sample(std::string_view suffix, double value, const MetricLabels& labels);

  const std::string& text() const { return text_; }

 private:
  MetricsText& begin(std::string_view name, std::string_view help, std::string_view type);

  std::string name_;
  std::string text_;
};

}  // namespace lockstep::controller
