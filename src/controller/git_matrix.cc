#include "controller/git_matrix.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>

#include "git/clone.h"
#include "git/names.h"
#include "git/publish.h"
#include "rollout/matrix_edit.h"
#include "rollout/rollout_matrix.h"

namespace lockstep::controller {

namespace {

constexpr int most_history = 500;

rollout::ReadTexts texts_of(git::Clone& clone, const std::string& path) {
  return [&clone, path](const rollout::MatrixCommit& commit) -> Result<rollout::MatrixTexts> {
    auto text_at = [&](const std::string& revision) {
      return clone.read(path, revision).value_or(std::string());
    };
    return rollout::MatrixTexts{text_at(commit.id + "^"), text_at(commit.id)};
  };
}

Result<std::vector<rollout::MatrixCommit>> log_of(git::Clone& clone, const std::string& path) {
  LOCKSTEP_TRY(const auto log, clone.history(path, most_history));
  std::vector<rollout::MatrixCommit> commits;
  for (const git::LoggedCommit& logged : log) commits.push_back({logged.id, logged.message});
  return commits;
}

Result<std::string> stage_promotion(git::Clone& clone, const MatrixCommit& commit) {
  LOCKSTEP_TRY(const std::string text, clone.read(commit.place.path));
  LOCKSTEP_TRY(const rollout::MatrixEdit edit,
               rollout::promote_driver(text, commit.place.path, commit.version));
  if (edit.changes.empty()) return std::string();
  LOCKSTEP_CHECK(clone.stage(commit.place.path, edit.text));
  return rollout::promote_message(edit.changes, commit.evidence);
}

Result<std::string> stage_taking_back(git::Clone& clone, const MatrixCommit& commit) {
  const std::string& path = commit.place.path;
  LOCKSTEP_TRY(const std::string text, clone.read(path));
  LOCKSTEP_TRY(const rollout::Matrix before, rollout::parse_matrix(text, path));
  const rollout::KeyVersion rejected = rollout::driver_version(commit.version);
  if (!rejected.is_in(before)) return std::string();
  LOCKSTEP_TRY(const auto log, log_of(clone, path));
  LOCKSTEP_TRY(const rollout::BringingCommit target,
               rollout::find_commit_to_revert(before, log, texts_of(clone, path), rejected));
  LOCKSTEP_CHECK(clone.stage_revert(target.commit.id));
  LOCKSTEP_TRY(const std::string staged, clone.staged(path));
  LOCKSTEP_TRY(const std::string text_after,
               rollout::take_out_driver(staged, path, commit.version));
  if (text_after != staged) LOCKSTEP_CHECK(clone.stage(path, text_after));
  LOCKSTEP_TRY(const rollout::Matrix after, rollout::parse_matrix(text_after, path));
  return rollout::revert_message(target.commit.id, rollout::subject_of(target.commit.message),
                                 rollout::changes_between(before, after), commit.evidence);
}

Result<std::string> check(git::Clone& clone, const MatrixCommit& commit) {
  LOCKSTEP_TRY(const std::string text, clone.read(commit.place.path));
  return check_text(text, commit);
}

// Which commit did what is done already.
Result<std::string> find_done(git::Clone& clone, const MatrixCommit& commit) {
  if (commit.step == rollout::GitStep::take_back) return std::string(no_commit);
  LOCKSTEP_TRY(const auto log, log_of(clone, commit.place.path));
  auto found =
      rollout::find_bringing_commit(log, texts_of(clone, commit.place.path), commit.version);
  return found ? found->commit.id : std::string(no_commit);
}

// A program that knows this repository's address and credential, and no other's.
git::Program program_for(Processes& processes, const GitMatrixOptions& options,
                         const git::Access& access) {
  git::Environment environment = git::own_environment(options.environment);
  environment.insert(access.environment.begin(), access.environment.end());
  git::Program program(processes, std::move(environment), options.limits);
  program.set_protocols(access.protocol);
  program.add_config(access.config);
  program.add_config({{"user.name", options.name}, {"user.email", options.email}});
  return program;
}

}  // namespace

bool may_pass(const Error& error) {
  switch (error.kind) {
    case ErrorKind::unreachable:
    case ErrorKind::timed_out:
    case ErrorKind::throttled:
    case ErrorKind::internal:
    case ErrorKind::cancelled:
      return true;
    default:
      return false;
  }
}

Result<std::string> check_text(const std::string& text, const MatrixCommit& commit) {
  LOCKSTEP_TRY(const rollout::Matrix matrix, rollout::parse_matrix(text, commit.place.path));
  if (std::string why = rollout::one_way_step(matrix, commit.version); !why.empty()) {
    return fail(ErrorKind::conflict, why);
  }
  return std::string(no_commit);
}

struct GitMatrix::Worker {
  SystemProcesses processes;
  std::atomic<bool> finished = false;
  std::thread thread;
};

GitMatrix::GitMatrix(EventLoop& loop, GitMatrixOptions options)
    : loop_(loop), options_(std::move(options)) {}

GitMatrix::~GitMatrix() {
  for (const auto& worker : workers_) {
    worker->processes.cancel();
    worker->thread.join();
  }
}

std::string GitMatrix::refusal(const rollout::RolloutSpec& spec) const {
  if (!spec.matrix) return {};
  auto allowed = options_.allowed.check(spec.matrix->repository);
  return allowed ? std::string() : allowed.error().text();
}

std::string GitMatrix::obstacle(const rollout::RolloutSpec& spec) const {
  if (!spec.matrix) return {};
  if (!looked_) {
    looked_ = true;
    SystemProcesses processes;
    ProcessSpec version;
    version.command = {"git", "--version"};
    auto found = processes.run(version);
    if (!found) obstacle_ = "the version comes from Git (spec.matrix): " + found.error().text();
  }
  return obstacle_;
}

Result<std::string> GitMatrix::commit_now(Processes& processes, const GitMatrixOptions& options,
                                          const MatrixCommit& commit) {
  LOCKSTEP_CHECK(git::check_path(commit.place.path));
  LOCKSTEP_TRY(const git::Access access, options.allowed.open(commit.place.repository));
  git::Program program = program_for(processes, options, access);
  LOCKSTEP_TRY(const auto clone,
               git::Clone::open(program, {access.address, {}, {}}, commit.place.branch));
  if (commit.step == rollout::GitStep::check) return check(*clone, commit);
  auto stage = [&](git::Clone& there) {
    return commit.step == rollout::GitStep::promote ? stage_promotion(there, commit)
                                                    : stage_taking_back(there, commit);
  };
  LOCKSTEP_TRY(const git::Published published, git::publish(*clone, stage, {options.tries, false}));
  if (!published.commit.empty()) return published.commit;
  return find_done(*clone, commit);
}

void GitMatrix::commit(MatrixCommit commit, std::function<void(Result<std::string>)> done) {
  std::erase_if(workers_, [](const std::unique_ptr<Worker>& worker) {
    if (!worker->finished) return false;
    worker->thread.join();
    return true;
  });
  workers_.push_back(std::make_unique<Worker>());
  Worker& worker = *workers_.back();
  // `done` is called and destroyed on the loop's thread.
  auto answer = std::make_shared<std::function<void(Result<std::string>)>>(scope_.bind(
      [done = std::move(done)](Result<std::string> result) { done(std::move(result)); }));
  worker.thread = std::thread([this, &worker, commit = std::move(commit),
                               answer = std::move(answer)]() mutable {
    auto result =
        std::make_shared<Result<std::string>>(commit_now(worker.processes, options_, commit));
    loop_.post_from_thread([result, answer = std::move(answer)] { (*answer)(std::move(*result)); });
    worker.finished = true;
  });
}

}  // namespace lockstep::controller
