#include "gpu/worker_process.h"

#include <poll.h>

#include <gtest/gtest.h>

namespace lockstep::gpu::worker_process_test {
namespace {

struct Ran {
  std::vector<std::string> lines;
  std::string end;
  bool well = false;
};

Ran run(const std::string& script, const std::vector<std::string>& environment = {}) {
  Ran ran;
  auto worker =
      WorkerProcess::start({{"/bin/sh", "-c", script}, environment, "orders"}, seconds(1));
  EXPECT_TRUE(worker.has_value()) << worker.error().text();
  if (!worker) return ran;
  while (!worker->ended()) {
    pollfd wait{worker->output(), POLLIN, 0};
    poll(&wait, 1, 1000);
    worker->read_lines(seconds(2), [&](std::string_view line) { ran.lines.emplace_back(line); });
  }
  ran.end = worker->end_text();
  ran.well = worker->ended_well();
  return ran;
}

TEST(WorkerProcess, GetsItsOrdersAndItsLinesComeBack) {
  const Ran ran = run("read x; echo \"got $x\"; echo two");
  EXPECT_EQ(ran.lines, (std::vector<std::string>{"got orders", "two"}));
  EXPECT_TRUE(ran.well);
}

TEST(WorkerProcess, TheEnvironmentIsAdded) {
  EXPECT_EQ(run("echo $CUDA_VISIBLE_DEVICES", {"CUDA_VISIBLE_DEVICES=GPU-1"}).lines,
            std::vector<std::string>{"GPU-1"});
}

TEST(WorkerProcess, ACrashIsNamed) {
  const Ran ran = run("kill -SEGV $$");
  EXPECT_FALSE(ran.well);
  EXPECT_NE(ran.end.find("signal 11"), std::string::npos) << ran.end;
  EXPECT_EQ(run("exit 3").end, "exit code 3");
}

TEST(WorkerProcess, OneThatSaysNothingIsKilled) {
  auto worker =
      WorkerProcess::start({{"/bin/sh", "-c", "exec sleep 1000"}, {}, "orders"}, seconds(1));
  ASSERT_TRUE(worker.has_value());
  EXPECT_EQ(worker->last_heard(), seconds(1));
  worker->kill();
  EXPECT_TRUE(worker->ended());
  EXPECT_NE(worker->end_text().find("signal 9"), std::string::npos);
}

TEST(WorkerProcess, AProgramThatIsNotThereIsAnError) {
  EXPECT_FALSE(WorkerProcess::start({{"/no/such/program"}, {}, ""}, seconds(1)).has_value());
}

}  // namespace
}  // namespace lockstep::gpu::worker_process_test
