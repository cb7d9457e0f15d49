// `lockstep simulate`: what it prints, and what its exit code says.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cluster.h"

namespace lockstep::commands {
namespace {

struct Simulate : testing::Test {
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

TEST_F(Simulate, AMistakeInTheFileIsNamedWithFileAndKeyAndExitsWithTwo) {
  struct Row {
    std::string text;
    std::string said;
  };
  for (const Row& row :
       {Row{"name: x\nnodess: 4\nexpect: {done: all}\n", "unknown key nodess; did you mean nodes?"},
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

}  // namespace
}  // namespace lockstep::commands
