#include "controller/matrix_log.h"

#include <utility>

#include <fmt/format.h>

#include "git/names.h"
#include "git/source.h"
#include "rollout/matrix_history.h"
#include "rollout/matrix_message.h"

namespace lockstep::controller {

namespace {

rollout::MatrixEntry entry_of(git::Clone& clone, const std::string& path,
                              const git::LoggedCommit& logged) {
  auto text_at = [&](const std::string& revision) {
    return clone.read(path, revision).value_or(std::string());
  };
  rollout::MatrixTexts texts;
  texts.after = text_at(logged.id);
  if (!logged.parents.empty()) texts.before = text_at(logged.parents.front());
  return {logged.id,
          logged.author,
          logged.at,
          logged.message,
          rollout::reverted_commits(logged.message),
          rollout::changes_of(texts)};
}

}  // namespace

MatrixLog::MatrixLog(EventLoop& loop, MatrixLogOptions options)
    : loop_(loop), options_(std::move(options)) {}

MatrixLog::~MatrixLog() {
  if (!thread_.joinable()) return;
  processes_.cancel();
  thread_.join();
}

Result<git::Source> MatrixLog::start_git(const std::string& address, Repository& repository) {
  auto start = [&](const git::Environment& environment) -> git::Program& {
    repository.program = std::make_unique<git::Program>(processes_, environment, options_.limits);
    return *repository.program;
  };
  if (!options_.allowed) return git::find_source(start(options_.environment), address);
  LOCKSTEP_TRY(const git::Access access, options_.allowed->open(address));
  git::Environment environment = options_.environment;
  for (const auto& [name, value] : access.environment) environment[name] = value;
  git::Program& program = start(environment);
  program.set_protocols(access.protocol);
  program.add_config(access.config);
  return git::Source{access.address, {}, {}};
}

Result<void> MatrixLog::open(const rollout::MatrixPlace& place, Repository& repository) {
  if (repository.clone) return repository.clone->catch_up();
  LOCKSTEP_CHECK(git::check_path(place.path));
  LOCKSTEP_CHECK(git::check_repository(place.repository));
  LOCKSTEP_TRY(const git::Source source, start_git(place.repository, repository));
  LOCKSTEP_TRY(repository.clone, git::Clone::open(*repository.program, source, place.branch));
  repository.address = git::redact(source.address);
  return {};
}

Result<rollout::MatrixReport> MatrixLog::report(const rollout::MatrixPlace& place,
                                                Repository& repository) {
  git::Clone& clone = *repository.clone;
  rollout::MatrixReport report;
  report.repository = repository.address;
  report.branch = clone.branch();
  report.path = place.path;
  LOCKSTEP_TRY(report.commit, clone.head());
  LOCKSTEP_TRY(const std::string text, clone.read(place.path));
  LOCKSTEP_TRY(report.matrix, rollout::parse_matrix(text, place.path));
  // One more than is shown says whether there are older ones.
  LOCKSTEP_TRY(auto log, clone.history(place.path, options_.entries + 1));
  report.has_older = log.size() > static_cast<size_t>(options_.entries);
  if (report.has_older) log.pop_back();
  std::map<std::string, rollout::MatrixEntry> known;
  for (const git::LoggedCommit& logged : log) {
    auto at = repository.known.find(logged.id);
    rollout::MatrixEntry entry =
        at == repository.known.end() ? entry_of(clone, place.path, logged) : std::move(at->second);
    report.entries.push_back(entry);
    known.emplace(logged.id, std::move(entry));
  }
  repository.known = std::move(known);
  return report;
}

Result<rollout::MatrixReport> MatrixLog::read_now(const rollout::MatrixPlace& place) {
  Repository& repository =
      repositories_[fmt::format("{}\n{}\n{}", place.repository, place.branch, place.path)];
  auto opened = open(place, repository);
  // A clone that was removed (it is among temporary files) is made again.
  if (!opened && std::exchange(repository.clone, nullptr)) opened = open(place, repository);
  if (!opened) return fail(opened.error());
  return report(place, repository);
}

void MatrixLog::read(const rollout::MatrixPlace& place,
                     std::function<void(Result<rollout::MatrixReport>)> done) {
  if (thread_.joinable()) thread_.join();
  // `done` is called and destroyed on the loop's thread.
  auto answer = std::make_shared<std::function<void(Result<rollout::MatrixReport>)>>(scope_.bind(
      [done = std::move(done)](Result<rollout::MatrixReport> result) { done(std::move(result)); }));
  thread_ = std::thread([this, place, answer = std::move(answer)]() mutable {
    auto result = std::make_shared<Result<rollout::MatrixReport>>(read_now(place));
    loop_.post_from_thread([result, answer = std::move(answer)] { (*answer)(std::move(*result)); });
  });
}

}  // namespace lockstep::controller
