#include "git/source.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include <fmt/format.h>

#include "base/strings.h"
#include "git/names.h"

namespace lockstep::git {

namespace {

namespace fs = std::filesystem;

bool adds_up(const std::string& key) {
  const std::string name = lower(key);
  return name.starts_with("credential.") || name.starts_with("http.") || name.starts_with("url.");
}

// Empty where it is not set.
Result<std::string> setting(Program& program, const std::string& directory,
                            const std::string& key) {
  LOCKSTEP_TRY(ProcessOutput result,
               program.run({directory, {"config", "--get", key}, {}, program.limits().local}));
  if (result.exit_code == 1) return std::string();
  if (result.exit_code != 0) return fail(explain("config", result));
  return first_line(result.output);
}

// Also what a global file says for this very directory (includeIf): our clone is elsewhere. Keys
// that add up, such as credential helpers, are taken from the clone's own file alone: the global
// ones hold for our clone as well.
Result<Config> inherited_config(Program& program, const std::string& work_tree,
                                const std::string& remote) {
  LOCKSTEP_TRY(const std::string listed,
               program.output(work_tree, {"config", "--list", "--show-scope", "-z"}));
  Config config;
  const std::vector<std::string_view> parts = split(listed, '\0');
  for (size_t index = 0; index + 1 < parts.size(); index += 2) {
    const std::string_view entry = parts[index + 1];
    const bool is_own = parts[index] == "local" || parts[index] == "worktree";
    const size_t end = entry.find('\n');
    const std::string key(entry.substr(0, end));
    // A key without "=" is true.
    const std::string value(end == std::string_view::npos ? "true" : entry.substr(end + 1));
    if (is_inherited(key) && (is_own || !adds_up(key))) config.emplace_back(key, value);
    if (is_own && !remote.empty() && key == "remote." + remote + ".pushurl") {
      LOCKSTEP_CHECK(check_repository(value));
      config.emplace_back("remote.origin.pushurl", value);
    }
  }
  LOCKSTEP_TRY(const std::string hooks, setting(program, work_tree, "core.hooksPath"));
  if (hooks.empty()) {
    LOCKSTEP_TRY(const std::string common,
                 program.output(work_tree, {"rev-parse", "--git-common-dir"}));
    const fs::path directory = fs::path(work_tree) / first_line(common) / "hooks";
    config.emplace_back("core.hooksPath", directory.lexically_normal().string());
  }
  return config;
}

// "origin", or the only one there is; empty without any.
Result<std::string> choose_remote(Program& program, const std::string& work_tree) {
  LOCKSTEP_TRY(const std::string listed, program.output(work_tree, {"remote"}));
  std::vector<std::string> names;
  for (const std::string_view name : split(listed, '\n')) {
    if (!name.empty()) names.emplace_back(name);
  }
  if (names.empty()) return std::string();
  if (std::find(names.begin(), names.end(), "origin") != names.end()) return std::string("origin");
  if (names.size() == 1) return names.front();
  return fail(ErrorKind::invalid,
              fmt::format("it has the remotes {} and no \"origin\": give --repo the address of one",
                          join(names, ", ")),
              work_tree);
}

Result<Source> source_of_work_tree(Program& program, std::string work_tree) {
  Source source;
  LOCKSTEP_TRY(const std::string remote, choose_remote(program, work_tree));
  source.address = work_tree;
  if (!remote.empty()) {
    LOCKSTEP_TRY(source.address, setting(program, work_tree, "remote." + remote + ".url"));
    if (auto good = check_repository(source.address); !good) {
      return fail(good.error().at(fmt::format("remote {} of {}", remote, work_tree)));
    }
    // As git itself: from the root of the work tree.
    if (is_local_path(source.address) && fs::path(source.address).is_relative()) {
      source.address = (fs::path(work_tree) / source.address).lexically_normal().string();
    }
  }
  LOCKSTEP_TRY(source.config, inherited_config(program, work_tree, remote));
  source.work_tree = std::move(work_tree);
  return source;
}

}  // namespace

bool is_inherited(const std::string& key) {
  static constexpr std::array<std::string_view, 7> sections = {
      "user.", "author.", "committer.", "gpg.", "credential.", "http.", "url."};
  static constexpr std::array<std::string_view, 6> keys = {"commit.gpgsign",  "push.gpgsign",
                                                           "core.sshcommand", "core.askpass",
                                                           "core.hookspath",  "tag.gpgsign"};
  const std::string name = lower(key);
  return std::find(keys.begin(), keys.end(), name) != keys.end() ||
         std::any_of(sections.begin(), sections.end(),
                     [&](std::string_view section) { return name.starts_with(section); });
}

Result<Source> find_source(Program& program, const std::string& repository) {
  LOCKSTEP_CHECK(check_repository(repository));
  if (!is_local_path(repository)) return Source{repository, {}, {}};

  std::error_code ignored;
  if (!fs::is_directory(repository, ignored)) {
    return fail(ErrorKind::not_found, "there is no such directory", repository);
  }
  const std::string directory = fs::absolute(repository).lexically_normal().string();
  auto is_bare = program.output(directory, {"rev-parse", "--is-bare-repository"});
  if (!is_bare) {
    Error error = is_bare.error();
    if (error.message.find("not a git repository") != std::string::npos) {
      error = {ErrorKind::not_found,
               "this is no git repository: --repo takes a repository's directory or address",
               {}};
    }
    return fail(error.at(repository));
  }
  if (first_line(*is_bare) == "true") {
    LOCKSTEP_TRY(const std::string place,
                 program.output(directory, {"rev-parse", "--absolute-git-dir"}));
    return Source{first_line(place), {}, {}};
  }
  LOCKSTEP_TRY(const std::string root, program.output(directory, {"rev-parse", "--show-toplevel"}));
  return source_of_work_tree(program, first_line(root));
}

Result<void> check_clean(Program& program, const Source& source, const std::string& path) {
  if (source.work_tree.empty()) return {};
  LOCKSTEP_TRY(const std::string status,
               program.output(source.work_tree, {"status", "--porcelain", "--", path}));
  if (status.empty()) return {};
  return fail(ErrorKind::conflict,
              "it has changes that are not committed, and the commit would not contain them: "
              "commit and push them first, or take them back",
              fmt::format("{}/{}", source.work_tree, path));
}

}  // namespace lockstep::git
