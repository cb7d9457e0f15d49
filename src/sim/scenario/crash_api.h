// An Api whose client dies: right after its k-th write the client gets no more answers, and its
// requests are not done. The write itself happened; its reply is never seen. The owner of the
// client gets a callback, destroys it and starts another with an empty memory.
//
// Where nothing is planned it passes everything on at once, and a run is the same as without it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "kube/api.h"

namespace lockstep::sim {

struct Crash {
  uint64_t after_write = 0;  // counted from count_afresh(), over all lives of the client
  Duration away{0};          // how long it takes until the next client is there

  bool operator==(const Crash&) const = default;
};

class CrashApi final : public kube::Api {
 public:
  // Called once the write has been answered, or has failed.
  using OnCrash = std::function<void(const Crash&)>;

  CrashApi(kube::Api& inner, std::vector<Crash> crashes, OnCrash on_crash);
  ~CrashApi() override;

  void call(kube::Request request, kube::ReplyCallback done) override;
  [[nodiscard]] std::unique_ptr<kube::Watch> watch(kube::WatchRequest request,
                                                   kube::WatchHandler handler) override;

  // From now on writes are counted, and the crashes planned are made.
  void count_afresh();
  // One more, after a number of writes from now on, unless call_off() cancels it.
  void crash_in(const Crash& crash);
  void call_off() { called_.clear(); }
  uint64_t writes() const { return writes_; }
  bool dead() const { return life_ == nullptr; }
  // A crash for another reason than a write, now.
  void kill() { life_.reset(); }
  // A new client: what the last one asked for is never answered.
  void begin_life() { life_ = std::make_shared<char>(); }

 private:
  const Crash* crash_after(uint64_t write) const;

  kube::Api& inner_;
  std::vector<Crash> crashes_;
  std::vector<Crash> called_;  // by crash_in()
  OnCrash on_crash_;
  bool counting_ = false;
  uint64_t writes_ = 0;
  std::shared_ptr<char> life_;
  // Of this object itself: a reply may come after it is gone.
  std::shared_ptr<char> here_ = std::make_shared<char>();
};

// Whether it changes something, if it is done.
bool is_write(const kube::Request& request);

}  // namespace lockstep::sim
