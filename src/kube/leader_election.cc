#include "kube/leader_election.h"

#include <algorithm>
#include <utility>

#include "kube/backoff.h"

namespace lockstep::kube {
namespace {

// A longer duration is taken for garbage: it must not lock all other replicas out.
constexpr int64_t longest_believable_lease = 3600;

std::function<void()> nothing() {
  return [] {};
}

}  // namespace

Result<void> LeaderElection::check(const LeaderElectionOptions& options) {
  if (options.identity.empty()) return fail(ErrorKind::invalid, "the identity is empty");
  if (options.lease.name.empty()) return fail(ErrorKind::invalid, "the lease has no name");
  if (options.lease_duration < seconds(1)) {
    return fail(ErrorKind::invalid, "the lease duration is under a second");
  }
  if (options.renew_deadline >= options.lease_duration) {
    return fail(ErrorKind::invalid, "the renew deadline must be shorter than the lease duration");
  }
  // As client-go: room for at least one more try, jitter included.
  if (options.retry_period <= Duration::zero() ||
      options.renew_deadline <= options.retry_period + options.retry_period / 5) {
    return fail(ErrorKind::invalid,
                "the retry period must be positive and well under the renew deadline");
  }
  return {};
}

LeaderElection::LeaderElection(Api& api, Loop& loop, Random& random, Log& log,
                               LeaderElectionOptions options)
    : api_(api), loop_(loop), random_(random), log_(log), options_(std::move(options)) {}

LeaderElection::~LeaderElection() { loop_.cancel(deadline_timer_); }

void LeaderElection::start() {
  if (running_) return;
  running_ = true;
  stopping_ = false;
  loop_.post(attempt_.bind([this] { try_now(); }));
}

void LeaderElection::try_later(Duration delay) {
  attempt_.reset();
  loop_.after(delay, attempt_.bind([this] { try_now(); }));
}

void LeaderElection::try_now() {
  if (leading_ && lease_is_fresh_) {
    attempt_began_ = loop_.uptime();
    return write_lease(lease_.get(), Purpose::renew);
  }
  read_lease();
}

// A request that hangs must leave time for another before the deadline.
void LeaderElection::send(Request request, std::function<void(Reply)> done) {
  Duration limit = options_.renew_deadline / 2;
  request.limit = limit;
  attempt_.reset();
  api_.call(std::move(request), attempt_.bind(std::move(done)));
  // By ourselves, too: between us and the network there may be a queue.
  loop_.after(limit + limit / 10, attempt_.bind([this] {
    attempt_failed({ErrorKind::timed_out, "no answer in time", options_.lease.text()});
  }));
}

void LeaderElection::read_lease() {
  send(get(resource::leases, options_.lease), [this](Reply reply) { on_read(std::move(reply)); });
}

void LeaderElection::on_read(Reply reply) {
  if (reply && reply->code == 404) return on_missing();
  Result<Document> lease = document_of(std::move(reply));
  if (!lease) return attempt_failed(std::move(lease).error());
  if (!(*lease)->is_object()) {
    return attempt_failed({ErrorKind::invalid, "the lease is no object", options_.lease.text()});
  }
  lease_ = *lease;
  observe(*lease_);
  if (is_held_by_other()) {
    return follow();
  }
  attempt_began_ = loop_.uptime();
  bool ours = observed_holder_ == options_.identity;
  write_lease(lease_.get(), ours ? Purpose::renew : Purpose::acquire);
}

// Another replica leads. If we believed that we lead (the lease was deleted, say), that ends here
// and not at the deadline.
void LeaderElection::follow() {
  lease_is_fresh_ = false;
  try_later(jittered(options_.retry_period, 1.2, random_));
  report_leader();
  stop_leading();
}

void LeaderElection::on_missing() {
  // Deleted while its holder may still be leading: it counts until it would have expired.
  if (is_held_by_other()) return follow();
  attempt_began_ = loop_.uptime();
  write_lease(nullptr, Purpose::acquire);
}

void LeaderElection::observe(const Json& lease) {
  const Json* spec = find(lease, "spec");
  std::string text = spec == nullptr ? "" : print_json(*spec);
  // Changes outside spec, such as a user's labels, do not prove that the holder is alive.
  if (observed_ && text == observed_spec_) return;
  observed_ = true;
  observed_spec_ = std::move(text);
  observed_at_ = loop_.uptime();
  observed_holder_ = text_at(lease, "spec", "holderIdentity");
  int64_t length = as_integer(find(lease, "spec", "leaseDurationSeconds"));
  bool believable = length > 0 && length <= longest_believable_lease;
  observed_duration_ = believable ? seconds(length) : options_.lease_duration;
}

bool LeaderElection::is_held_by_other() const {
  if (observed_holder_.empty() || observed_holder_ == options_.identity) return false;
  return loop_.uptime() < observed_at_ + observed_duration_;
}

// Null: the lease does not exist yet. What others put into it stays.
void LeaderElection::write_lease(const Json* current, Purpose purpose) {
  Json lease = JsonObject{
      {"apiVersion", resource::leases.api_version()},
      {"kind", resource::leases.kind},
      {"metadata", JsonObject{{"name", options_.lease.name}, {"namespace", options_.lease.ns}}}};
  if (current != nullptr) lease = *current;
  if (!options_.annotations.empty()) {
    JsonObject& annotations =
        ensure_object(ensure_object(lease.as_object(), "metadata"), "annotations");
    for (const auto& [key, value] : options_.annotations) annotations[key] = value;
  }
  JsonObject& spec = ensure_object(lease.as_object(), "spec");
  std::string now = format_rfc3339_micro(loop_.now());
  // int32 in the API; a negative number is another client's mistake.
  int64_t transitions =
      std::clamp<int64_t>(as_integer(find(spec, "leaseTransitions")), 0, INT32_MAX - 1);
  if (purpose == Purpose::acquire) {
    spec["acquireTime"] = now;
    if (current != nullptr) ++transitions;
  }
  bool release = purpose == Purpose::release;
  spec["holderIdentity"] = release ? "" : options_.identity;
  spec["leaseDurationSeconds"] = release ? 1 : options_.lease_duration / seconds(1);
  spec["renewTime"] = now;
  spec["leaseTransitions"] = transitions;
  wrote_ = true;
  Request request = current == nullptr
                        ? create(resource::leases, options_.lease.ns, std::move(lease))
                        : update(resource::leases, options_.lease, std::move(lease));
  send(std::move(request), [this, purpose](Reply reply) { on_written(std::move(reply), purpose); });
}

void LeaderElection::on_written(Reply reply, Purpose purpose) {
  Result<Document> lease = document_of(std::move(reply));
  if (purpose == Purpose::release) {
    // Another client wrote it in between, or no answer came: read it once more.
    if (!lease) return attempt_failed(std::move(lease).error());
    return finish_stop();
  }
  if (!lease) return attempt_failed(std::move(lease).error());
  attempt_succeeded(**lease);
}

void LeaderElection::attempt_succeeded(const Json& lease) {
  lease_ = std::make_shared<const Json>(lease);
  lease_is_fresh_ = lease.is_object();
  renewed_at_ = attempt_began_;
  last_error_.reset();
  observe(lease);
  // An answer that took longer than the deadline gives nothing to lead with.
  bool in_time = loop_.uptime() < renewed_at_ + options_.renew_deadline;
  try_later(in_time ? jittered(options_.retry_period, 0.1, random_) : Duration::zero());
  if (!in_time) return;
  arm_deadline();
  if (leading_) return report_leader();
  lead();
}

void LeaderElection::attempt_failed(Error error) {
  log_.debug("leader election", {{"lease", options_.lease.text()}, {"error", error.text()}});
  last_error_ = std::move(error);
  // Our knowledge may be stale now: a lost reply, or another client's write.
  lease_is_fresh_ = false;
  Duration delay = jittered(options_.retry_period, leading_ ? 0.1 : 1.2, random_);
  if (!stopping_) return try_later(delay);
  attempt_.reset();
  loop_.after(delay / 4, attempt_.bind([this] { release(); }));
}

void LeaderElection::lead() {
  leading_ = true;
  log_.info("leading", {{"lease", options_.lease.text()}, {"identity", options_.identity}});
  report_leader();
  // Last: it may destroy us.
  auto callback = options_.on_started_leading;
  if (callback) callback();
}

void LeaderElection::arm_deadline() {
  loop_.cancel(deadline_timer_);
  Duration left = renewed_at_ + options_.renew_deadline - loop_.uptime();
  deadline_timer_ = loop_.after(left, scope_.bind([this] {
    deadline_timer_ = 0;
    log_.warning("lost the lead: the lease could not be renewed in time",
                 {{"lease", options_.lease.text()}});
    stop_leading();
  }));
}

// Last thing to do for the caller: the callback may destroy us.
void LeaderElection::stop_leading() {
  loop_.cancel(deadline_timer_);
  deadline_timer_ = 0;
  if (!leading_) return;
  leading_ = false;
  auto callback = options_.on_stopped_leading;
  if (callback) callback();
}

void LeaderElection::report_leader() {
  if (observed_holder_.empty() || observed_holder_ == reported_leader_) return;
  reported_leader_ = observed_holder_;
  if (!options_.on_new_leader) return;
  loop_.post(scope_.bind([this, leader = reported_leader_] {
    auto callback = options_.on_new_leader;
    callback(leader);
  }));
}

void LeaderElection::stop(std::function<void()> done) {
  stopped_ = done ? std::move(done) : nothing();
  if (!running_ || stopping_) {
    if (!running_) loop_.post(scope_.bind([this] { finish_stop(); }));
    return;
  }
  stopping_ = true;
  release_tries_ = 0;
  attempt_.reset();
  // Posted, because what follows may destroy us. Without a write there is nothing to
  // release.
  loop_.post(attempt_.bind([this] {
    if (wrote_) {
      release();
    } else {
      finish_stop();
    }
  }));
  stop_leading();
}

// Reads first: a renewal of ours may just have been written without our hearing of it.
void LeaderElection::release() {
  // After that the lease has to expire.
  if (++release_tries_ > 3) return finish_stop();
  send(get(resource::leases, options_.lease), [this](Reply reply) {
    bool answered = reply && reply->code < 500 && reply->code != 429;
    Result<Document> lease = document_of(std::move(reply));
    if (!answered) return attempt_failed(std::move(lease).error());
    bool ours = lease && text_at(**lease, "spec", "holderIdentity") == options_.identity;
    if (!ours) return finish_stop();
    write_lease(lease->get(), Purpose::release);
  });
}

void LeaderElection::finish_stop() {
  attempt_.reset();
  running_ = false;
  stopping_ = false;
  observed_holder_.clear();
  observed_spec_.clear();
  observed_ = false;
  wrote_ = false;
  lease_is_fresh_ = false;
  auto stopped = std::exchange(stopped_, nothing());
  if (stopped) stopped();
}

}  // namespace lockstep::kube
