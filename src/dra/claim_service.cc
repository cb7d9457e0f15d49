#include "dra/claim_service.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace lockstep::dra {

namespace {

constexpr Duration lock_retry = milliseconds(5);
// Between two reads of state that is another's, or cannot be read.
constexpr Duration state_pause = milliseconds(50);
// Left of a call's time for the answer itself.
constexpr Duration last_moment = milliseconds(200);
// An attempt with less time than this would only find that the time was too short.
constexpr Duration worth_a_try = milliseconds(500);

}  // namespace

// The claims as they were read for the call that is being answered.
struct ClaimService::Documents final : ClaimSource {
  Result<Document> read(const ClaimName& claim) override {
    auto found = by_uid.find(claim.uid);
    if (found == by_uid.end()) return fail(ErrorKind::unreachable, "it was not read");
    return found->second;
  }
  std::map<std::string, Result<Document>> by_uid;
};

struct ClaimService::PrepareCall {
  std::vector<ClaimName> todo;
  std::map<std::string, Result<Document>> documents;
  std::map<std::string, ClaimFailure> failures;  // of the last try, by uid
  std::map<std::string, ClaimName> names;
  std::map<std::string, std::vector<PreparedDevice>> prepared;
  size_t reading = 0;
  Duration deadline{0};
  Duration wait{0};
  std::function<void(PrepareAnswer)> done;
};

struct ClaimService::UnprepareCall {
  std::vector<ClaimName> claims;
  Duration deadline{0};
  std::function<void(UnprepareAnswer)> done;
};

ClaimService::ClaimService(Loop& loop, kube::Api& api, StateFiles& files, Log& log, StateLock& lock,
                           Checkpoint& checkpoint, DeviceSource& devices, PreparerOptions preparer,
                           ClaimServiceOptions options, Surroundings surroundings)
    : loop_(loop),
      api_(api),
      files_(files),
      log_(log),
      lock_(lock),
      checkpoint_(checkpoint),
      documents_(std::make_unique<Documents>()),
      preparer_options_(preparer),
      preparer_(*documents_, devices, files, checkpoint, std::move(preparer)),
      options_(std::move(options)),
      surroundings_(std::move(surroundings)) {}

ClaimService::~ClaimService() = default;

void ClaimService::with_state(Duration limit, std::function<void(bool)> task) {
  if (!lock_.try_lock()) {
    if (limit <= Duration(0)) return task(false);
    loop_.after(lock_retry, scope_.bind([this, limit, task = std::move(task)] {
      with_state(limit - lock_retry, task);
    }));
    return;
  }
  auto reloaded = checkpoint_.reload();
  if (!reloaded) {
    log_.error("the checkpoint cannot be read", {{"error", reloaded.error().text()}});
  }
  task(reloaded.has_value());
  lock_.unlock();
}

bool ClaimService::needs_document(const ClaimName& claim) const {
  const CheckpointEntry* known = checkpoint_.find(claim.uid);
  bool is_done = known != nullptr && known->phase == ClaimPhase::prepared &&
                 check_claim_uid(claim.uid) &&
                 files_.exists(cdi_file(preparer_options_.cdi, claim.uid));
  return !is_done;
}

void ClaimService::prepare(std::vector<ClaimName> claims, Duration limit,
                           std::function<void(PrepareAnswer)> done) {
  ++calls_;
  auto call = std::make_shared<PrepareCall>();
  for (const ClaimName& claim : claims) {
    if (call->names.emplace(claim.uid, claim).second) call->todo.push_back(claim);
  }
  call->deadline = loop_.uptime() + limit - last_moment;
  call->wait = options_.retry_after;
  call->done = std::move(done);
  try_prepare(call);
}

void ClaimService::try_prepare(const CallPointer& call) {
  bool reads = std::any_of(call->todo.begin(), call->todo.end(),
                           [this](const ClaimName& claim) { return needs_document(claim); });
  // While the driver is away nothing new can be prepared: a request to the API would be useless.
  if (reads && !surroundings_.driver_is_current()) {
    fail_all(call, surroundings_.why_driver_is_away());
    return try_again(call);
  }
  read_claims(call);
}

void ClaimService::read_claims(const CallPointer& call) {
  std::vector<ClaimName> needed;
  for (const ClaimName& claim : call->todo) {
    if (needs_document(claim)) needed.push_back(claim);
  }
  call->documents.clear();
  call->reading = needed.size();
  if (needed.empty()) return queue(call);
  Duration left = std::max(call->deadline - loop_.uptime(), milliseconds(1));
  for (const ClaimName& claim : needed) {
    kube::Request request = kube::get(resource::resource_claims, {claim.ns, claim.name});
    request.limit = std::min(options_.api_limit, left);
    api_.call(std::move(request), scope_.bind([this, call, uid = claim.uid](kube::Reply reply) {
      call->documents.insert_or_assign(uid, kube::document_of(std::move(reply)));
      if (--call->reading == 0) queue(call);
    }));
  }
}

void ClaimService::queue(const CallPointer& call) {
  prepares_.push_back(call);
  schedule_work();
}

// At the end of this turn of the loop: while the disk was waited for, more calls may have come, and
// they go together.
void ClaimService::schedule_work(Duration delay) {
  if (std::exchange(is_scheduled_, true)) return;
  loop_.after(delay, scope_.bind([this] { work(); }));
}

void ClaimService::work() {
  Duration deadline = Duration::max();
  for (const CallPointer& call : prepares_) deadline = std::min(deadline, call->deadline);
  for (const auto& call : unprepares_) deadline = std::min(deadline, call->deadline);
  // Not for longer: a call that comes meanwhile may have less time.
  Duration limit = std::clamp(deadline - loop_.uptime(), Duration(0), state_pause);
  with_state(limit, scope_.bind([this](bool is_ours) {
    is_scheduled_ = false;
    if (!is_ours) return work_without_state();
    // First what gives devices back.
    unprepare_queued(std::exchange(unprepares_, {}));
    prepare_queued(std::exchange(prepares_, {}));
  }));
}

// A claim whose time is over gets an error; the others wait on.
void ClaimService::work_without_state() {
  auto is_over = [this](Duration deadline) { return loop_.uptime() + state_pause >= deadline; };
  for (const CallPointer& call : std::exchange(prepares_, {})) {
    if (!is_over(call->deadline)) {
      prepares_.push_back(call);
      continue;
    }
    fail_all(call, "another instance of the plugin holds what both remember");
    answer(call);
  }
  for (const auto& call : std::exchange(unprepares_, {})) {
    if (!is_over(call->deadline)) {
      unprepares_.push_back(call);
      continue;
    }
    UnprepareAnswer answers;
    for (const ClaimName& claim : call->claims) {
      answers[claim.uid] = "try again: another instance of the plugin holds what both remember";
      ++counts_.unprepare_failed;
    }
    --calls_;
    call->done(std::move(answers));
  }
  if (!prepares_.empty() || !unprepares_.empty()) schedule_work(state_pause);
}

void ClaimService::prepare_queued(const std::vector<CallPointer>& calls) {
  std::map<std::string, ClaimName> claims;
  for (const CallPointer& call : calls) {
    for (const ClaimName& claim : call->todo) claims.emplace(claim.uid, claim);
    documents_->by_uid.insert(call->documents.begin(), call->documents.end());
  }
  std::vector<ClaimName> all;
  for (const auto& [uid, claim] : claims) all.push_back(claim);
  std::vector<ClaimPreparer::Prepared> prepared = preparer_.prepare(all);
  documents_->by_uid.clear();
  std::map<std::string, ClaimPreparer::Prepared> by_uid;
  for (size_t i = 0; i < all.size(); ++i) by_uid.emplace(all[i].uid, std::move(prepared[i]));
  for (const CallPointer& call : calls) sort_out(call, by_uid);
}

void ClaimService::sort_out(const CallPointer& call,
                            const std::map<std::string, ClaimPreparer::Prepared>& all) {
  auto failures_before = std::exchange(call->failures, {});
  std::vector<ClaimName> fresh;
  for (const ClaimName& claim : call->todo) {
    const ClaimPreparer::Prepared& prepared = all.at(claim.uid);
    if (prepared) {
      call->prepared[claim.uid] = *prepared;
      fresh.push_back(claim);
      continue;
    }
    // What an earlier try found out says more than that this one was cut short.
    auto document = call->documents.find(claim.uid);
    bool is_cut_short = document != call->documents.end() && !document->second &&
                        document->second.error().kind == ErrorKind::timed_out;
    auto before = failures_before.find(claim.uid);
    bool keeps = is_cut_short && before != failures_before.end();
    call->failures.emplace(claim.uid, keeps ? before->second : prepared.error());
  }
  set_slices(call, fresh);
}

void ClaimService::set_slices(const CallPointer& call, const std::vector<ClaimName>& fresh) {
  std::vector<SliceWanted> wanted;
  std::vector<ClaimName> sliced;
  for (const ClaimName& claim : fresh) {
    size_t before = wanted.size();
    for (const PreparedDevice& device : call->prepared[claim.uid]) {
      if (auto slice = time_slice_of(device.time_slice)) wanted.push_back({device.device, *slice});
    }
    if (wanted.size() > before) sliced.push_back(claim);
  }
  if (wanted.empty() || !surroundings_.set_time_slices) {
    note_prepared(call, fresh);
    return try_again(call);
  }
  Duration left = std::max(call->deadline - loop_.uptime(), milliseconds(1));
  auto is_set = scope_.bind([this, call, fresh, sliced](Result<void> set) {
    if (!set) {
      log_.warning("a GPU's time slice cannot be set", {{"error", set.error().text()}});
      for (const ClaimName& claim : sliced) {
        call->failures.insert_or_assign(claim.uid,
                                        ClaimFailure{FailureClass::transient, claim.text(), "", "",
                                                     "the time slice of its GPU cannot be set"});
      }
    }
    note_prepared(call, fresh);
    try_again(call);
  });
  surroundings_.set_time_slices(std::move(wanted), left, is_set);
}

void ClaimService::note_prepared(const CallPointer& call, const std::vector<ClaimName>& claims) {
  if (!surroundings_.on_verdict) return;
  for (const ClaimName& claim : claims) {
    if (call->failures.contains(claim.uid)) continue;
    auto document = call->documents.find(claim.uid);
    bool is_read = document != call->documents.end() && document->second.has_value();
    surroundings_.on_verdict({claim, is_read ? *document->second : nullptr, {}});
  }
}

void ClaimService::fail_all(const CallPointer& call, const std::string& reason) {
  call->failures.clear();
  for (const ClaimName& claim : call->todo) {
    call->failures.emplace(claim.uid,
                           ClaimFailure{FailureClass::transient, claim.text(), "", "", reason});
  }
}

void ClaimService::try_again(const CallPointer& call) {
  // The kubelet comes back after a minute at the earliest: what may be well in seconds is waited
  // for here. A claim that is gone, or another under its name, will not come back.
  std::vector<ClaimName> todo;
  bool is_hopeful = false;
  for (const ClaimName& claim : call->todo) {
    auto failure = call->failures.find(claim.uid);
    if (failure == call->failures.end()) continue;
    todo.push_back(claim);
    auto document = call->documents.find(claim.uid);
    bool is_read = document != call->documents.end() && document->second.has_value();
    bool is_gone = document != call->documents.end() && !document->second &&
                   document->second.error().kind == ErrorKind::not_found;
    bool is_another = is_read && text_at(**document->second, "metadata", "uid") != claim.uid;
    is_hopeful = is_hopeful || (!is_permanent(failure->second.kind) && !is_gone && !is_another);
  }
  call->todo = std::move(todo);
  bool is_time_left = loop_.uptime() + call->wait + worth_a_try < call->deadline;
  if (call->todo.empty() || !is_hopeful || !is_time_left) return answer(call);
  Duration wait = call->wait;
  call->wait = std::min(call->wait * 2, options_.longest_retry);
  // A driver that comes back is not to be slept through.
  if (!surroundings_.driver_is_current()) wait = call->wait = options_.retry_after;
  loop_.after(wait, scope_.bind([this, call] { try_prepare(call); }));
}

// A permanent failure ends the pod, and its successor must not get the same device: the scheduler
// must learn of it first. That wait is limited; then the kubelet is to try again, and so are we.
void ClaimService::answer(const CallPointer& call) {
  bool is_broken = std::any_of(call->failures.begin(), call->failures.end(),
                               [](const auto& entry) { return is_tainted(entry.second.kind); });
  if (!is_broken || !surroundings_.when_tainted) return answer_now(call, true);
  Duration left = std::max(call->deadline - loop_.uptime(), milliseconds(1));
  surroundings_.when_tainted(
      std::min(options_.taint_limit, left),
      scope_.bind([this, call](bool is_told) { answer_now(call, is_told); }));
}

void ClaimService::answer_now(const CallPointer& call, bool is_tainted_now) {
  std::vector<ClaimFailure> failures;
  for (const auto& [uid, failure] : call->failures) failures.push_back(failure);
  PrepareAnswer answers;
  for (const auto& [uid, claim] : call->names) {
    PrepareOutcome& outcome = answers[uid];
    auto failure = call->failures.find(uid);
    if (failure == call->failures.end()) {
      outcome.devices = std::move(call->prepared[uid]);
      ++counts_.prepared;
      continue;
    }
    outcome.error = describe_all(failures, claim.text(), options_.driver);
    outcome.permanent =
        is_permanent(failure->second.kind) && (is_tainted_now || !is_tainted(failure->second.kind));
    ++counts_.failed[failure->second.kind];
    if (surroundings_.on_verdict) {
      auto document = call->documents.find(uid);
      bool is_read = document != call->documents.end() && document->second.has_value();
      surroundings_.on_verdict({claim, is_read ? *document->second : nullptr, failure->second});
    }
  }
  --calls_;
  call->done(std::move(answers));
}

void ClaimService::unprepare(std::vector<ClaimName> claims, Duration limit,
                             std::function<void(UnprepareAnswer)> done) {
  ++calls_;
  auto call = std::make_shared<UnprepareCall>();
  call->claims = std::move(claims);
  call->deadline = loop_.uptime() + limit - last_moment;
  call->done = std::move(done);
  unprepares_.push_back(std::move(call));
  schedule_work();
}

void ClaimService::unprepare_queued(const std::vector<UnprepareCallPointer>& calls) {
  std::vector<std::string> uids;
  for (const auto& call : calls) {
    for (const ClaimName& claim : call->claims) uids.push_back(claim.uid);
  }
  if (!uids.empty()) take_slices_back(uids);
  std::vector<Result<void>> undone = preparer_.unprepare(uids);
  size_t at = 0;
  for (const auto& call : calls) {
    UnprepareAnswer answers;
    for (const ClaimName& claim : call->claims) {
      const Result<void>& result = undone[at++];
      std::string& error = answers[claim.uid];
      if (!result) {
        log_.error("a claim cannot be unprepared",
                   {{"claim", claim.text()}, {"error", result.error().text()}});
        error = fmt::format("claim {}: try again: its files cannot be removed", claim.text());
      }
      ++(error.empty() ? counts_.unprepared : counts_.unprepare_failed);
    }
    --calls_;
    call->done(std::move(answers));
  }
}

// For the GPU's next user. Nothing waits for it: a driver that is away has forgotten it anyway.
void ClaimService::take_slices_back(const std::vector<std::string>& uids) {
  if (!surroundings_.set_time_slices) return;
  std::set<std::string> going(uids.begin(), uids.end());
  std::set<std::string> given_back;
  std::set<std::string> still_used;
  for (const auto& [uid, entry] : checkpoint_.entries()) {
    for (const PreparedDevice& device : entry.devices) {
      auto slice = time_slice_of(device.time_slice);
      if (!slice || *slice == TimeSlice::usual) continue;
      (going.contains(uid) ? given_back : still_used).insert(device.device);
    }
  }
  std::vector<SliceWanted> wanted;
  for (const std::string& device : given_back) {
    if (!still_used.contains(device)) wanted.push_back({device, TimeSlice::usual});
  }
  if (wanted.empty()) return;
  surroundings_.set_time_slices(
      std::move(wanted), options_.api_limit, scope_.bind([this](Result<void> set) {
        if (set) return;
        log_.warning("a GPU keeps its time slice", {{"error", set.error().text()}});
      }));
}

}  // namespace lockstep::dra
