#include "sim/actors/git_repository.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace lockstep::sim {

namespace {

const std::string* content_of(const GitFiles& files, const std::string& path) {
  const auto file = files.find(path);
  return file == files.end() ? nullptr : &file->second;
}

bool is_same(const GitFiles& a, const GitFiles& b, const std::string& path) {
  const std::string* left = content_of(a, path);
  const std::string* right = content_of(b, path);
  return left == nullptr || right == nullptr ? left == right : *left == *right;
}

std::set<std::string> changed_paths(const GitFiles& before, const GitFiles& after) {
  std::set<std::string> paths;
  for (const GitFiles* files : {&before, &after}) {
    for (const auto& [path, content] : *files) {
      if (!is_same(before, after, path)) paths.insert(path);
    }
  }
  return paths;
}

}  // namespace

std::string MemoryRepository::commit(const GitFiles& changes, std::string message) {
  Entry entry;
  if (!log_.empty()) entry.revision.files = log_.back().revision.files;
  for (const auto& [path, content] : changes) {
    if (content.empty()) {
      entry.revision.files.erase(path);
    } else {
      entry.revision.files[path] = content;
    }
  }
  entry.revision.id = fmt::format("{:040x}", log_.size() + 1);
  entry.message = std::move(message);
  log_.push_back(std::move(entry));
  return log_.back().revision.id;
}

Result<std::string> MemoryRepository::revert(const std::string& id) {
  const auto target = std::find_if(log_.begin(), log_.end(),
                                   [&](const Entry& entry) { return entry.revision.id == id; });
  if (target == log_.end()) return failf(ErrorKind::not_found, "there is no revision {}", id);
  const GitFiles before = target == log_.begin() ? GitFiles() : std::prev(target)->revision.files;
  const GitFiles& after = target->revision.files;
  GitFiles changes;
  for (const std::string& path : changed_paths(before, after)) {
    if (!is_same(after, log_.back().revision.files, path)) {
      return failf(ErrorKind::conflict, "{} was changed since {}", path, id);
    }
    const std::string* old = content_of(before, path);
    changes[path] = old == nullptr ? std::string() : *old;
  }
  return commit(changes, fmt::format("Revert \"{}\"", target->message));
}

void MemoryRepository::latest(std::function<void(Result<GitRevision>)> done) {
  loop_.post(scope_.bind([this, done = std::move(done)] {
    if (unreachable_) return done(fail(ErrorKind::unreachable, "the repository does not answer"));
    if (log_.empty()) return done(fail(ErrorKind::not_found, "there is no commit yet"));
    done(log_.back().revision);
  }));
}

}  // namespace lockstep::sim
