// An Api that shows one kind of object as it was. From its k-th event on, for a while, it withholds
// events, and a new list returns what had been shown until then, as from a replica of the API
// server that hangs. Then all withheld events arrive, in their order. A get, or a list with a
// selector, is answered from the newest state, as Kubernetes promises.
//
// Where nothing is planned it passes everything on at once, and a run is the same as without it.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kube/api.h"
#include "world/loop.h"

namespace lockstep::sim {

struct Freeze {
  std::string resource;     // "pods", "daemonsets.apps"
  uint64_t from_event = 0;  // the first that is held back, counted from count_afresh()
  Duration length = minutes(2);
  bool crash = false;  // the client dies at that moment, and the next begins with the stale view

  bool operator==(const Freeze&) const = default;
};

class StaleApi final : public kube::Api {
 public:
  using OnFreeze = std::function<void(const Freeze&)>;

  StaleApi(kube::Api& inner, Loop& loop, std::vector<Freeze> freezes, OnFreeze on_freeze);
  ~StaleApi() override;

  void call(kube::Request request, kube::ReplyCallback done) override;
  [[nodiscard]] std::unique_ptr<kube::Watch> watch(kube::WatchRequest request,
                                                   kube::WatchHandler handler) override;

  // From now on events are counted, and what is planned comes.
  void count_afresh();
  // By resource, without bookmarks.
  const std::map<std::string, uint64_t>& events() const { return events_; }
  bool frozen(const std::string& resource) const;

 private:
  class StaleWatch;
  // What the client has been shown of one kind of object.
  struct Replica {
    std::map<ObjectKey, Document> objects;
    std::map<ObjectKey, Document> listed;  // of a list that has not come to its end
    std::string listed_version;
    std::string version;
    Duration frozen_until{0};
  };

  bool is_planned(const std::string& resource) const;
  void take_list(const std::string& resource, const kube::ListBody& body);
  void take_event(const std::string& resource, const kube::WatchEvent& event);
  // True: it is held back.
  bool count_event(const std::string& resource, const kube::WatchEvent& event);
  kube::Response stale_list(const kube::Request& request);

  kube::Api& inner_;
  Loop& loop_;
  std::vector<Freeze> freezes_;
  OnFreeze on_freeze_;
  bool counting_ = false;
  std::map<std::string, uint64_t> events_;
  std::map<std::string, Replica> replicas_;
  std::vector<StaleWatch*> watches_;
  Scope scope_;
};

}  // namespace lockstep::sim
