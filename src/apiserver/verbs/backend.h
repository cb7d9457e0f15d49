// What every verb works on: the store, the table of resources, time and chance. The verbs are free
// functions over it (reading, writing, deleting, eviction); handle() picks one.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "apiserver/schema/resources.h"
#include "apiserver/schema/status.h"
#include "apiserver/store/store.h"
#include "kube/api.h"
#include "world/loop.h"
#include "world/random.h"

namespace lockstep::apiserver {

struct Options {
  // Track the owner of each field. Off in simulations, which never apply and count every write.
  bool managed_fields = true;
  // Removes pods when their grace period is over, as a kubelet would: for a server without
  // kubelets.
  bool reap_pods = false;
  // Changes kept for watchers, per resource.
  size_t log_limit = 100'000;
};

// The author of a request.
struct Caller {
  std::string user = "system:anonymous";
  std::vector<std::string> groups;
  std::string agent;  // the User-Agent: its first word names the field manager
};

struct ListResult {
  std::vector<StoredPtr> items;
  uint64_t version = 0;
  std::string continue_token;
  int64_t remaining = 0;
};

struct Answer {
  int code = 200;
  const ResourceInfo* info = nullptr;  // null: not about a resource's objects
  std::variant<Json, StoredPtr, ListResult> body;
  std::vector<std::string> warnings;
};

struct Backend {
  Backend(Loop& loop_in, Random& random_in, Options options_in = {});

  Loop& loop;
  Random& random;
  Options options;
  const BuiltinSchemas& schemas;
  ResourceTable table;
  Store store;
};

// One request that is not a watch.
Outcome<Answer> handle(Backend& backend, const kube::Request& request, const Caller& caller);

// The same object as another version of its resource shows it (events.k8s.io, versions of a CRD).
StoredPtr present(const ResourceInfo& info, const StoredPtr& stored);

// "dryRun=All": everything is checked and nothing is kept. Any other value is refused.
Outcome<bool> is_dry_run(const kube::Request& request);

// Metadata shorthands.
std::string_view object_name(const Json& object);
std::string_view object_uid(const Json& object);
bool is_terminating(const Json& object);

}  // namespace lockstep::apiserver
