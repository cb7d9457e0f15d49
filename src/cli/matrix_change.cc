// `lockstep matrix set`, `promote` and `revert`: one commit each, pushed.
#include <cstdio>
#include <functional>
#include <optional>

#include <fmt/format.h>

#include "base/strings.h"
#include "cli/exit_codes.h"
#include "cli/matrix_apply.h"
#include "cli/matrix_command.h"
#include "cli/matrix_session.h"
#include "cli/output.h"
#include "cli/signals.h"
#include "cli/status_command.h"
#include "git/publish.h"
#include "rollout/matrix_edit.h"
#include "rollout/matrix_history.h"
#include "rollout/matrix_message.h"

namespace lockstep::cli {

namespace {

using rollout::CompatibilityFinding;
using rollout::Matrix;
using rollout::MatrixEdit;
using rollout::Slot;

constexpr size_t short_id = 12;

// What a change came to, the last time it was staged.
struct Outcome {
  std::string text;  // of the matrix after it
  std::vector<rollout::MatrixChange> changes;
  std::vector<CompatibilityFinding> findings;
  std::string reverted;  // a commit
};

struct Job {
  const MatrixChangeFlags& flags;
  Slot slot;  // whose versions are checked and applied
  git::Stage stage;
  Outcome& outcome;
};

rollout::Evidence evidence_of(const MatrixChangeFlags& flags) {
  return {flags.evidence, flags.approved_by, flags.rollout, flags.reason};
}

// Versions that do not go together never get as far as a commit.
Result<void> check_edit(const MatrixChangeFlags& flags, Slot slot, Outcome& outcome,
                        const std::string& name) {
  LOCKSTEP_TRY(const auto rules, compatibility_rules(flags.fleet));
  LOCKSTEP_TRY(const Matrix matrix, rollout::parse_matrix(outcome.text, name));
  outcome.findings = check_slot(matrix, slot, flags.fleet, rules);
  if (flags.skip_check || !rollout::is_broken(outcome.findings)) return {};
  std::string message =
      "these versions are incompatible; nothing was committed (--skip-check commits them anyway)";
  for (const CompatibilityFinding& finding : outcome.findings) {
    if (finding.verdict != rollout::RuleOutcome::broken) continue;
    message += fmt::format("\n  {}: {} ({})", finding.rule, finding.message, finding.source);
  }
  return fail(ErrorKind::conflict, std::move(message),
              fmt::format("{}: versions.{}", name, to_string(slot)));
}

using Edit = std::function<Result<MatrixEdit>(const std::string& text)>;
using Message = std::function<std::string(const std::vector<rollout::MatrixChange>&)>;

git::Stage stage_edit(const MatrixChangeFlags& flags, Slot slot, Outcome& outcome, Edit edit,
                      Message message) {
  return [&flags, slot, &outcome, edit = std::move(edit),
          message = std::move(message)](git::Clone& clone) -> Result<std::string> {
    LOCKSTEP_TRY(const std::string text, clone.read(flags.place.path));
    LOCKSTEP_TRY(MatrixEdit edited, edit(text));
    outcome.text = edited.text;
    outcome.changes = edited.changes;
    if (edited.changes.empty()) return std::string();
    LOCKSTEP_CHECK(check_edit(flags, slot, outcome, flags.place.path));
    LOCKSTEP_CHECK(clone.stage(flags.place.path, edited.text));
    return message(edited.changes);
  };
}

struct RevertTarget {
  rollout::BringingCommit commit;
  // Taken out of both slots; nothing: the commit brought no version to current.
  std::optional<rollout::KeyVersion> rejected;
};

Result<RevertTarget> choose_commit(const MatrixChangeFlags& flags, const Matrix& matrix,
                                   git::Clone& clone) {
  constexpr int most = 500;
  const std::string& path = flags.place.path;
  auto texts_of = [&](const rollout::MatrixCommit& commit) -> Result<rollout::MatrixTexts> {
    auto text_at = [&](const std::string& revision) {
      return clone.read(path, revision).value_or(std::string());
    };
    return rollout::MatrixTexts{text_at(commit.id + "^"), text_at(commit.id)};
  };
  if (!flags.commit.empty()) {
    LOCKSTEP_TRY(const git::LoggedCommit named, clone.describe(flags.commit));
    rollout::MatrixCommit commit{named.id, named.message};
    LOCKSTEP_TRY(const rollout::MatrixTexts texts, texts_of(commit));
    auto changes = rollout::changes_of(texts);
    auto rejected = rollout::promoted_version(changes);
    // A user who names a revert wants back what it took away.
    if (!rollout::reverted_commit(commit.message).empty()) rejected.reset();
    return RevertTarget{{std::move(commit), std::move(changes)}, std::move(rejected)};
  }
  LOCKSTEP_TRY(const auto log, clone.history(path, most));
  std::vector<rollout::MatrixCommit> commits;
  for (const git::LoggedCommit& logged : log) commits.push_back({logged.id, logged.message});
  if (!flags.version.empty()) {
    auto rejected = rollout::find_version(matrix, flags.version);
    if (!rejected) {
      return failf(ErrorKind::not_found,
                   "neither current nor canary has {}: it was already reverted, or never set",
                   flags.version);
    }
    LOCKSTEP_TRY(auto found, rollout::find_commit_to_revert(matrix, commits, texts_of, *rejected));
    return RevertTarget{std::move(found), std::move(rejected)};
  }
  LOCKSTEP_TRY(auto newest, rollout::find_bringing_commit(commits, texts_of, ""));
  auto rejected = rollout::promoted_version(newest.changes);
  return RevertTarget{std::move(newest), std::move(rejected)};
}

git::Stage stage_revert(const MatrixChangeFlags& flags, Outcome& outcome) {
  return [&flags, &outcome](git::Clone& clone) -> Result<std::string> {
    const std::string& path = flags.place.path;
    LOCKSTEP_TRY(const std::string text, clone.read(path));
    LOCKSTEP_TRY(const Matrix before, rollout::parse_matrix(text, path));
    LOCKSTEP_TRY(const RevertTarget target, choose_commit(flags, before, clone));
    const rollout::MatrixCommit& commit = target.commit.commit;
    LOCKSTEP_CHECK(clone.stage_revert(commit.id));
    LOCKSTEP_TRY(outcome.text, clone.staged(path));
    if (target.rejected) {
      LOCKSTEP_TRY(std::string taken_out, rollout::take_out(outcome.text, path, *target.rejected));
      if (taken_out != outcome.text) LOCKSTEP_CHECK(clone.stage(path, taken_out));
      outcome.text = std::move(taken_out);
    }
    LOCKSTEP_TRY(const Matrix after, rollout::parse_matrix(outcome.text, path));
    outcome.changes = rollout::changes_between(before, after);
    outcome.reverted = commit.id;
    if (outcome.changes.empty()) {
      return fail(ErrorKind::conflict, "reverting it changes no version: it is already reverted",
                  fmt::format("commit {}", commit.id.substr(0, short_id)));
    }
    // A revert is always possible, whatever the rules say of old versions.
    LOCKSTEP_TRY(const auto rules, compatibility_rules(flags.fleet));
    outcome.findings = check_slot(after, Slot::current, flags.fleet, rules);
    return rollout::revert_message(commit.id, rollout::subject_of(commit.message), outcome.changes,
                                   evidence_of(flags));
  };
}

JsonArray json_of(const std::vector<rollout::MatrixChange>& changes) {
  JsonArray array;
  for (const auto& change : changes) {
    array.emplace_back(JsonObject{{"slot", to_string(change.slot)},
                                  {"key", change.key},
                                  {"before", change.before},
                                  {"after", change.after}});
  }
  return array;
}

void print_outcome(const Job& job, const git::Published& published, const MatrixSession& session,
                   const std::string& branch, const std::string& applied) {
  const Outcome& outcome = job.outcome;
  if (job.flags.output != "table") {
    JsonArray findings;
    for (const auto& finding : outcome.findings) {
      findings.emplace_back(cli::json_of(job.slot, finding));
    }
    print_document(JsonObject{{"repository", session.address()},
                              {"branch", branch},
                              {"commit", published.commit},
                              {"reverted", outcome.reverted},
                              {"changes", json_of(outcome.changes)},
                              {"diff", published.diff},
                              {"findings", std::move(findings)},
                              {"applied", applied},
                              {"dryRun", job.flags.dry_run}},
                   job.flags.output);
    return;
  }
  for (const auto& finding : outcome.findings) {
    print_text(
        fmt::format("lockstep: {}: {}: {}\n",
                    finding.verdict == rollout::RuleOutcome::broken ? "warning" : "not known",
                    finding.rule, finding.message),
        stderr);
  }
  if (job.flags.dry_run) print_text(published.diff);
  if (published.diff.empty()) fmt::print("nothing to change\n");
  if (!published.commit.empty()) {
    for (const auto& change : outcome.changes) {
      print_text(fmt::format("{} {}: {} -> {}\n", to_string(change.slot), change.key,
                             change.before.empty() ? "-" : change.before,
                             change.after.empty() ? "-" : change.after));
    }
    print_text(
        fmt::format("commit {} pushed to {} of {}{}\n", published.commit.substr(0, short_id),
                    branch, session.address(),
                    outcome.reverted.empty()
                        ? std::string()
                        : fmt::format(", reverting {}", outcome.reverted.substr(0, short_id))));
  }
  if (!applied.empty()) {
    print_text(fmt::format("{} has the driver of the matrix{}\n", applied,
                           job.flags.dry_run ? " (dry run)" : ""));
  }
}

Result<void> run_job(const Job& job) {
  const MatrixChangeFlags& flags = job.flags;
  std::optional<ApplyTarget> target;
  if (flags.apply) {
    LOCKSTEP_TRY(target, parse_apply_target(flags.apply_to, job.slot));
  }
  LOCKSTEP_TRY(const auto session, MatrixSession::open(flags.place, true));
  LOCKSTEP_TRY(const git::Published published,
               git::publish(session->clone(), job.stage, {flags.tries, flags.dry_run}));
  std::string applied;
  if (target) {
    LOCKSTEP_TRY(const Matrix matrix, rollout::parse_matrix(job.outcome.text, flags.place.path));
    const std::string version(matrix.value(job.slot, "driver"));
    auto done = apply_driver(flags.cluster, *target, version, flags.dry_run);
    if (!done) {
      Error error = done.error();
      error.message += fmt::format(
          "; {}, and driver {} is not applied: lockstep matrix set --slot "
          "{} --apply retries that",
          published.commit.empty()
              ? "nothing to commit"
              : "commit " + published.commit.substr(0, short_id) + " is pushed",
          version, to_string(job.slot));
      return fail(std::move(error));
    }
    applied = *done;
  }
  print_outcome(job, published, *session, session->clone().branch(), applied);
  return {};
}

int finish(const Job& job) {
  auto done = run_job(job);
  return done ? ExitCode::ok : report(done.error());
}

}  // namespace

int run_matrix_set(const MatrixChangeFlags& flags) {
  block_signals();
  const Slot slot = flags.slot == "current" ? Slot::current : Slot::canary;
  rollout::MatrixEntries values;
  for (const std::string& text : flags.assignments) {
    auto assignment = rollout::parse_assignment(text);
    if (!assignment) return report(assignment.error());
    values.push_back(std::move(*assignment));
  }
  if (values.empty() && !flags.apply) {
    return report({ErrorKind::invalid, "nothing to set: pass KEY=VALUE, such as driver=580.65.06",
                   "KEY=VALUE"});
  }
  Outcome outcome;
  auto edit = [&](const std::string& text) {
    return rollout::set_versions(text, flags.place.path, slot, values);
  };
  auto message = [&](const auto& changes) {
    return rollout::set_message(changes, evidence_of(flags));
  };
  return finish({flags, slot, stage_edit(flags, slot, outcome, edit, message), outcome});
}

int run_matrix_promote(const MatrixChangeFlags& flags) {
  block_signals();
  Outcome outcome;
  rollout::Evidence evidence = evidence_of(flags);
  if (evidence.approved_by.empty()) evidence.approved_by = who_am_i();
  auto edit = [&](const std::string& text) {
    return rollout::promote_canary(text, flags.place.path);
  };
  auto message = [&](const auto& changes) { return rollout::promote_message(changes, evidence); };
  return finish(
      {flags, Slot::current, stage_edit(flags, Slot::current, outcome, edit, message), outcome});
}

int run_matrix_revert(const MatrixChangeFlags& flags) {
  block_signals();
  if (!flags.version.empty() && !flags.commit.empty()) {
    return report({ErrorKind::invalid, "name a version or a commit, not both", "--commit"});
  }
  Outcome outcome;
  return finish({flags, Slot::current, stage_revert(flags, outcome), outcome});
}

}  // namespace lockstep::cli
