#include "dra/claim_service.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace lockstep::dra {

namespace {

constexpr Duration lock_retry = milliseconds(5);
// Left of a call's time for the answer itself.
constexpr Duration last_moment = milliseconds(200);
// A try that begins with less time than this finds out nothing but that there was none.
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

ClaimService::ClaimService(Loop& loop, kube::Api& api, Files& files, Log& log, StateLock& lock,
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
  // While the driver is away nothing new can be prepared: the API is not asked for nothing.
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
  if (needed.empty()) return prepare_read(call);
  Duration left = std::max(call->deadline - loop_.uptime(), milliseconds(1));
  for (const ClaimName& claim : needed) {
    kube::Request request = kube::get(resource::resource_claims, {claim.ns, claim.name});
    request.limit = std::min(options_.api_limit, left);
    api_.call(std::move(request), scope_.bind([this, call, uid = claim.uid](kube::Reply reply) {
      call->documents.insert_or_assign(uid, kube::document_of(std::move(reply)));
      if (--call->reading == 0) prepare_read(call);
    }));
  }
}

void ClaimService::prepare_read(const CallPointer& call) {
  Duration left = std::max(call->deadline - loop_.uptime(), Duration(0));
  with_state(left, scope_.bind([this, call](bool is_ours) {
    if (!is_ours) {
      fail_all(call, "another instance of the plugin holds what both remember");
      return answer(call);
    }
    documents_->by_uid = call->documents;
    auto failures_before = std::exchange(call->failures, {});
    for (const ClaimName& claim : call->todo) {
      auto prepared = preparer_.prepare(claim);
      if (prepared) {
        call->prepared[claim.uid] = std::move(*prepared);
        if (surroundings_.on_verdict) {
          auto document = call->documents.find(claim.uid);
          bool is_read = document != call->documents.end() && document->second.has_value();
          surroundings_.on_verdict({claim, is_read ? *document->second : nullptr, {}});
        }
      } else {
        // What an earlier try found out says more than that this one was cut short.
        auto document = call->documents.find(claim.uid);
        bool is_cut_short = document != call->documents.end() && !document->second &&
                            document->second.error().kind == ErrorKind::timed_out;
        auto before = failures_before.find(claim.uid);
        bool keeps = is_cut_short && before != failures_before.end();
        call->failures.emplace(claim.uid, keeps ? before->second : prepared.error());
      }
    }
    documents_->by_uid.clear();
    try_again(call);
  }));
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

void ClaimService::answer(const CallPointer& call) {
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
    outcome.permanent = is_permanent(failure->second.kind);
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
  with_state(limit - last_moment, scope_.bind([this, claims = std::move(claims),
                                               done = std::move(done)](bool is_ours) {
    UnprepareAnswer answers;
    for (const ClaimName& claim : claims) {
      std::string& error = answers[claim.uid];
      if (!is_ours) {
        error = "try again: another instance of the plugin holds what both remember";
      } else if (auto undone = preparer_.unprepare(claim.uid); !undone) {
        log_.error("a claim cannot be unprepared",
                   {{"claim", claim.text()}, {"error", undone.error().text()}});
        error = fmt::format("claim {}: try again: its files cannot be removed", claim.text());
      }
      ++(error.empty() ? counts_.unprepared : counts_.unprepare_failed);
    }
    --calls_;
    done(std::move(answers));
  }));
}

}  // namespace lockstep::dra
