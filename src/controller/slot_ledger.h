// Gives out slots so that no crash, second controller or stale view takes a pool beyond its limits.
// A slot counts from the moment when it is stored in one ConfigMap, which is written with its
// version as a precondition. The node's label changes only after that.
//
// An entry names the node's version, and the label's patch has that version as a precondition. So
// an entry is spent as soon as the node is seen with another version: either the patch was the
// change, or it can never be done. The ledger also records how much of the nodes' history its
// writer had seen when it dropped spent entries: a replica that has seen less must not count.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "kube/api.h"
#include "kube/backoff.h"
#include "world/log.h"
#include "world/loop.h"
#include "world/random.h"

namespace lockstep::controller {

// The content of the ledger.
struct Ledger {
  std::map<std::string, std::string> slots;  // node -> its version when it was given the slot
  std::string seen;                          // version of the nodes' history

  Json to_json(const ObjectKey& key, const std::string& resource_version) const;
  static Ledger from_json(const Json& object);
  bool operator==(const Ledger&) const = default;
};

// It was written in this cluster: `resource_version` is its object's own. What its writer had seen
// was there before it. A backup of another cluster may have a foreign history: a replica that
// waited to see it would wait indefinitely.
bool is_of_this_cluster(const Ledger& ledger, std::string_view resource_version);

class SlotLedger {
 public:
  // From the current ledger to the next one; nothing: leave it. Called again after a conflict.
  using Plan = std::function<std::optional<Ledger>(const Ledger& current)>;
  // The ledger as it is now stored in the cluster.
  using Done = std::function<void(const Ledger& written)>;

  SlotLedger(kube::Api& api, Loop& loop, Random& random, Log& log, ObjectKey key);

  // Reads it if need be, plans, writes; repeats after conflicts and errors until the plan is done
  // or wants nothing. `done` after each successful read or write. One at a time: a call while one
  // is in progress leads to another round after it.
  void update(Plan plan, Done done);
  // What is known is void: another may have led meanwhile.
  void forget();
  const std::optional<Error>& last_error() const { return last_error_; }
  const std::optional<Ledger>& known() const { return known_; }

 private:
  void round();
  void read();
  void on_read(kube::Reply reply);
  void plan_and_write();
  void on_written(const Ledger& wanted, kube::Reply reply);
  void take(const Json& object);
  void later(Error error);
  void finish();

  kube::Api& api_;
  Loop& loop_;
  Log& log_;
  ObjectKey key_;
  std::optional<Ledger> known_;
  std::string version_;  // of the ConfigMap; empty: it does not exist
  Plan plan_;
  Done done_;
  bool busy_ = false;
  bool again_ = false;
  kube::Backoff backoff_;
  std::optional<Error> last_error_;
  Scope scope_;
};

}  // namespace lockstep::controller
