// What a kubelet does about the claims of its pods, by the rules of the real one (1.36): which of
// them a plugin is asked to prepare, what becomes of a pod by the answers, when the next try comes,
// and what is unprepared when a pod ends. Pure: its user makes the calls. The simulated kubelets
// do, and the test kubelet of tests/dra, which makes them over real gRPC.
//
//   ClaimRefs asked = book.begin(pod, claims);         // the plugin of each is registered
//   PrepareVerdict verdict = book.take(asked, answers);
//   …
//   asked = book.end(pod);
//   if (book.take_end(asked, answers)) …               // else it is tried again
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace lockstep::sim {

// From a failed attempt to the next: the kubelet retries when it syncs its pods anyway.
inline constexpr Duration prepare_retry_least = seconds(60);
inline constexpr Duration prepare_retry_most = seconds(90);

struct ClaimRef {
  std::string uid;
  std::string name;

  bool operator==(const ClaimRef&) const = default;
};
using ClaimRefs = std::vector<ClaimRef>;

// What a plugin says of one claim.
struct PrepareAnswer {
  std::string error;       // empty: it is prepared
  bool permanent = false;  // another try would end the same
};
using PrepareAnswers = std::map<std::string, PrepareAnswer>;  // by uid
using UnprepareAnswers = std::map<std::string, std::string>;  // errors by uid

struct PrepareVerdict {
  enum class Pod { runs, waits, fails };
  Pod pod = Pod::runs;
  std::string message;  // why it waits, or has failed
};

// As the kubelet passes on a plugin's error.
std::string prepare_error_text(std::string_view claim, std::string_view error);

class ClaimBook {
 public:
  // `knows_error_type`: a kubelet of KEP-5322, to which a permanent error is the pod's end. To all
  // that there are, it is an error as any other.
  explicit ClaimBook(bool knows_error_type = false) : knows_error_type_(knows_error_type) {}

  // A try to start a pod: the claims to be prepared, in one call. What was prepared before, for
  // this pod or for another, is not asked for again. From now on the claims are this pod's too. Not
  // to be called while a plugin is not registered: then the pod waits, and nothing is to be undone.
  ClaimRefs begin(const std::string& pod, const ClaimRefs& claims);
  // What came of that call; an error: the call failed as a whole. All claims or none are prepared.
  PrepareVerdict take(const ClaimRefs& asked, const Result<PrepareAnswers>& answers);

  // A pod is over: the claims to be unprepared, in one call, which are those that no other pod has.
  // Also those whose prepare failed: how far it came is not known.
  ClaimRefs end(const std::string& pod);
  // An error: they are still the pod's, and are asked for again.
  Result<void> take_end(const ClaimRefs& asked, const Result<UnprepareAnswers>& answers);

  // The kubelet's process is restarted. Which pod has which claims is on its disk; whether they are
  // prepared is not, and so they are prepared again where a pod is started again.
  void restart();

  bool is_prepared(const std::string& uid) const;
  // No pod has any claim.
  bool empty() const { return claims_.empty(); }

 private:
  struct Entry {
    std::string name;
    std::set<std::string> pods;
    bool prepared = false;
  };

  bool knows_error_type_;
  std::map<std::string, Entry> claims_;  // by uid
};

}  // namespace lockstep::sim
