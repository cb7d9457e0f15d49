#include "sim/actors/memory_matrix.h"

#include <utility>

#include "rollout/matrix_edit.h"
#include "rollout/rollout_matrix.h"

namespace lockstep::sim {

namespace {

constexpr Duration git_takes = seconds(5);

std::string content_of(const GitRevision& revision, const std::string& path) {
  auto file = revision.files.find(path);
  return file == revision.files.end() ? std::string() : file->second;
}

}  // namespace

std::string MemoryMatrix::obstacle(const rollout::RolloutSpec&) const { return {}; }

std::vector<rollout::MatrixCommit> MemoryMatrix::log() const {
  std::vector<rollout::MatrixCommit> commits;
  for (auto entry = repository_.log().rbegin(); entry != repository_.log().rend(); ++entry) {
    commits.push_back({entry->revision.id, entry->message});
  }
  return commits;
}

Result<rollout::MatrixTexts> MemoryMatrix::texts_of(const std::string& id,
                                                    const std::string& path) const {
  rollout::MatrixTexts texts;
  for (const MemoryRepository::Entry& entry : repository_.log()) {
    texts.after = content_of(entry.revision, path);
    if (entry.revision.id == id) return texts;
    texts.before = texts.after;
  }
  return failf(ErrorKind::not_found, "there is no revision {}", id);
}

Result<std::string> MemoryMatrix::promote(const controller::MatrixCommit& commit,
                                          const std::string& text) {
  const std::string& path = commit.place.path;
  LOCKSTEP_TRY(const rollout::MatrixEdit edit, rollout::promote_driver(text, path, commit.version));
  if (!edit.changes.empty()) {
    return repository_.commit({{path, edit.text}},
                              rollout::promote_message(edit.changes, commit.evidence));
  }
  auto read = [&](const rollout::MatrixCommit& each) { return texts_of(each.id, path); };
  auto found = rollout::find_bringing_commit(log(), read, commit.version);
  return found ? found->commit.id : std::string(controller::no_commit);
}

Result<std::string> MemoryMatrix::take_back(const controller::MatrixCommit& commit,
                                            const std::string& text) {
  const std::string& path = commit.place.path;
  auto read = [&](const rollout::MatrixCommit& each) { return texts_of(each.id, path); };
  LOCKSTEP_TRY(const rollout::Matrix before, rollout::parse_matrix(text, path));
  const rollout::KeyVersion rejected = rollout::driver_version(commit.version);
  if (!rejected.is_in(before)) return std::string(controller::no_commit);
  LOCKSTEP_TRY(const rollout::BringingCommit target,
               rollout::find_commit_to_revert(before, log(), read, rejected));
  LOCKSTEP_TRY(const rollout::MatrixTexts texts, texts_of(target.commit.id, path));
  if (texts.after != text) {
    return failf(ErrorKind::conflict, "{} was changed since {}", path, target.commit.id);
  }
  LOCKSTEP_TRY(std::string text_after,
               rollout::take_out_driver(texts.before, path, commit.version));
  LOCKSTEP_TRY(const rollout::Matrix after, rollout::parse_matrix(text_after, path));
  return repository_.commit(
      {{path, std::move(text_after)}},
      rollout::revert_message(target.commit.id, rollout::subject_of(target.commit.message),
                              rollout::changes_between(before, after), commit.evidence));
}

Result<std::string> MemoryMatrix::commit_now(const controller::MatrixCommit& commit) {
  if (repository_.unreachable()) {
    return fail(ErrorKind::unreachable, "the repository does not answer");
  }
  if (repository_.log().empty()) return fail(ErrorKind::not_found, "there is no commit yet");
  const std::string text = content_of(repository_.log().back().revision, commit.place.path);
  if (commit.step == rollout::GitStep::check) return controller::check_text(text, commit);
  return commit.step == rollout::GitStep::promote ? promote(commit, text) : take_back(commit, text);
}

void MemoryMatrix::commit(controller::MatrixCommit commit,
                          std::function<void(Result<std::string>)> done) {
  loop_.after(git_takes, scope_.bind([this, commit = std::move(commit), done = std::move(done)] {
    done(commit_now(commit));
  }));
}

}  // namespace lockstep::sim
