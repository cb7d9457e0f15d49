#include "sim/actors/claim_book.h"

#include <algorithm>

#include <fmt/format.h>

namespace lockstep::sim {

namespace {

// Whether the plugin answered for every claim that it was asked for, and for no other; empty: it
// did.
template <typename Answers>
std::string wrong_answer(std::string_view call, const ClaimRefs& asked, const Answers& answers) {
  for (const auto& [uid, answer] : answers) {
    bool is_known = std::any_of(asked.begin(), asked.end(),
                                [&uid = uid](const ClaimRef& claim) { return claim.uid == uid; });
    if (!is_known) return fmt::format("{} returned result for unknown claim UID {}", call, uid);
  }
  if (answers.size() == asked.size()) return {};
  return fmt::format("{} skipped {} ResourceClaims", call, asked.size() - answers.size());
}

}  // namespace

std::string prepare_error_text(std::string_view claim, std::string_view error) {
  return fmt::format("NodePrepareResources failed for ResourceClaim {}: {}", claim, error);
}

ClaimRefs ClaimBook::begin(const std::string& pod, const ClaimRefs& claims) {
  ClaimRefs asked;
  for (const ClaimRef& claim : claims) {
    Entry& entry = claims_[claim.uid];
    entry.name = claim.name;
    entry.pods.insert(pod);
    if (!entry.prepared) asked.push_back(claim);
  }
  return asked;
}

PrepareVerdict ClaimBook::take(const ClaimRefs& asked, const Result<PrepareAnswers>& answers) {
  using Pod = PrepareVerdict::Pod;
  if (!answers) return {Pod::waits, answers.error().message};
  const ClaimRef* failed = nullptr;
  for (const ClaimRef& claim : asked) {
    auto answer = answers->find(claim.uid);
    if (answer == answers->end() || answer->second.error.empty()) continue;
    // A permanent failure decides, at any position.
    if (knows_error_type_ && answer->second.permanent) {
      return {Pod::fails, prepare_error_text(claim.name, answer->second.error)};
    }
    if (failed == nullptr) failed = &claim;
  }
  if (failed != nullptr) {
    return {Pod::waits, prepare_error_text(failed->name, answers->at(failed->uid).error)};
  }
  if (std::string wrong = wrong_answer("NodePrepareResources", asked, *answers); !wrong.empty()) {
    return {Pod::waits, std::move(wrong)};
  }
  for (const ClaimRef& claim : asked) claims_[claim.uid].prepared = true;
  return {};
}

ClaimRefs ClaimBook::end(const std::string& pod) {
  ClaimRefs asked;
  for (auto& [uid, entry] : claims_) {
    if (!entry.pods.contains(pod)) continue;
    if (entry.pods.size() > 1) {
      entry.pods.erase(pod);
    } else {
      asked.push_back({uid, entry.name});
    }
  }
  return asked;
}

Result<void> ClaimBook::take_end(const ClaimRefs& asked, const Result<UnprepareAnswers>& answers) {
  if (!answers) return fail(answers.error());
  for (const ClaimRef& claim : asked) {
    auto answer = answers->find(claim.uid);
    if (answer == answers->end() || answer->second.empty()) continue;
    return failf(ErrorKind::internal, "NodeUnprepareResources failed for ResourceClaim {}: {}",
                 claim.name, answer->second);
  }
  if (std::string wrong = wrong_answer("NodeUnprepareResources", asked, *answers); !wrong.empty()) {
    return fail(ErrorKind::internal, std::move(wrong));
  }
  for (const ClaimRef& claim : asked) claims_.erase(claim.uid);
  return {};
}

void ClaimBook::restart() {
  for (auto& [uid, entry] : claims_) entry.prepared = false;
}

bool ClaimBook::is_prepared(const std::string& uid) const {
  auto found = claims_.find(uid);
  return found != claims_.end() && found->second.prepared;
}

}  // namespace lockstep::sim
