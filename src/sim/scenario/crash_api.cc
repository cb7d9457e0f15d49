#include "sim/scenario/crash_api.h"

#include <algorithm>
#include <utility>

namespace lockstep::sim {

namespace {

// What a client that is dead believes that it watches.
class NoWatch final : public kube::Watch {};

}  // namespace

bool is_write(const kube::Request& request) {
  return request.verb != kube::Verb::get && request.verb != kube::Verb::list;
}

CrashApi::CrashApi(kube::Api& inner, std::vector<Crash> crashes, OnCrash on_crash)
    : inner_(inner), crashes_(std::move(crashes)), on_crash_(std::move(on_crash)) {
  begin_life();
}

CrashApi::~CrashApi() = default;

void CrashApi::count_afresh() {
  counting_ = true;
  writes_ = 0;
}

void CrashApi::crash_in(const Crash& crash) {
  called_.push_back({writes_ + crash.after_write, crash.away});
}

const Crash* CrashApi::crash_after(uint64_t write) const {
  if (!counting_) return nullptr;
  for (const auto* crashes : {&crashes_, &called_}) {
    auto at = std::find_if(crashes->begin(), crashes->end(),
                           [&](const Crash& crash) { return crash.after_write == write; });
    if (at != crashes->end()) return &*at;
  }
  return nullptr;
}

void CrashApi::call(kube::Request request, kube::ReplyCallback done) {
  if (dead()) return;
  if (is_write(request)) {
    if (const Crash* crash = crash_after(++writes_)) {
      kill();
      auto died = [here = std::weak_ptr<char>(here_), this, crash = *crash](const kube::Reply&) {
        if (!here.expired()) on_crash_(crash);
      };
      return inner_.call(std::move(request), died);
    }
  }
  auto pass = [life = std::weak_ptr<char>(life_), done = std::move(done)](kube::Reply reply) {
    if (!life.expired()) done(std::move(reply));
  };
  inner_.call(std::move(request), std::move(pass));
}

std::unique_ptr<kube::Watch> CrashApi::watch(kube::WatchRequest request,
                                             kube::WatchHandler handler) {
  if (dead()) return std::make_unique<NoWatch>();
  kube::WatchHandler passing;
  passing.on_event = [life = std::weak_ptr<char>(life_),
                      on_event = std::move(handler.on_event)](kube::WatchEvent event) {
    if (!life.expired()) on_event(std::move(event));
  };
  passing.on_end = [life = std::weak_ptr<char>(life_),
                    on_end = std::move(handler.on_end)](Error error) {
    if (!life.expired()) on_end(std::move(error));
  };
  return inner_.watch(std::move(request), std::move(passing));
}

}  // namespace lockstep::sim
