#include "gpu/reporter.h"

#include <cerrno>
#include <unistd.h>

namespace lockstep::gpu {

void Reporter::send(JsonObject message) { sink_(print_json(Json(std::move(message)))); }

void Reporter::entering(std::string_view call) { send({{"call", call}}); }

void Reporter::doing(std::string_view check) { send({{"doing", check}}); }

void Reporter::finished(std::string_view check, double seconds) {
  send({{"finished", check}, {"seconds", seconds}});
}

void Reporter::fact(const std::vector<std::string>& path, Json value) {
  JsonArray steps;
  for (const std::string& step : path) steps.emplace_back(step);
  send({{"fact", std::move(steps)}, {"value", std::move(value)}});
}

void Reporter::trouble(std::string_view check, const Error& error) {
  send({{"trouble", check}, {"failed", error.kind == gpu_failure}, {"text", error.text()}});
}

Reporter::Sink write_lines_to(int descriptor) {
  return [descriptor](std::string_view line) {
    std::string text(line);
    text += '\n';
    for (size_t written = 0; written < text.size();) {
      ssize_t count = write(descriptor, text.data() + written, text.size() - written);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return;  // the gate is gone; the worker ends with it
      written += static_cast<size_t>(count);
    }
  };
}

}  // namespace lockstep::gpu
