#include "git/program.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "base/strings.h"
#include "git/names.h"

namespace lockstep::git {

namespace {

// Those of `git rev-parse --local-env-vars` that bind git to a repository: inside a hook they are
// set, and our clone would be mistaken for the hook's repository. The user's configuration by
// environment (GIT_CONFIG_*) stays.
const std::vector<std::string>& repository_variables() {
  static const std::vector<std::string> names = {"GIT_ALTERNATE_OBJECT_DIRECTORIES",
                                                 "GIT_CONFIG",
                                                 "GIT_OBJECT_DIRECTORY",
                                                 "GIT_DIR",
                                                 "GIT_WORK_TREE",
                                                 "GIT_IMPLICIT_WORK_TREE",
                                                 "GIT_GRAFT_FILE",
                                                 "GIT_INDEX_FILE",
                                                 "GIT_NO_REPLACE_OBJECTS",
                                                 "GIT_REPLACE_REF_BASE",
                                                 "GIT_PREFIX",
                                                 "GIT_SHALLOW_FILE",
                                                 "GIT_COMMON_DIR",
                                                 "GIT_INTERNAL_SUPER_PREFIX",
                                                 "GIT_NAMESPACE",
                                                 "GIT_CEILING_DIRECTORIES",
                                                 "GIT_GLOB_PATHSPECS",
                                                 "GIT_NOGLOB_PATHSPECS",
                                                 "GIT_ICASE_PATHSPECS",
                                                 "GIT_TRACE",
                                                 "LANGUAGE"};
  return names;
}

Environment never_asking(const Environment& ours) {
  Environment added = {
      {"LC_ALL", "C.UTF-8"},  // what git says is read by explain()
      {"GIT_TERMINAL_PROMPT", "0"},
      // ssh asks on the terminal behind our back; with this it asks a program, and that says no.
      {"SSH_ASKPASS_REQUIRE", "force"},
      {"GIT_EDITOR", "false"},
      {"GIT_SEQUENCE_EDITOR", "false"},
      {"GIT_PAGER", "cat"},
      {"GIT_LITERAL_PATHSPECS", "1"},  // a file called "*.yaml" is that file and no other
      {"GIT_OPTIONAL_LOCKS", "0"},
      // An edit of one line does not need the large files.
      {"GIT_LFS_SKIP_SMUDGE", "1"},
  };
  if (!ours.contains("SSH_ASKPASS")) added["SSH_ASKPASS"] = "/bin/false";
  return added;
}

struct Meaning {
  std::string_view said;
  ErrorKind kind;
  std::string_view advice;
};

// The first that git said wins.
constexpr std::array<Meaning, 28> meanings = {{
    {"Please tell me who you are", ErrorKind::invalid,
     "git does not know who commits: git config --global user.name and user.email"},
    {"empty ident name", ErrorKind::invalid,
     "git does not know who commits: git config --global user.name and user.email"},
    {"no email was given", ErrorKind::invalid,
     "git does not know who commits: git config --global user.email"},
    {"no name was given", ErrorKind::invalid,
     "git does not know who commits: git config --global user.name"},
    {"gpg failed to sign", ErrorKind::cancelled,
     "the commit could not be signed as commit.gpgsign asks; nothing was committed"},
    {"failed to sign the data", ErrorKind::cancelled,
     "the commit could not be signed as commit.gpgsign asks; nothing was committed"},
    {"user.signingkey needs to be set", ErrorKind::cancelled,
     "the commit could not be signed as commit.gpgsign asks; nothing was committed"},
    {"dubious ownership", ErrorKind::forbidden,
     "another user owns the repository; git config --global safe.directory allows it"},
    {"hook declined", ErrorKind::forbidden, "a hook of the other side refused the push"},
    {"protected branch", ErrorKind::forbidden, "the branch is protected: push to another one"},
    {"refusing to update checked out branch", ErrorKind::conflict,
     "the branch is checked out in that directory, and its files would no longer match: use a bare "
     "repository, a URL, or another --branch"},
    {"branch is currently checked out", ErrorKind::conflict,
     "the branch is checked out in that directory, and its files would no longer match: use a bare "
     "repository, a URL, or another --branch"},
    {"could not read Username", ErrorKind::unauthorized,
     "no credential helper returned a user name and password, and git does not prompt"},
    {"could not read Password", ErrorKind::unauthorized,
     "no credential helper returned a password, and git does not prompt"},
    {"Authentication failed", ErrorKind::unauthorized, "the credentials were refused"},
    {"Permission denied (", ErrorKind::unauthorized, "ssh offered no key that is accepted"},
    {"Host key verification failed", ErrorKind::unauthorized,
     "the host's key is unknown to ssh, and ssh does not prompt: add it to known_hosts"},
    {"The requested URL returned error: 403", ErrorKind::forbidden, "access is not allowed"},
    {"The requested URL returned error: 30", ErrorKind::forbidden,
     "the server answers with a redirection, which is not followed: name the new address"},
    {"' not allowed", ErrorKind::forbidden, "this transport is not allowed here"},
    {"insufficient permission", ErrorKind::forbidden, "the repository may not be written"},
    {"Remote branch", ErrorKind::not_found, "there is no such branch: --branch names another"},
    {"does not appear to be a git repository", ErrorKind::not_found,
     "there is no git repository at that place"},
    {"does not exist", ErrorKind::not_found, "there is no git repository at that place"},
    {"not found", ErrorKind::not_found, "there is no git repository at that place"},
    {"Could not resolve host", ErrorKind::unreachable, "the host is not known"},
    {"unable to access", ErrorKind::unreachable, "the host does not answer"},
    {"Could not read from remote repository", ErrorKind::unreachable,
     "the other side cannot be reached, or is not allowed"},
}};

// The part that a user needs: without hints and progress, and not the whole log of a hook.
std::string essence(std::string_view text) {
  constexpr size_t most_lines = 12;
  std::vector<std::string> lines;
  for (const std::string_view line : split(text, '\n')) {
    const std::string_view kept = trim(line.substr(line.rfind('\r') + 1));
    if (kept.empty() || kept.starts_with("hint:") || kept.starts_with("Cloning into")) continue;
    lines.emplace_back(kept);
  }
  if (lines.size() > most_lines) {
    lines.erase(lines.begin(), lines.end() - static_cast<ptrdiff_t>(most_lines));
    lines.insert(lines.begin(), "...");
  }
  return redact(join(lines, "\n  "));
}

}  // namespace

Error explain(std::string_view command, const ProcessOutput& output) {
  // Some of it is on standard output: push --porcelain, and hooks that print.
  const std::string said = essence(output.error + "\n" + output.output);
  for (const Meaning& meaning : meanings) {
    if (said.find(meaning.said) == std::string::npos) continue;
    return {meaning.kind, fmt::format("{} (git {}: {})", meaning.advice, command, said), {}};
  }
  const std::string words =
      said.empty() ? fmt::format("it ended with {} and said nothing", output.exit_code) : said;
  return {ErrorKind::cancelled, fmt::format("git {} failed: {}", command, words), {}};
}

Program::Program(Processes& processes, Environment environment, Limits limits)
    : processes_(processes), environment_(std::move(environment)), limits_(limits) {
  // Git guesses a name from the account and the host; root@localhost is useless as an author. And a
  // clone that lives for seconds needs no maintenance in the background.
  add_config({{"user.useConfigOnly", "true"}, {"maintenance.auto", "false"}, {"gc.auto", "0"}});
}

void Program::add_config(const Config& config) {
  config_.insert(config_.end(), config.begin(), config.end());
}

Result<ProcessOutput> Program::run(Call call) {
  ProcessSpec spec;
  spec.command = {"git"};
  spec.command.insert(spec.command.end(), call.arguments.begin(), call.arguments.end());
  spec.environment = environment_;
  for (const std::string& name : repository_variables()) spec.environment.erase(name);
  for (auto& [name, value] : never_asking(environment_)) spec.environment[name] = value;
  spec.environment["GIT_ALLOW_PROTOCOL"] = protocols_;
  spec.inherits = false;
  spec.directory = std::move(call.directory);
  spec.input = std::move(call.input);
  spec.limit = call.limit;
  // Behind those that the user's environment already has.
  const auto theirs = environment_.find("GIT_CONFIG_COUNT");
  uint64_t count = theirs == environment_.end() ? 0 : parse_unsigned(theirs->second).value_or(0);
  for (const auto& [key, value] : config_) {
    spec.environment[fmt::format("GIT_CONFIG_KEY_{}", count)] = key;
    spec.environment[fmt::format("GIT_CONFIG_VALUE_{}", count)] = value;
    ++count;
  }
  spec.environment["GIT_CONFIG_COUNT"] = std::to_string(count);
  auto result = processes_.run(spec);
  if (result) return result;
  Error error = result.error();
  error.message = redact(error.message);
  if (error.kind == ErrorKind::not_found &&
      error.message.find("not found in PATH") != std::string::npos) {
    error.message += ": install git";
  }
  return fail(std::move(error));
}

Result<std::string> Program::output(Call call) {
  const std::string command = call.arguments.empty() ? std::string() : call.arguments.front();
  LOCKSTEP_TRY(ProcessOutput result, run(std::move(call)));
  if (result.exit_code != 0) return fail(explain(command, result));
  return std::move(result.output);
}

Result<std::string> Program::output(const std::string& directory,
                                    std::vector<std::string> arguments) {
  return output(Call{directory, std::move(arguments), {}, limits_.local});
}

Environment own_environment(const Environment& ours) {
  static constexpr std::array<std::string_view, 16> names = {
      "PATH",          "TMPDIR",       "TZ",
      "LANG",          "HTTP_PROXY",   "http_proxy",
      "HTTPS_PROXY",   "https_proxy",  "ALL_PROXY",
      "all_proxy",     "NO_PROXY",     "no_proxy",
      "SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO",
      "GIT_SSL_CAPATH"};
  static constexpr std::array<std::string_view, 3> beginnings = {"LC_", "GIT_AUTHOR_",
                                                                 "GIT_COMMITTER_"};
  Environment kept;
  for (const auto& [name, value] : ours) {
    const bool is_kept =
        std::find(names.begin(), names.end(), name) != names.end() ||
        std::any_of(beginnings.begin(), beginnings.end(),
                    [&](std::string_view begin) { return name.starts_with(begin); });
    if (is_kept) kept.emplace(name, value);
  }
  // Not even a .netrc is found there.
  kept["HOME"] = "/nonexistent";
  kept["GIT_CONFIG_NOSYSTEM"] = "1";
  kept["GIT_CONFIG_GLOBAL"] = "/dev/null";
  kept["GIT_ATTR_NOSYSTEM"] = "1";
  return kept;
}

Environment users_environment(Environment ours) {
  std::erase_if(ours, [](const auto& entry) { return entry.first.starts_with("LOCKSTEP_"); });
  return ours;
}

}  // namespace lockstep::git
