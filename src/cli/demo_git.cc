#include "cli/demo_git.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "cli/cluster_session.h"
#include "git/clone.h"
#include "git/publish.h"
#include "git/source.h"
#include "rollout/matrix_edit.h"
#include "rollout/matrix_message.h"
#include "world/files.h"

namespace lockstep::cli {

namespace {

constexpr std::string_view matrix_path = "gpu-version-matrix.yaml";
constexpr Duration poll = seconds(2);

std::string first_matrix(const std::string& version) {
  return fmt::format(
      "# Which versions the fleet runs, and which ones the canary tries.\n"
      "versions:\n  current:\n    driver: \"{}\"\n    status: production\n"
      "  canary:\n    driver: \"\"\n    status: \"\"\n",
      version);
}

constexpr std::string_view demo_manifest =
    "apiVersion: nvidia.com/v1\nkind: ClusterPolicy\nmetadata: {name: cluster-policy}\n"
    "spec:\n  driver: {version: \"${canary.driver}\"}\n";

}  // namespace

void calm_git() {
  constexpr std::pair<const char*, const char*> settings[] = {
      {"commit.gpgsign", "false"}, {"core.hooksPath", "/dev/null"}, {"init.defaultBranch", "main"}};
  int count = 0;
  for (const auto& [key, value] : settings) {
    setenv(fmt::format("GIT_CONFIG_KEY_{}", count).c_str(), key, 1);
    setenv(fmt::format("GIT_CONFIG_VALUE_{}", count).c_str(), value, 1);
    ++count;
  }
  setenv("GIT_CONFIG_COUNT", std::to_string(count).c_str(), 1);
}

DemoGit::DemoGit(sim::Parts parts, std::string directory)
    : directory_(std::move(directory)),
      address_(directory_ + "/gpu-versions.git"),
      program_(processes_, git::users_environment(system_environment())) {
  program_.add_config({{"user.name", "Lockstep demo"}, {"user.email", "demo@localhost"}});
  checkout_ = std::make_unique<sim::GitCheckout>(parts.loop, program_, address_, "main");
  sim::GitOpsOptions options;
  options.poll = poll;
  tool_ = std::make_unique<sim::GitOps>(parts, *checkout_, options);
}

DemoGit::~DemoGit() {
  tool_.reset();
  checkout_.reset();
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

Result<std::unique_ptr<DemoGit>> DemoGit::make(sim::Parts parts, const std::string& directory,
                                               const std::string& version) {
  std::unique_ptr<DemoGit> git(new DemoGit(parts, directory));
  LOCKSTEP_CHECK(git->make_repository(version));
  git->tool_->start();
  return git;
}

Result<void> DemoGit::make_repository(const std::string& version) {
  const std::string work = directory_ + "/work";
  std::error_code failed;
  std::filesystem::create_directories(work + "/manifests", failed);
  if (failed) return fail(ErrorKind::internal, failed.message(), work);
  SystemFiles files;
  LOCKSTEP_CHECK(files.write(fmt::format("{}/{}", work, matrix_path), first_matrix(version)));
  LOCKSTEP_CHECK(files.write(work + "/manifests/cluster-policy.yaml", std::string(demo_manifest)));
  LOCKSTEP_CHECK(program_.output(directory_, {"init", "--quiet", "--bare", address_}));
  LOCKSTEP_CHECK(program_.output(work, {"init", "--quiet"}));
  LOCKSTEP_CHECK(program_.output(work, {"add", "."}));
  LOCKSTEP_CHECK(program_.output(work, {"commit", "--quiet", "-m", "The versions of the fleet"}));
  LOCKSTEP_CHECK(program_.output(work, {"push", "--quiet", address_, "HEAD:refs/heads/main"}));
  std::filesystem::remove_all(work, failed);
  return {};
}

Result<std::string> DemoGit::set_driver(const std::string& version) {
  LOCKSTEP_TRY(const git::Source source, git::find_source(program_, address_));
  LOCKSTEP_TRY(const auto clone, git::Clone::open(program_, source, "main"));
  auto stage = [&](git::Clone& there) -> Result<std::string> {
    const std::string path(matrix_path);
    LOCKSTEP_TRY(const std::string text, there.read(path));
    LOCKSTEP_TRY(const rollout::MatrixEdit edit,
                 rollout::set_versions(text, path, rollout::Slot::canary, {{"driver", version}}));
    LOCKSTEP_CHECK(there.stage(path, edit.text));
    return rollout::set_message(edit.changes, {});
  };
  LOCKSTEP_TRY(const git::Published published, git::publish(*clone, stage));
  return published.commit;
}

Result<std::string> DemoGit::log() {
  return program_.output(address_, {"log", "--oneline", "--no-decorate", "--abbrev=12", "main"});
}

Result<std::string> DemoGit::show(const std::string& commit) {
  return program_.output(address_, {"show", "--no-color", "--abbrev=12", commit});
}

}  // namespace lockstep::cli
