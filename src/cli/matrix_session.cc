#include "cli/matrix_session.h"

#include <algorithm>

#include <fmt/format.h>

#include "git/names.h"
#include "git/source.h"
#include "recipes/embedded_catalogue.h"
#include "world/files.h"

namespace lockstep::cli {

MatrixSession::MatrixSession()
    : program_(processes_, git::users_environment(system_environment())) {}

Result<std::unique_ptr<MatrixSession>> MatrixSession::open(const MatrixPlace& place, bool changes) {
  LOCKSTEP_CHECK(git::check_path(place.path));
  std::unique_ptr<MatrixSession> session(new MatrixSession());
  LOCKSTEP_TRY(const git::Source source, git::find_source(session->program_, place.repository));
  if (changes) LOCKSTEP_CHECK(git::check_clean(session->program_, source, place.path));
  LOCKSTEP_TRY(session->clone_, git::Clone::open(session->program_, source, place.branch));
  session->address_ = git::redact(source.address);
  return session;
}

Result<MatrixText> read_matrix_text(const MatrixPlace& place) {
  if (!place.file.empty()) {
    LOCKSTEP_TRY(std::string text, SystemFiles().read(place.file));
    return MatrixText{std::move(text), place.file, {}, {}, {}};
  }
  LOCKSTEP_TRY(const auto session, MatrixSession::open(place, false));
  git::Clone& clone = session->clone();
  LOCKSTEP_TRY(std::string text, clone.read(place.path));
  LOCKSTEP_TRY(std::string commit, clone.head());
  return MatrixText{std::move(text), place.path, session->address(), clone.branch(),
                    std::move(commit)};
}

Result<rollout::Compatibility> compatibility_rules(const MatrixFleet& fleet) {
  if (!fleet.rules.empty()) {
    LOCKSTEP_TRY(const std::string text, SystemFiles().read(fleet.rules));
    return rollout::read_compatibility(text, fleet.rules);
  }
  const auto& files = recipes::embedded_files();
  const auto file = std::find_if(files.begin(), files.end(), [](const auto& candidate) {
    return candidate.path == "compatibility.yaml";
  });
  if (file == files.end())
    return fail(ErrorKind::internal, "recipes/compatibility.yaml is missing");
  return rollout::read_compatibility(file->text, "recipes/compatibility.yaml");
}

std::vector<rollout::CompatibilityFinding> check_slot(const rollout::Matrix& matrix,
                                                      rollout::Slot slot, const MatrixFleet& fleet,
                                                      const rollout::Compatibility& rules) {
  rollout::VersionTuple tuple = rollout::tuple_of(matrix, slot);
  if (!fleet.kubernetes.empty()) tuple.kubernetes = fleet.kubernetes;
  tuple.gpus.insert(tuple.gpus.end(), fleet.gpus.begin(), fleet.gpus.end());
  tuple.mig = fleet.mig;
  tuple.minor_compatibility = fleet.minor_compatibility;
  return rollout::check_compatibility(tuple, rules);
}

JsonObject json_of(const rollout::MatrixEntries& entries) {
  JsonObject object;
  for (const auto& [key, value] : entries) object[key] = value;
  return object;
}

JsonObject json_of(rollout::Slot slot, const rollout::CompatibilityFinding& finding) {
  return {{"slot", to_string(slot)},
          {"verdict", finding.verdict == rollout::RuleOutcome::broken ? "broken" : "unknown"},
          {"rule", finding.rule},
          {"message", finding.message},
          {"source", finding.source}};
}

}  // namespace lockstep::cli
