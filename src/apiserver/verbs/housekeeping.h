// The background controllers of a cluster, which no client requests: garbage collection by
// ownerReferences, the end of namespaces, the status of disruption budgets, and (without kubelets)
// the end of pods whose grace period is over. Follows changes; never scans.
#pragma once

#include <deque>
#include <set>
#include <string>

#include "apiserver/verbs/backend.h"
#include "world/loop.h"

namespace lockstep::apiserver {

class Housekeeping {
 public:
  explicit Housekeeping(Backend& backend);
  ~Housekeeping();
  Housekeeping(const Housekeeping&) = delete;
  Housekeeping& operator=(const Housekeeping&) = delete;

  // Namespaces that every cluster has.
  void make_namespaces();

 private:
  void on_change(const std::string& storage, const Change& change);
  // What follows from a change of any kind, and of some.
  void follow_removal(const Store::Place& place, const Json& object);
  void follow_write(const Store::Place& place, const Change& change);
  void follow_namespace(const ObjectKey& key, const Change& change);
  void follow_pod(const ObjectKey& key, const Change& change);
  void follow_budget(const ObjectKey& key, const Change& change);
  void follow_definition(const ObjectKey& key, const Change& change);
  void schedule();
  void run();

  void collect(const std::string& owner_uid);         // the owner is gone: its dependents follow
  void check_owners(const Store::Place& place);       // a new object whose owners never existed
  void finish_foreground(const Store::Place& place);  // waits for its blocking dependents
  void orphan_dependents(const Store::Place& place);
  bool empty_shelf(const std::string& storage, const std::string& ns);
  void empty_namespace(const std::string& ns);
  void reap(const ObjectKey& pod);
  void drop_finalizer(const Store::Place& place, std::string_view finalizer);

  Backend& backend_;
  uint64_t listener_;
  bool scheduled_ = false;
  std::set<std::string> gone_owners_;
  std::set<Store::Place> new_dependents_;
  std::set<Store::Place> foreground_;
  std::set<Store::Place> orphaning_;
  std::set<std::string> terminating_namespaces_;
  std::set<ObjectKey> stale_budgets_;
  Scope scope_;
};

}  // namespace lockstep::apiserver
