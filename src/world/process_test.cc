#include "world/process.h"

#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/patience_test_util.h"
#include "base/strings.h"
#include "world/descriptor.h"
#include "world/event_loop.h"
#include "world/virtual_loop.h"

namespace lockstep::process_test {
namespace {

constexpr Duration patience = test_patience;

ProcessSpec shell(const std::string& script) {
  ProcessSpec spec;
  spec.command = {"sh", "-c", script};
  return spec;
}

class Folder {
 public:
  Folder() {
    std::string name = ::testing::TempDir() + "lockstep-process-XXXXXX";
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp");
    path = std::filesystem::canonical(name);
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string path;
};

TEST(Process, ReturnsBothOutputsAndTheExitCode) {
  SystemProcesses processes;
  const auto result = processes.run(shell("echo out; echo err >&2; exit 3"));
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_EQ(result->output, "out\n");
  EXPECT_EQ(result->error, "err\n");
  EXPECT_EQ(result->exit_code, 3);
}

TEST(Process, ASignalIsAnExitCodeOf128AndMore) {
  SystemProcesses processes;
  EXPECT_EQ(processes.run(shell("kill -9 $$")).value().exit_code, 128 + 9);
}

TEST(Process, ArgumentsArriveUntouchedByAnyShell) {
  SystemProcesses processes;
  ProcessSpec spec;
  spec.command = {"printf", "%s|", "a b", "$HOME", "`id`", "*", ""};
  EXPECT_EQ(processes.run(spec).value().output, "a b|$HOME|`id`|*||");
}

TEST(Process, EnvironmentIsAddedToOurs) {
  SystemProcesses processes;
  setenv("LOCKSTEP_TEST_KEPT", "kept", 1);
  setenv("LOCKSTEP_TEST_CHANGED", "ours", 1);
  ProcessSpec spec = shell("echo $LOCKSTEP_TEST_KEPT $LOCKSTEP_TEST_CHANGED $LOCKSTEP_TEST_NEW");
  spec.environment = {{"LOCKSTEP_TEST_CHANGED", "theirs"}, {"LOCKSTEP_TEST_NEW", "new"}};
  EXPECT_EQ(processes.run(spec).value().output, "kept theirs new\n");
  unsetenv("LOCKSTEP_TEST_KEPT");
  unsetenv("LOCKSTEP_TEST_CHANGED");
}

TEST(Process, WhatIsUnsetOfOursIsNotInherited) {
  setenv("LOCKSTEP_TEST_TAKEN", "ours", 1);
  SystemProcesses processes;
  ProcessSpec spec = shell("echo ${LOCKSTEP_TEST_TAKEN-none}");
  EXPECT_EQ(processes.run(spec).value().output, "ours\n");
  spec.unset = {"LOCKSTEP_TEST_TAKEN"};
  EXPECT_EQ(processes.run(spec).value().output, "none\n");
  unsetenv("LOCKSTEP_TEST_TAKEN");
}

TEST(Process, InheritsNothingWhereItIsToldTo) {
  setenv("LOCKSTEP_TEST_TAKEN", "ours", 1);
  SystemProcesses processes;
  ProcessSpec spec;
  spec.command = {"env"};
  spec.inherits = false;
  spec.environment = {{"ONLY", "this"}};
  EXPECT_EQ(processes.run(spec).value().output, "ONLY=this\n");
  unsetenv("LOCKSTEP_TEST_TAKEN");
}

TEST(Process, RunsInTheGivenDirectory) {
  const Folder folder;
  SystemProcesses processes;
  ProcessSpec spec;
  spec.command = {"pwd", "-P"};
  spec.directory = folder.path;
  EXPECT_EQ(processes.run(spec).value().output, folder.path + "\n");

  spec.directory = folder.path + "/missing";
  const auto missing = processes.run(spec);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, ErrorKind::not_found);
  EXPECT_NE(missing.error().message.find(spec.directory), std::string::npos);
}

TEST(Process, LargeDataFlowsInAllDirectionsAtOnce) {
  SystemProcesses processes;
  ProcessSpec spec = shell("tee /dev/stderr");
  spec.input.resize(4 << 20);
  for (size_t i = 0; i < spec.input.size(); ++i) spec.input[i] = static_cast<char>(i * 31);
  const auto result = processes.run(spec);
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_TRUE(result->output == spec.input);
  EXPECT_TRUE(result->error == spec.input);
}

TEST(Process, WithoutInputTheProgramSeesItsEnd) {
  SystemProcesses processes;
  EXPECT_EQ(processes.run(shell("cat; echo end")).value().output, "end\n");
}

// Would end this test by SIGPIPE if it were not held off.
TEST(Process, AProgramMayIgnoreItsInput) {
  SystemProcesses processes;
  ProcessSpec spec = shell("exec <&-; echo fine");
  spec.input.assign(4 << 20, 'x');
  EXPECT_EQ(processes.run(spec).value().output, "fine\n");
  sigset_t pending;
  sigpending(&pending);
  EXPECT_FALSE(sigismember(&pending, SIGPIPE));
}

TEST(Process, AMissingProgramIsNamed) {
  SystemProcesses processes;
  ProcessSpec spec;
  for (const std::string name : {"lockstep-no-such-program", "/no/such/program"}) {
    spec.command = {name, "argument"};
    const auto result = processes.run(spec);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().kind, ErrorKind::not_found);
    EXPECT_NE(result.error().message.find(name), std::string::npos) << result.error().message;
  }
}

TEST(Process, WhatMayNotBeExecutedIsForbidden) {
  const Folder folder;
  std::ofstream(folder.path + "/plain") << "text";
  SystemProcesses processes;
  ProcessSpec spec;
  spec.command = {folder.path + "/plain"};
  EXPECT_EQ(processes.run(spec).error().kind, ErrorKind::forbidden);
}

TEST(Process, NoCommandIsInvalid) {
  SystemProcesses processes;
  EXPECT_EQ(processes.run(ProcessSpec{}).error().kind, ErrorKind::invalid);
}

TEST(Process, PastItsLimitItIsEndedAndNamed) {
  SystemProcesses processes;
  ProcessSpec spec = shell("sleep 1000");
  spec.limit = milliseconds(50);
  const auto result = processes.run(spec);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::timed_out);
  EXPECT_EQ(result.error().message, "sh -c sleep 1000 did not end within 50ms");
}

TEST(Process, OneThatIgnoresThePoliteSignalIsKilled) {
  SystemProcesses processes(milliseconds(50));
  ProcessSpec spec = shell("trap '' TERM; while :; do sleep 1000; done");
  spec.limit = milliseconds(200);
  EXPECT_EQ(processes.run(spec).error().kind, ErrorKind::timed_out);
}

TEST(Process, OneThatEndsOnThePoliteSignalMayCleanUp) {
  const Folder folder;
  SystemProcesses processes(patience);
  ProcessSpec spec = shell("trap 'echo done > cleaned; exit 0' TERM; while :; do sleep 0.01; done");
  spec.directory = folder.path;
  // On a busy machine the signal may come before the trap is set; then the limit was too short.
  for (spec.limit = milliseconds(100); spec.limit < patience; spec.limit *= 2) {
    ASSERT_EQ(processes.run(spec).error().kind, ErrorKind::timed_out);
    if (std::filesystem::exists(folder.path + "/cleaned")) return;
  }
  FAIL() << "it never cleaned up";
}

TEST(Process, TooMuchOutputIsAnError) {
  SystemProcesses processes;
  for (const std::string script : {"yes", "yes >&2"}) {
    ProcessSpec spec = shell(script);
    spec.output_limit = 1000;
    EXPECT_EQ(processes.run(spec).error().kind, ErrorKind::too_large);
  }
  ProcessSpec exact = shell("printf 1234");
  exact.output_limit = 4;
  EXPECT_EQ(processes.run(exact).value().output, "1234");
}

TEST(Process, SomethingLeftInTheBackgroundDoesNotHoldUsUp) {
  SystemProcesses processes;
  // The background process keeps the outputs open until we end it ourselves.
  ProcessSpec spec = shell("sleep 1000 & echo $!");
  spec.limit = patience;
  const auto result = processes.run(spec);
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_EQ(kill(std::stoi(result->output), SIGKILL), 0);
}

TEST(Process, InheritsNoOtherDescriptor) {
  const Descriptor leaked(dup(STDIN_FILENO));  // not close-on-exec
  ASSERT_TRUE(leaked);
  SystemProcesses processes;
  const auto result =
      processes.run(shell(fmt::format("test -e /proc/self/fd/{} && echo leaked", leaked.get())));
  ASSERT_TRUE(result);
  EXPECT_EQ(result->output, "");
  EXPECT_EQ(result->exit_code, 1);
}

TEST(Process, LeadsAGroupOfItsOwn) {
  SystemProcesses processes;
  const auto result =
      processes.run(shell("read pid name state parent group rest < /proc/$$/stat; echo $$ $group"));
  ASSERT_TRUE(result);
  const auto numbers = split(trim(result->output), ' ');
  ASSERT_EQ(numbers.size(), 2U);
  EXPECT_EQ(numbers[0], numbers[1]);
}

TEST(Process, StartsWithDefaultSignals) {
  SystemProcesses processes;
  const auto before = signal(SIGPIPE, SIG_IGN);
  EXPECT_EQ(processes.run(shell("kill -PIPE $$")).value().exit_code, 128 + SIGPIPE);
  signal(SIGPIPE, before);
}

TEST(ProcessStart, AnswersOnTheLoop) {
  EventLoop loop;
  SystemProcesses processes;
  std::optional<Result<ProcessOutput>> answer;
  const auto here = std::this_thread::get_id();
  processes.start(shell("echo hello"), loop, [&](Result<ProcessOutput> result) {
    EXPECT_EQ(std::this_thread::get_id(), here);
    answer = std::move(result);
  });
  EXPECT_FALSE(answer);
  ASSERT_TRUE(loop.run_until([&] { return answer.has_value(); }, patience));
  EXPECT_EQ(answer->value().output, "hello\n");
}

TEST(ProcessStart, ManyRunSideBySide) {
  EventLoop loop;
  SystemProcesses processes;
  int ended = 0;
  for (int i = 0; i < 20; ++i) {
    processes.start(shell("exit " + std::to_string(i)), loop, [&, i](Result<ProcessOutput> result) {
      EXPECT_EQ(result.value().exit_code, i);
      ++ended;
    });
  }
  EXPECT_TRUE(loop.run_until([&] { return ended == 20; }, patience));
}

TEST(ProcessStart, DoneMayStartTheNext) {
  EventLoop loop;
  SystemProcesses processes;
  bool finished = false;
  processes.start(shell("true"), loop, [&](Result<ProcessOutput>) {
    processes.start(shell("true"), loop, [&](Result<ProcessOutput>) { finished = true; });
  });
  EXPECT_TRUE(loop.run_until([&] { return finished; }, patience));
}

TEST(ProcessStart, DestructionKillsWhatRunsAndAnswersNoMore) {
  EventLoop loop;
  {
    SystemProcesses processes;
    ProcessSpec spec = shell("trap '' TERM; sleep 1000");
    spec.limit = hours(1);
    processes.start(spec, loop, [](Result<ProcessOutput>) { FAIL(); });
    processes.start(shell("true"), loop, [](Result<ProcessOutput>) { FAIL(); });
  }
  bool later = false;
  loop.post([&] { later = true; });
  EXPECT_TRUE(loop.run_until([&] { return later; }, patience));
}

TEST(ProcessStart, ItsChildrenEndWithIt) {
  const Folder folder;
  const std::string pipe = folder.path + "/pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EventLoop loop;
  Descriptor reader;
  {
    SystemProcesses processes;
    ProcessSpec spec = shell("(trap '' TERM; echo x; exec sleep 1000) > pipe & wait");
    spec.directory = folder.path;
    spec.limit = hours(1);
    processes.start(spec, loop, [](Result<ProcessOutput>) { FAIL(); });
    reader = Descriptor(open(pipe.c_str(), O_RDONLY | O_CLOEXEC));  // waits for the child to write
    char line[2];
    ASSERT_EQ(read(reader.get(), line, sizeof line), 2);
  }
  // Ends when the last writer is gone; a child left behind would hold us for a thousand seconds.
  char c;
  EXPECT_EQ(read(reader.get(), &c, 1), 0);
}

TEST(ProcessStart, NeedsALoopOfRealTime) {
  VirtualLoop loop(1);
  SystemProcesses processes;
  EXPECT_THROW(processes.start(shell("true"), loop, [](Result<ProcessOutput>) {}),
               std::logic_error);
}

}  // namespace
}  // namespace lockstep::process_test
