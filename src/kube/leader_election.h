// One of several replicas leads: the holder of a Lease, which it keeps renewing.
//
// What holds, as long as clocks run at about the same speed (what they show does not matter): two
// never lead at once. A leader stops leading when `renew_deadline` has passed since it *sent* its
// last successful renewal; another takes over when it has seen the lease unchanged for
// `lease_duration`, counted from when it *heard* of the last change, by its own clock; and every
// write names the version that it replaces. It does not fence what a paused process still has in
// flight: every write that a leader makes must be safe by itself.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "kube/api.h"
#include "world/log.h"
#include "world/loop.h"
#include "world/random.h"

namespace lockstep::kube {

struct LeaderElectionOptions {
  ObjectKey lease;
  // Must differ between any two processes, also between one and its successor on the same host.
  std::string identity;
  Duration lease_duration = seconds(15);
  Duration renew_deadline = seconds(10);
  Duration retry_period = seconds(2);
  // Of the lease, while we hold it: what others are to know of the leader.
  std::vector<std::pair<std::string, std::string>> annotations = {};

  // Each may stop or destroy the election.
  std::function<void()> on_started_leading;
  std::function<void()> on_stopped_leading;
  std::function<void(const std::string& identity)> on_new_leader;
};

class LeaderElection {
 public:
  // Fails when the durations cannot keep the promise above.
  static Result<void> check(const LeaderElectionOptions& options);

  LeaderElection(Api& api, Loop& loop, Random& random, Log& log, LeaderElectionOptions options);
  // Does not release the lease: as a crash.
  ~LeaderElection();
  LeaderElection(const LeaderElection&) = delete;
  LeaderElection& operator=(const LeaderElection&) = delete;

  // Begins to try; after losing the lead it tries again.
  void start();
  // Stops leading at once, then gives the lease free so that another need not wait; `done` when
  // that has been tried.
  void stop(std::function<void()> done = {});

  bool is_leading() const { return leading_; }
  // The holder of the lease as far as we know; empty: no holder.
  const std::string& leader() const { return observed_holder_; }
  const std::optional<Error>& last_error() const { return last_error_; }
  // When the last renewal of ours that succeeded was sent, by uptime.
  Duration last_renewal() const { return renewed_at_; }

 private:
  enum class Purpose { acquire, renew, release };

  void try_later(Duration delay);
  void try_now();
  void read_lease();
  void on_read(Reply reply);
  void on_missing();
  void follow();
  void write_lease(const Json* current, Purpose purpose);
  void on_written(Reply reply, Purpose purpose);
  void attempt_succeeded(const Json& lease);
  void attempt_failed(Error error);
  void send(Request request, std::function<void(Reply)> done);

  // Records what the lease says; the time of a change is when we see it.
  void observe(const Json& lease);
  bool is_held_by_other() const;
  void lead();
  void stop_leading();
  void arm_deadline();
  void report_leader();

  void release();
  void finish_stop();

  Api& api_;
  Loop& loop_;
  Random& random_;
  Log& log_;
  LeaderElectionOptions options_;

  Document lease_;             // as last read or written; null: not known
  std::string observed_spec_;  // its text, to see a change
  std::string observed_holder_;
  Duration observed_duration_{0};
  Duration observed_at_{0};
  bool observed_ = false;
  std::string reported_leader_;

  bool running_ = false;
  bool stopping_ = false;
  bool leading_ = false;
  // The next attempt may write at once, without reading first.
  bool lease_is_fresh_ = false;
  bool wrote_ = false;
  uint32_t release_tries_ = 0;
  Duration attempt_began_{0};
  Duration renewed_at_{0};
  TimerId deadline_timer_ = 0;
  std::optional<Error> last_error_;
  std::function<void()> stopped_;
  // Of the attempt in progress: an answer that comes after we gave up on it does nothing.
  Scope attempt_;
  Scope scope_;
};

}  // namespace lockstep::kube
