// What a worker process says to the gate, a line of JSON for each thing: which call of the driver
// it is about to make (so that a hang has a name), what it found, what went wrong, what it is
// doing.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "data/json.h"

namespace lockstep::gpu {

class Reporter {
 public:
  using Sink = std::function<void(std::string_view line)>;
  explicit Reporter(Sink sink) : sink_(std::move(sink)) {}

  void entering(std::string_view call);
  void doing(std::string_view check);
  void finished(std::string_view check, double seconds);
  // A value for the gate's document of facts, at this path.
  void fact(const std::vector<std::string>& path, Json value);
  void trouble(std::string_view check, const Error& error);

 private:
  void send(JsonObject message);
  Sink sink_;
};

// The GPU itself failed (it is lost, a launch broke off, an uncorrectable error): the check has
// failed. Other errors say that a check could not be made.
constexpr ErrorKind gpu_failure = ErrorKind::unreachable;

// A sink that writes whole lines to a descriptor.
Reporter::Sink write_lines_to(int descriptor);

}  // namespace lockstep::gpu
