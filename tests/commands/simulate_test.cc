// `lockstep simulate`: what it prints, and what its exit code says.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cluster.h"

namespace lockstep::commands::simulate_test {
namespace {

struct Simulate : ::testing::Test {
  std::string scenario(const std::string& text) {
    std::string path = place.directory() + "/scenario.yaml";
    EXPECT_TRUE(SystemFiles().write(path, text));
    return path;
  }

  Cluster place;  // for its directory
};

TEST_F(Simulate, JsonHasTheKeysThatScriptsRead) {
  std::string file =
      scenario("name: plain\nnodes: 4\nto: \"580.126.20\"\nexpect: {done: all, failed: 0}\n");
  ProcessOutput run = run_lockstep({"simulate", file, "-o", "json", "--seed", "7"});
  EXPECT_EQ(run.exit_code, 0) << run.output << run.error;
  auto json = parse_json(run.output);
  ASSERT_TRUE(json) << json.error().text();
  for (const char* key : {"nodes", "done", "failed", "virtual_seconds", "wall_seconds",
                          "ideal_seconds", "api_calls", "digest", "violations"}) {
    EXPECT_NE(find(*json, key), nullptr) << key;
  }
  EXPECT_EQ(as_integer(find(*json, "nodes")), 4);
  EXPECT_EQ(as_integer(find(*json, "done")), 4);
  EXPECT_EQ(as_integer(find(*json, "failed"), -1), 0);
  EXPECT_GT(as_integer(find(*json, "api_calls", "patch")), 0);
  EXPECT_TRUE(find(*json, "violations")->get_array().empty());

  ProcessOutput again = run_lockstep({"simulate", file, "-o", "json", "--seed", "7"});
  ProcessOutput other = run_lockstep({"simulate", file, "-o", "json", "--seed", "8"});
  std::string digest(text_at(*json, "digest"));
  EXPECT_NE(again.output.find(digest), std::string::npos);
  EXPECT_EQ(other.output.find(digest), std::string::npos);

  ProcessOutput more = run_lockstep({"simulate", file, "--nodes", "9"});
  EXPECT_EQ(more.exit_code, 0);
  EXPECT_NE(more.output.find("nodes 9  done 9"), std::string::npos) << more.output;
}

TEST_F(Simulate, AnExpectationThatDoesNotHoldIsNamedAndExitsWithOne) {
  std::string file = scenario("name: wrong\nnodes: 3\nto: \"580.126.20\"\nexpect: {done: none}\n");
  ProcessOutput run = run_lockstep({"simulate", file});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_NE(run.output.find("NOT MET done: expected 0, saw 3"), std::string::npos) << run.output;
}

TEST_F(Simulate, AFailurePrintsWhatReproducesItAndTheSmallestCase) {
  std::string file = scenario(
      "name: broken\nnodes: 6\nto: \"580.126.20\"\n"
      "policy: {autoUpgrade: true, maxParallelUpgrades: 2, maxUnavailable: \"50%\"}\n"
      "machines: [{nodes: [2], driverCrashes: \"580.126.20\"}]\n"
      "steps: [{at: 2m, nodes: [3], rebootNodes: 1m}]\n"
      "expect: {done: all}\n");
  ProcessOutput run = run_lockstep({"simulate", file, "--seed", "4"});
  EXPECT_EQ(run.exit_code, 1);
  std::string line = fmt::format("FAILED: lockstep simulate {} --seed 4 --nodes 6\n", file);
  EXPECT_NE(run.output.find(line), std::string::npos) << run.output;
  EXPECT_NE(run.output.find("upgrade-required -> cordon-required"), std::string::npos)
      << "the last events\n"
      << run.output;
  size_t smaller = run.output.find("made smaller in ");
  ASSERT_NE(smaller, std::string::npos) << run.output;
  EXPECT_NE(run.output.find("\nnodes: 2\n", smaller), std::string::npos) << run.output;
  EXPECT_EQ(run.output.find("rebootNodes", smaller), std::string::npos) << run.output;

  ProcessOutput brief = run_lockstep({"simulate", file, "--seed", "4", "--no-shrinking"});
  EXPECT_EQ(brief.exit_code, 1);
  EXPECT_EQ(brief.output.find("made smaller"), std::string::npos);
  ProcessOutput json = run_lockstep({"simulate", file, "--seed", "4", "-o", "json"});
  auto read = parse_json(json.output);
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_FALSE(find(*read, "last_events")->get_array().empty());
  EXPECT_FALSE(find(*read, "expectations_not_met")->get_array().empty());
}

TEST_F(Simulate, AMistakeInTheFileIsNamedWithFileAndKeyAndExitsWithTwo) {
  struct Row {
    std::string text;
    std::string said;
  };
  for (const Row& row : {Row{"name: x\nnodess: 4\nexpect: {done: all}\n",
                             "nodess: unknown field; did you mean \"nodes\"?"},
                         Row{"name: x\nnodes: many\nexpect: {done: all}\n", "nodes: must be"},
                         Row{"name: x\nexpect: {done: some}\n", "expect.done: must be"},
                         Row{"name: x\n", "expect: is missing"}, Row{"name: [x\n", "line"}}) {
    std::string file = scenario(row.text);
    ProcessOutput run = run_lockstep({"simulate", file});
    EXPECT_EQ(run.exit_code, 2) << row.text;
    EXPECT_NE(run.error.find(file), std::string::npos) << run.error;
    EXPECT_NE(run.error.find(row.said), std::string::npos) << run.error;
  }
  ProcessOutput missing = run_lockstep({"simulate", "/nowhere/at-all.yaml"});
  EXPECT_EQ(missing.exit_code, 3);
  EXPECT_NE(missing.error.find("/nowhere/at-all.yaml"), std::string::npos);
}

// If a flag were ignored, its user would believe that it was tested.
TEST_F(Simulate, AFlagThatDoesNothingInItsModeExitsWithTwo) {
  const std::string file =
      scenario("name: plain\nnodes: 2\nto: \"580.126.20\"\nexpect: {done: all, failed: 0}\n");
  struct Row {
    std::vector<std::string> flags;
    std::string said;
  };
  for (const Row& row : {
           Row{{"--random", file}, "a scenario file cannot be combined with --random, only with: "},
           Row{{"--random", "--nodes", "5"}, "--nodes cannot be combined with --random"},
           Row{{"--random", "-o", "json"}, "--output cannot be combined with --random"},
           Row{{"--random", "--print", "--seeds", "3"},
               "--seeds cannot be combined with --random --print"},
           Row{{"--sequences", file}, "a scenario file cannot be combined with --sequences"},
           Row{{"--random", "--sequences"}, "--sequences cannot be combined with --random"},
           Row{{file, "--pairs"},
               "--pairs cannot be combined with a scenario file alone, only with: "
               "--exhaustive"},
           Row{{file, "--print"}, "--print cannot be combined with a scenario file alone"},
           Row{{file, "--seeds", "3"}, "--seeds cannot be combined with a scenario file alone"},
           Row{{file, "--only", "x"}, "--only cannot be combined with a scenario file alone"},
           Row{{file, "--rollouts"}, "--rollouts cannot be combined with a scenario file alone"},
           Row{{file, "--keep-going"},
               "--keep-going cannot be combined with a scenario file alone"},
           Row{{file, "--exhaustive", "--events", "3"},
               "--events cannot be combined with --exhaustive"},
           Row{{file, "--pairs", "--crash-after", "3"},
               "--pairs cannot be combined with --crash-after"},
           Row{{"--replay", file, "--seed", "3"}, "--seed cannot be combined with --replay"},
           Row{{file, "--seed", "-1"}, "--seed: -1 is not a whole number of at least 0"},
           Row{{"--random", "--seeds", "0"}, "--seeds: 0 is not a whole number of at least 1"},
       }) {
    std::vector<std::string> words{"simulate"};
    words.insert(words.end(), row.flags.begin(), row.flags.end());
    ProcessOutput run = run_lockstep(words);
    EXPECT_EQ(run.exit_code, 2) << row.said << "\n" << run.output;
    EXPECT_NE(run.error.find(row.said), std::string::npos) << run.error;
  }
}

TEST_F(Simulate, APlaceIsOneWordAndMustBeThere) {
  const std::string file =
      scenario("name: plain\nnodes: 2\nto: \"580.126.20\"\nexpect: {done: all, failed: 0}\n");
  // The file comes after the flags here, and is not one of their values.
  ProcessOutput run = run_lockstep({"simulate", "--nodes", "2", "--crash-after", "3+20s",
                                    "--crash-after", "5", "--freeze", "pods:3!", file});
  EXPECT_EQ(run.exit_code, 0) << run.output << run.error;
  EXPECT_NE(run.output.find("2 runs, 0 failed"), std::string::npos) << run.output;

  ProcessOutput late = run_lockstep({"simulate", file, "--crash-after", "99999"});
  EXPECT_EQ(late.exit_code, 2) << late.output;
  EXPECT_NE(late.error.find("there is no write 99999: the controller makes"), std::string::npos)
      << late.error;
  ProcessOutput unknown = run_lockstep({"simulate", file, "--freeze", "podz:3"});
  EXPECT_EQ(unknown.exit_code, 2) << unknown.output;
  EXPECT_NE(unknown.error.find(", pods:"), std::string::npos) << unknown.error;
}

}  // namespace
}  // namespace lockstep::commands::simulate_test
