// The plugin's two sockets: the only place that knows gRPC. Calls arrive on threads of gRPC's, are
// handed to the plugin's loop, and wait there for their answer.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/result.h"
#include "dra/plugin.h"
#include "dra/sockets.h"
#include "world/event_loop.h"

namespace lockstep::dra {

// The last health report, for streams on other threads.
class HealthBoard {
 public:
  void post(std::vector<DeviceReport> reports);
  // Waits until there is a report after `seen`, or the time is over; returns its number.
  uint64_t wait(uint64_t seen, Duration limit, std::vector<DeviceReport>& reports);
  // Every waiting call returns, now and from now on.
  void close();
  bool closed() const;

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<DeviceReport> reports_;
  uint64_t number_ = 0;
  bool closed_ = false;
};

struct AdapterOptions {
  std::string driver;
  SocketPaths sockets;
  bool send_error_type = false;
  // Of the kubelet's 45 s, when it does not say how long it waits.
  Duration call_limit = seconds(40);
  Duration health_every = seconds(8);
};

class GrpcAdapter {
 public:
  // Listens on both sockets, that of the service first; the loop must be run by another thread, or
  // later by this one.
  static Result<std::unique_ptr<GrpcAdapter>> start(EventLoop& loop, Plugin& plugin,
                                                    HealthBoard& health, AdapterOptions options);
  // Unlinks the sockets, lets calls end for a moment, and then ends them. The loop must still run.
  void stop();
  ~GrpcAdapter();
  GrpcAdapter(const GrpcAdapter&) = delete;
  GrpcAdapter& operator=(const GrpcAdapter&) = delete;

  // As the kubelet last reported it.
  bool is_registered() const;
  std::string registration_error() const;

 private:
  struct Impl;
  explicit GrpcAdapter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace lockstep::dra
