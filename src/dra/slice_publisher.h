// Keeps the node's ResourceSlice in the cluster as it is wanted, whatever changes it: the kubelet
// removes slices at its start and when it loses the plugin. Watches; writes only where something
// differs; waits longer from one failure to the next.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "dra/slices.h"
#include "kube/api.h"
#include "kube/backoff.h"
#include "kube/reflector.h"
#include "world/log.h"
#include "world/loop.h"
#include "world/random.h"

namespace lockstep::dra {

struct PublisherCounts {
  uint64_t writes = 0;
  uint64_t failures = 0;
};

class SlicePublisher final : private kube::ReflectorSink {
 public:
  SlicePublisher(kube::Api& api, Loop& loop, Random& random, Log& log, SliceSettings settings);
  ~SlicePublisher() override;

  void start();
  // What is to be published from now on.
  void want(SliceWish wish);
  // Once, when this server turns out to drop taints.
  void on_dropped_taints(std::function<void()> told) { dropped_told_ = std::move(told); }

  // Calls back with true once the cluster has what was wanted last, at once if it does already;
  // with false if that takes longer than `limit`.
  void when_published(Duration limit, std::function<void(bool)> told);
  // The cluster has what was wanted last.
  bool is_published() const { return is_published_; }
  bool drops_taints() const { return drops_taints_; }
  const PublisherCounts& counts() const { return counts_; }

 private:
  void begin_replace() override { collected_.clear(); }
  Result<ListPage> page(const kube::Body& body) override;
  void item(const kube::Body& object) override;
  bool end_replace(const std::string& version, bool history_restarted) override;
  std::string event(kube::WatchEventType type, const kube::Body& object) override;

  void take(const Document& slice);
  void read_node();
  void step_soon(Duration delay = Duration(0));
  void step();
  void tell_waiters(bool is_published);
  Duration time_to_wait() const;
  void on_written(const SliceStep& step, kube::Reply reply);

  kube::Api& api_;
  Loop& loop_;
  Log& log_;
  SliceSettings settings_;
  std::optional<SliceWish> wish_;
  std::map<std::string, Document> published_;
  std::map<std::string, Document> collected_;
  bool is_listed_ = false;
  bool is_writing_ = false;
  bool is_published_ = false;
  bool drops_taints_ = false;
  // Of one wish: another writer of the slice (the other instance of a rolling update, of another
  // version) is not fought at full speed.
  uint32_t writes_of_wish_ = 0;
  Duration last_write_{0};
  TimerId timer_ = 0;
  std::function<void()> dropped_told_;
  struct Waiter {
    Duration deadline{0};
    std::function<void(bool)> told;
  };
  std::vector<Waiter> waiters_;
  PublisherCounts counts_;
  kube::Backoff backoff_;
  kube::Reflector reflector_;
  Scope scope_;
};

}  // namespace lockstep::dra
