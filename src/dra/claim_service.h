// What the kubelet asks, answered within its time: reads claims from the API, waits for a driver
// that is being replaced, tries again what may go better, and gives every claim of a request its
// entry in the answer. On one loop; the files are changed under the lock of all instances. Calls
// that have come so far share one wait for the disk.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "dra/preparer.h"
#include "dra/state_lock.h"
#include "kube/api.h"
#include "world/log.h"
#include "world/loop.h"

namespace lockstep::dra {

struct PrepareOutcome {
  std::vector<PreparedDevice> devices;
  std::string error;  // empty: it is prepared
  bool permanent = false;
};
using PrepareAnswer = std::map<std::string, PrepareOutcome>;  // by uid
using UnprepareAnswer = std::map<std::string, std::string>;   // the error by uid; empty: done

struct ClaimServiceOptions {
  std::string driver = "gpu.lockstep.dev";
  Duration retry_after = milliseconds(500);
  Duration longest_retry = seconds(4);
  Duration api_limit = seconds(10);
  // For how long an answer about a broken device waits for its taint.
  Duration taint_limit = seconds(5);
};

// How a claim ended, for the code that reports it to users.
struct ClaimVerdict {
  ClaimName claim;
  Document document;  // as it was read; null: it was not
  std::optional<ClaimFailure> failure;
};

struct ClaimCounts {
  uint64_t prepared = 0;
  uint64_t unprepared = 0;
  uint64_t unprepare_failed = 0;
  std::map<FailureClass, uint64_t> failed;
};

// A GPU that is to be shared in slices of this length.
struct SliceWanted {
  std::string device;
  TimeSlice slice = TimeSlice::usual;
};

class ClaimService {
 public:
  struct Surroundings {
    std::function<bool()> driver_is_current;
    std::function<std::string()> why_driver_is_away;
    std::function<void(const ClaimVerdict&)> on_verdict;
    // One after the other; the first that cannot be set is the error.
    std::function<void(std::vector<SliceWanted>, Duration limit, std::function<void(Result<void>)>)>
        set_time_slices;
    // Calls back with true once the scheduler knows which devices are broken, false at the limit.
    std::function<void(Duration limit, std::function<void(bool)>)> when_tainted = {};
  };

  ClaimService(Loop& loop, kube::Api& api, StateFiles& files, Log& log, StateLock& lock,
               Checkpoint& checkpoint, DeviceSource& devices, PreparerOptions preparer,
               ClaimServiceOptions options, Surroundings surroundings);
  ~ClaimService();

  // `limit`: the answer comes before it is over, whatever happens.
  void prepare(std::vector<ClaimName> claims, Duration limit,
               std::function<void(PrepareAnswer)> done);
  void unprepare(std::vector<ClaimName> claims, Duration limit,
                 std::function<void(UnprepareAnswer)> done);

  // Runs the task under the lock, on what is on disk now; false: the lock was not to be had, or the
  // checkpoint not to be read, until the limit.
  void with_state(Duration limit, std::function<void(bool)> task);
  ClaimPreparer& preparer() { return preparer_; }
  const ClaimCounts& counts() const { return counts_; }
  size_t calls_in_progress() const { return calls_; }

 private:
  struct PrepareCall;
  struct UnprepareCall;
  struct Documents;
  using CallPointer = std::shared_ptr<PrepareCall>;
  using UnprepareCallPointer = std::shared_ptr<UnprepareCall>;
  void try_prepare(const CallPointer& call);
  void read_claims(const CallPointer& call);
  void queue(const CallPointer& call);
  void schedule_work(Duration delay = Duration(0));
  void work();
  void work_without_state();
  void prepare_queued(const std::vector<CallPointer>& calls);
  void unprepare_queued(const std::vector<UnprepareCallPointer>& calls);
  void sort_out(const CallPointer& call, const std::map<std::string, ClaimPreparer::Prepared>& all);
  void set_slices(const CallPointer& call, const std::vector<ClaimName>& fresh);
  void take_slices_back(const std::vector<std::string>& uids);
  void note_prepared(const CallPointer& call, const std::vector<ClaimName>& claims);
  void try_again(const CallPointer& call);
  void answer(const CallPointer& call);
  void answer_now(const CallPointer& call, bool is_tainted_now);
  void fail_all(const CallPointer& call, const std::string& reason);
  bool needs_document(const ClaimName& claim) const;

  Loop& loop_;
  kube::Api& api_;
  StateFiles& files_;
  Log& log_;
  StateLock& lock_;
  Checkpoint& checkpoint_;
  std::unique_ptr<Documents> documents_;
  PreparerOptions preparer_options_;
  ClaimPreparer preparer_;
  ClaimServiceOptions options_;
  Surroundings surroundings_;
  ClaimCounts counts_;
  size_t calls_ = 0;
  // What has all that it needs but the files.
  std::vector<CallPointer> prepares_;
  std::vector<UnprepareCallPointer> unprepares_;
  bool is_scheduled_ = false;
  Scope scope_;
};

}  // namespace lockstep::dra
