#include "git/clone.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "base/strings.h"
#include "git/names.h"

namespace lockstep::git {

namespace {

namespace fs = std::filesystem;

Result<std::string> make_directory(const Environment& environment) {
  const auto wanted = environment.find("TMPDIR");
  std::string name = (wanted == environment.end() || wanted->second.empty() ? std::string("/tmp")
                                                                            : wanted->second) +
                     "/lockstep-git-XXXXXX";
  if (mkdtemp(name.data()) == nullptr) {
    return fail(ErrorKind::internal,
                fmt::format("cannot make a directory for the clone: {}; TMPDIR names another place",
                            std::generic_category().message(errno)),
                name);
  }
  return name;
}

// The message of the remote, or of our git before asking it, when another user pushed first.
bool is_outrun(std::string_view said) {
  static constexpr std::array<std::string_view, 6> words = {
      "(fetch first)",          "(non-fast-forward)",
      "cannot lock ref",        "incorrect old value provided",
      "(failed to update ref)", "reference already exists"};
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) {
    return said.find(word) != std::string_view::npos;
  });
}

// Takes the first line off what is left.
std::string_view take_line(std::string_view& rest) {
  const size_t end = std::min(rest.find('\n'), rest.size());
  const std::string_view line = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return line;
}

LoggedCommit parse_commit(std::string_view entry) {
  LoggedCommit commit;
  commit.id = std::string(take_line(entry));
  for (const std::string_view parent : split(take_line(entry), ' ')) {
    if (!parent.empty()) commit.parents.emplace_back(parent);
  }
  commit.author = std::string(take_line(entry));
  commit.at = Time::from_unix(parse_integer(take_line(entry)).value_or(0));
  commit.message = std::string(trim(entry));
  return commit;
}

constexpr size_t short_id = 12;
constexpr std::string_view log_format = "--format=%H%n%P%n%an%n%at%n%B";

}  // namespace

Clone::Clone(Program& program, std::string root, std::string address)
    : program_(program),
      root_(std::move(root)),
      work_(root_ + "/work"),
      address_(std::move(address)) {}

Clone::~Clone() {
  std::error_code ignored;
  fs::remove_all(root_, ignored);
}

std::string Clone::place() const {
  return branch_.empty() ? redact(address_) : fmt::format("{} ({})", redact(address_), branch_);
}

Result<std::string> Clone::git(std::vector<std::string> arguments) {
  return program_.output(work_, std::move(arguments));
}

// For commands whose exit code 1 is an answer: true for 0.
Result<bool> Clone::is_quiet(std::vector<std::string> arguments) {
  const std::string command = arguments.front();
  LOCKSTEP_TRY(const ProcessOutput result,
               program_.run({work_, std::move(arguments), {}, program_.limits().local}));
  if (result.exit_code > 1) return fail(explain(command, result));
  return result.exit_code == 0;
}

// The current branch of the repository. Asked for, because clone itself guesses a branch if the
// repository has none checked out.
Result<std::string> Clone::standing_branch() {
  LOCKSTEP_TRY(const std::string answer,
               program_.output({root_,
                                {"ls-remote", "--symref", "--", address_, "HEAD"},
                                {},
                                program_.limits().network}));
  constexpr std::string_view before = "ref: refs/heads/";
  if (answer.empty()) return fail(ErrorKind::not_found, "there is no commit yet");
  if (!answer.starts_with(before)) {
    return fail(ErrorKind::not_found, "it has no branch checked out: name one with --branch");
  }
  return answer.substr(before.size(), answer.find('\t') - before.size());
}

Result<void> Clone::fetch(const std::string& branch) {
  std::string wanted = branch;
  if (wanted.empty()) {
    LOCKSTEP_TRY(wanted, standing_branch());
    LOCKSTEP_CHECK(check_branch(wanted));
  }
  LOCKSTEP_CHECK(
      program_.output({root_,
                       {"clone", "--quiet", "--no-tags", "--single-branch", "--origin=origin",
                        "--no-reject-shallow", "--no-recurse-submodules", "--branch=" + wanted,
                        "--", address_, work_},
                       {},
                       program_.limits().network}));
  // --branch takes tags too.
  LOCKSTEP_TRY(const bool is_branch,
               is_quiet({"rev-parse", "--verify", "--quiet", "refs/heads/" + wanted}));
  if (!is_branch) {
    return failf(ErrorKind::not_found, "\"{}\" is no branch of it", wanted);
  }
  branch_ = wanted;
  return {};
}

Result<std::unique_ptr<Clone>> Clone::open(Program& program, const Source& source,
                                           const std::string& branch) {
  if (!branch.empty()) LOCKSTEP_CHECK(check_branch(branch));
  LOCKSTEP_TRY(std::string root, make_directory(program.environment()));
  std::unique_ptr<Clone> clone(new Clone(program, std::move(root), source.address));
  program.add_config(source.config);
  if (auto done = clone->fetch(branch); !done) {
    return fail(done.error().at(redact(source.address)));
  }
  return clone;
}

Result<std::string> Clone::head() {
  LOCKSTEP_TRY(const std::string id, git({"rev-parse", "--verify", "HEAD^{commit}"}));
  return first_line(id);
}

Result<std::string> Clone::find_commit(const std::string& commit) {
  LOCKSTEP_CHECK(check_commit(commit));
  LOCKSTEP_TRY(const ProcessOutput found,
               program_.run({work_,
                             {"rev-parse", "--verify", "--quiet", commit + "^{commit}"},
                             {},
                             program_.limits().local}));
  std::string id = first_line(found.output);
  bool is_ours = false;
  if (found.exit_code == 0) {
    LOCKSTEP_TRY(is_ours, is_quiet({"merge-base", "--is-ancestor", id, "HEAD"}));
  }
  if (is_ours) return id;
  return fail(ErrorKind::not_found,
              fmt::format("there is no commit {} in the history of the branch", commit), place());
}

Result<std::string> Clone::read(const std::string& path, const std::string& commit) {
  LOCKSTEP_CHECK(check_path(path));
  LOCKSTEP_TRY(const std::string entry, git({"ls-tree", "-z", commit, "--", path}));
  if (entry.empty()) {
    return fail(ErrorKind::not_found,
                fmt::format("there is no file {}: --path names another", path), place());
  }
  if (!entry.starts_with("100")) {
    return fail(ErrorKind::invalid,
                fmt::format("{} is a directory, a link or a submodule, and must be a file", path),
                place());
  }
  return git({"cat-file", "blob", fmt::format("{}:{}", commit, path)});
}

Result<std::vector<std::string>> Clone::list(const std::string& commit) {
  LOCKSTEP_TRY(const std::string listed, git({"ls-tree", "-r", "-z", commit}));
  std::vector<std::string> paths;
  for (const std::string_view entry : split(listed, '\0')) {
    const size_t tab = entry.find('\t');
    if (entry.starts_with("100") && tab != std::string_view::npos) {
      paths.emplace_back(entry.substr(tab + 1));
    }
  }
  return paths;
}

Result<std::vector<LoggedCommit>> Clone::history(const std::string& path, int most) {
  LOCKSTEP_CHECK(check_path(path));
  LOCKSTEP_TRY(const std::string log, git({"log", "-z", fmt::format("--max-count={}", most),
                                           std::string(log_format), "HEAD", "--", path}));
  std::vector<LoggedCommit> commits;
  for (const std::string_view entry : split(log, '\0')) {
    if (!entry.empty()) commits.push_back(parse_commit(entry));
  }
  return commits;
}

Result<LoggedCommit> Clone::describe(const std::string& commit) {
  LOCKSTEP_TRY(const std::string id, find_commit(commit));
  LOCKSTEP_TRY(const std::string log,
               git({"log", "--max-count=1", "--no-walk", std::string(log_format), id}));
  return parse_commit(log);
}

Result<void> Clone::stage(const std::string& path, const std::string& content) {
  LOCKSTEP_CHECK(read(path));
  // By object and not by file: line ends and filters of the user's settings would change bytes that
  // the user did not edit.
  LOCKSTEP_TRY(
      const std::string object,
      program_.output({work_, {"hash-object", "-w", "--stdin"}, content, program_.limits().local}));
  LOCKSTEP_TRY(const std::string entry, git({"ls-tree", "-z", "HEAD", "--", path}));
  const std::string mode = entry.substr(0, entry.find(' '));
  LOCKSTEP_CHECK(git(
      {"update-index", "--cacheinfo", fmt::format("{},{},{}", mode, first_line(object), path)}));
  // Hooks read the files.
  LOCKSTEP_CHECK(git({"checkout-index", "--force", "--", path}));
  return {};
}

Result<void> Clone::stage_revert(const std::string& commit) {
  LOCKSTEP_TRY(const LoggedCommit target, describe(commit));
  if (target.parents.size() != 1) {
    return fail(ErrorKind::unsupported,
                target.parents.empty()
                    ? std::string("it is the first commit, and there is nothing before it")
                    : std::string("it is a merge: name the commit that was merged by --commit"),
                fmt::format("commit {}", target.id));
  }
  LOCKSTEP_TRY(
      const ProcessOutput result,
      program_.run({work_, {"revert", "--no-commit", target.id}, {}, program_.limits().local}));
  if (result.exit_code == 0) return {};
  LOCKSTEP_TRY(const std::string names, git({"diff", "--name-only", "--diff-filter=U", "-z"}));
  LOCKSTEP_CHECK(git({"reset", "--quiet", "--hard", "HEAD"}));
  std::vector<std::string> files;
  for (const std::string_view name : split(names, '\0')) {
    if (!name.empty()) files.emplace_back(name);
  }
  if (files.empty()) return fail(explain("revert", result).at("commit " + target.id));
  return fail(ErrorKind::conflict,
              fmt::format("it cannot be reverted alone: later commits changed the same lines "
                          "of {}; nothing was pushed. Revert those first, or set the versions",
                          join(files, ", ")),
              fmt::format("commit {}", target.id));
}

Result<bool> Clone::has_staged() {
  LOCKSTEP_TRY(const bool is_same, is_quiet({"diff", "--cached", "--quiet"}));
  return !is_same;
}

Result<std::string> Clone::staged(const std::string& path) {
  LOCKSTEP_CHECK(check_path(path));
  LOCKSTEP_TRY(const bool is_there, is_quiet({"rev-parse", "--verify", "--quiet", ":0:" + path}));
  if (!is_there) {
    return fail(ErrorKind::not_found, fmt::format("{} would be gone", path), place());
  }
  return git({"cat-file", "blob", ":0:" + path});
}

Result<std::string> Clone::staged_diff() {
  return git({"diff", "--cached", "--no-color", "--no-ext-diff", "--no-textconv"});
}

Result<std::string> Clone::commit(const std::string& message) {
  LOCKSTEP_TRY(const std::string wanted, git({"write-tree"}));
  LOCKSTEP_TRY(
      const ProcessOutput result,
      program_.run({work_, {"commit", "--quiet", "--file=-"}, message, program_.limits().commit}));
  if (result.exit_code != 0) return fail(explain("commit", result).at(place()));
  LOCKSTEP_TRY(const std::string made, git({"rev-parse", "--verify", "HEAD^{tree}"}));
  if (made != wanted) {
    return fail(ErrorKind::cancelled, "a hook changed what was to be committed; nothing was pushed",
                place());
  }
  return head();
}

// A push into a directory in which a user works would change its files under the user's hands, if
// git is configured to allow it.
Result<void> Clone::check_not_checked_out() {
  std::string directory = address_;
  if (directory.starts_with("file://")) directory = directory.substr(std::size("file://") - 1);
  if (!is_local_path(directory)) return {};
  LOCKSTEP_TRY(const std::string listed,
               program_.output(directory, {"worktree", "list", "--porcelain"}));
  bool is_bare = false;
  for (const std::string_view line : split(listed, '\n')) {
    if (line.starts_with("worktree ")) is_bare = false;
    if (line == "bare") is_bare = true;
    if (!is_bare && line == "branch refs/heads/" + branch_) {
      return fail(ErrorKind::conflict,
                  fmt::format("the branch {} is checked out there, and a push would leave its "
                              "files behind: give a bare repository, an address, or another "
                              "--branch; nothing was pushed",
                              branch_),
                  redact(address_));
    }
  }
  return {};
}

Result<PushOutcome> Clone::push() {
  LOCKSTEP_CHECK(check_not_checked_out());
  LOCKSTEP_TRY(const std::string ours, head());
  const std::string target = "refs/heads/" + branch_;
  const auto run = program_.run(
      {work_, {"push", "--porcelain", "origin", "HEAD:" + target}, {}, program_.limits().network});
  if (run && run->exit_code == 0) return PushOutcome::pushed;
  if (run && (is_outrun(run->output) || is_outrun(run->error))) return PushOutcome::outrun;
  // The answer may be lost and the push done.
  const auto there =
      program_.output({work_, {"ls-remote", "origin", target}, {}, program_.limits().network});
  if (there && there->starts_with(ours)) return PushOutcome::pushed;
  Error error = run ? explain("push", *run) : run.error();
  if (!there) {
    error.message += fmt::format("; whether commit {} arrived is not known: look at the branch",
                                 ours.substr(0, short_id));
  }
  return fail(error.at(place()));
}

Result<void> Clone::catch_up() {
  const std::string tracking = "refs/remotes/origin/" + branch_;
  LOCKSTEP_CHECK(program_.output({work_,
                                  {"fetch", "--quiet", "--no-tags", "origin",
                                   fmt::format("+refs/heads/{}:{}", branch_, tracking)},
                                  {},
                                  program_.limits().network}));
  LOCKSTEP_CHECK(git({"reset", "--quiet", "--hard", tracking}));
  LOCKSTEP_CHECK(git({"clean", "--quiet", "-d", "--force"}));
  return {};
}

}  // namespace lockstep::git
