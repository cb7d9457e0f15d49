// Reading our own writes: after a write we know a version, or a deletion, that the cache does not
// show yet. Until it does, a decision about that object would use a stale view. An expectation is
// settled when the cache has seen the write or something newer.
#pragma once

#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "objects/meta.h"
#include "objects/resource_type.h"

namespace lockstep::kube {

class Expectations {
 public:
  // We wrote the object and the answer carried this version. Of several the newest counts.
  void expect(const ObjectKey& key, std::string_view version);
  // We deleted the object with this uid. Settled when it is gone, is another object of that name,
  // or is terminating: a pod may take minutes to end, and is watched meanwhile.
  void expect_deleted(const ObjectKey& key, std::string_view uid);

  bool has(const ObjectKey& key) const { return waiting_.contains(key); }
  bool empty() const { return waiting_.empty(); }
  size_t size() const { return waiting_.size(); }

  // Each of these appends the keys that it settled.
  using Keys = std::vector<ObjectKey>;
  void clear(Keys& settled);
  // The cache shows this object now.
  void saw(const ObjectMeta& meta, Keys& settled);
  // The object is gone; `version` of the deletion, where known.
  void saw_deleted(const ObjectKey& key, std::string_view version, Keys& settled);
  // Everything up to this version has been seen.
  void saw_version(std::string_view version, Keys& settled);
  // The cache was filled from a list. What waits for a version that cannot be compared, or for a
  // deletion, is settled by the second list after the write: the first may have been read before
  // it.
  void saw_list(Keys& settled);

 private:
  struct Expectation {
    Text version;      // empty: none
    Text deleted_uid;  // empty: none
    int lists = 0;
  };
  using Waiting = std::map<ObjectKey, Expectation>;

  using Versioned = std::pair<Text, ObjectKey>;
  // Numbers without leading zeros: the longer one is the larger.
  struct OlderFirst {
    bool operator()(const Versioned& a, const Versioned& b) const;
  };

  static bool is_comparable(std::string_view version);
  void drop_version(Waiting::iterator at);
  Waiting::iterator finish(Waiting::iterator at, Keys& settled);

  Waiting waiting_;
  // Those whose version is a number, so that a version settles all before it at no cost for the
  // rest.
  std::set<Versioned, OlderFirst> by_version_;
};

}  // namespace lockstep::kube
