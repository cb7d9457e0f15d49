// The Loop of the HTTP server's thread: Asio's, so that sockets and the store share one thread.
#pragma once

#include <memory>

#include "world/loop.h"

namespace boost::asio {
class io_context;
}

namespace lockstep::apiserver {

class AsioLoop final : public Loop {
 public:
  AsioLoop();
  ~AsioLoop() override;
  AsioLoop(const AsioLoop&) = delete;
  AsioLoop& operator=(const AsioLoop&) = delete;

  Time now() const override;
  Duration uptime() const override;
  // From any thread.
  void post(std::function<void()> task) override;
  TimerId after(Duration delay, std::function<void()> task) override;
  void cancel(TimerId timer) override;

  // Until stop().
  void run();
  // From any thread.
  void stop();

  boost::asio::io_context& context();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lockstep::apiserver
