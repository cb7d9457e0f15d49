#include "git/program.h"

#include <cstdlib>

#include <gtest/gtest.h>

#include "git/git_test_util.h"

namespace lockstep::git::program_test {
namespace {

TEST(Program, RunsWithoutAShellAndGivesTheOutput) {
  const Repositories places;
  Session session(places);
  EXPECT_EQ(
      session.program.output(places.path, {"check-ref-format", "--normalize", "a//$(b)"}).value(),
      "a/$(b)\n");
}

TEST(Program, AFailureSaysWhatGitSaid) {
  const Repositories places;
  Session session(places);
  const auto result = session.program.output(places.path, {"frobnicate"});
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find("'frobnicate' is not a git command"), std::string::npos)
      << result.error().message;
}

TEST(Program, EveryCommandHasADeadline) {
  const Repositories places;
  places.sh("git init -q x; git -C x config alias.wait '!sleep 60'");
  Session session(places);
  const auto result = session.program.run({places / "x", {"wait"}, {}, milliseconds(200)});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::timed_out);
}

TEST(Program, WhatAHookInheritsDoesNotBindItToTheHooksRepository) {
  const Repositories places;
  places.sh("git init -q mine; git init -q other");
  SystemProcesses processes;
  Environment environment = places.environment();
  environment["GIT_DIR"] = places / "other/.git";
  environment["GIT_INDEX_FILE"] = places / "other/.git/index";
  Program program(processes, environment);
  EXPECT_EQ(program.output(places / "mine", {"rev-parse", "--absolute-git-dir"}).value(),
            places / "mine/.git\n");
}

TEST(Program, SettingsByEnvironmentAreKeptAndOursComeBehindThem) {
  const Repositories places;
  SystemProcesses processes;
  Environment environment = places.environment();
  environment["GIT_CONFIG_COUNT"] = "1";
  environment["GIT_CONFIG_KEY_0"] = "theirs.key";
  environment["GIT_CONFIG_VALUE_0"] = "kept";
  Program program(processes, environment);
  program.add_config({{"ours.key", "added"}});
  EXPECT_EQ(program.output(places.path, {"config", "theirs.key"}).value(), "kept\n");
  EXPECT_EQ(program.output(places.path, {"config", "ours.key"}).value(), "added\n");
}

TEST(Program, NobodyIsAsked) {
  const Repositories places;
  places.sh(
      "git init -q x; git -C x config alias.ask '!echo $GIT_TERMINAL_PROMPT "
      "$SSH_ASKPASS_REQUIRE $SSH_ASKPASS $GIT_EDITOR'");
  Session session(places);
  EXPECT_EQ(session.program.output(places / "x", {"ask"}).value(), "0 force /bin/false false\n");
}

TEST(Program, GetsNothingOfOurEnvironmentThatItWasNotGiven) {
  const Repositories places;
  places.sh("git init -q seen; git -C seen config alias.show-environment '!env'");
  ASSERT_EQ(setenv("LOCKSTEP_NOTIFY_URL", "https://hooks.example.com/SECRET", 1), 0);
  Session session(places);
  const std::string seen = session.program.output(places / "seen", {"show-environment"}).value();
  unsetenv("LOCKSTEP_NOTIFY_URL");
  EXPECT_EQ(seen.find("SECRET"), std::string::npos) << seen;
  EXPECT_NE(seen.find("GIT_TERMINAL_PROMPT=0"), std::string::npos) << seen;
}

TEST(Program, UsesOnlyTheTransportsThatItMay) {
  const Repositories places;
  places.make_remote();
  Session session(places);
  session.program.set_protocols("https");
  const auto result = session.program.output(
      places.path, {"ls-remote", "file://" + (places / "remote.git"), "HEAD"});
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find("'file' not allowed"), std::string::npos)
      << result.error().message;
}

TEST(OwnEnvironment, HasWhatGitNeedsAndNoSecretsAndNoSettings) {
  const Environment own = own_environment({{"PATH", "/usr/bin"},
                                           {"HOME", "/root"},
                                           {"LC_TIME", "C"},
                                           {"https_proxy", "http://proxy:3128"},
                                           {"SSL_CERT_FILE", "/ca.pem"},
                                           {"LOCKSTEP_NOTIFY_URL", "https://secret"},
                                           {"AWS_SECRET_ACCESS_KEY", "secret"},
                                           {"GIT_CONFIG_COUNT", "1"},
                                           {"GIT_CONFIG_KEY_0", "http.extraHeader"},
                                           {"GIT_CONFIG_VALUE_0", "Authorization: secret"},
                                           {"GIT_SSL_NO_VERIFY", "1"},
                                           {"GIT_SSH_COMMAND", "evil"},
                                           {"GIT_PROXY_COMMAND", "evil"},
                                           {"GIT_EXEC_PATH", "/evil"},
                                           {"GIT_ALLOW_PROTOCOL", "ext"},
                                           {"LD_PRELOAD", "/evil.so"},
                                           {"XDG_CONFIG_HOME", "/home/user/.config"}});
  EXPECT_EQ(own, (Environment{{"PATH", "/usr/bin"},
                              {"LC_TIME", "C"},
                              {"https_proxy", "http://proxy:3128"},
                              {"SSL_CERT_FILE", "/ca.pem"},
                              {"HOME", "/nonexistent"},
                              {"GIT_CONFIG_NOSYSTEM", "1"},
                              {"GIT_CONFIG_GLOBAL", "/dev/null"},
                              {"GIT_ATTR_NOSYSTEM", "1"}}));
}

TEST(UsersEnvironment, IsTheirsWithoutWhatIsLocksteps) {
  EXPECT_EQ(users_environment({{"SSH_AUTH_SOCK", "/agent"}, {"LOCKSTEP_NOTIFY_URL", "secret"}}),
            (Environment{{"SSH_AUTH_SOCK", "/agent"}}));
}

TEST(Explanation, TellsKindsApartAndHidesPasswords) {
  struct Row {
    const char* said;
    ErrorKind kind;
  };
  for (const Row& row : std::vector<Row>{
           {"*** Please tell me who you are.", ErrorKind::invalid},
           {"error: gpg failed to sign the data", ErrorKind::cancelled},
           {"fatal: could not read Username for 'https://u:p@x': terminal prompts disabled",
            ErrorKind::unauthorized},
           {"! [remote rejected] main -> main (pre-receive hook declined)", ErrorKind::forbidden},
           {"fatal: Remote branch x not found in upstream origin", ErrorKind::not_found},
           {"fatal: unable to access 'https://u:p@x/': Could not resolve host: x",
            ErrorKind::unreachable},
           {"something new", ErrorKind::cancelled}}) {
    const Error error = explain("push", {128, "", row.said});
    EXPECT_EQ(error.kind, row.kind) << row.said;
    EXPECT_EQ(error.message.find("u:p@"), std::string::npos) << error.message;
  }
  EXPECT_NE(explain("commit", {3, "", ""}).message.find("ended with 3"), std::string::npos);
}

}  // namespace
}  // namespace lockstep::git::program_test
