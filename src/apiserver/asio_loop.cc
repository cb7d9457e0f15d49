#include "apiserver/asio_loop.h"

#include <chrono>
#include <map>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include "world/event_loop.h"

namespace lockstep::apiserver {

namespace asio = boost::asio;

struct AsioLoop::Impl {
  // One thread runs it: Asio need not lock.
  asio::io_context context{1};
  asio::executor_work_guard<asio::io_context::executor_type> guard{context.get_executor()};
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  std::map<TimerId, std::unique_ptr<asio::steady_timer>> timers;
  TimerId next = 1;
};

AsioLoop::AsioLoop() : impl_(std::make_unique<Impl>()) {}
AsioLoop::~AsioLoop() = default;

Time AsioLoop::now() const { return system_time(); }

Duration AsioLoop::uptime() const { return std::chrono::steady_clock::now() - impl_->start; }

void AsioLoop::post(std::function<void()> task) { asio::post(impl_->context, std::move(task)); }

TimerId AsioLoop::after(Duration delay, std::function<void()> task) {
  TimerId id = impl_->next++;
  auto timer = std::make_unique<asio::steady_timer>(impl_->context, delay);
  timer->async_wait([this, id, task = std::move(task)](const boost::system::error_code& error) {
    if (error) return;
    impl_->timers.erase(id);
    task();
  });
  impl_->timers.emplace(id, std::move(timer));
  return id;
}

void AsioLoop::cancel(TimerId timer) { impl_->timers.erase(timer); }

void AsioLoop::run() { impl_->context.run(); }
void AsioLoop::stop() { impl_->context.stop(); }
asio::io_context& AsioLoop::context() { return impl_->context; }

}  // namespace lockstep::apiserver
