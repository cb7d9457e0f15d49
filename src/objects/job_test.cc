#include "objects/job.h"

#include <gtest/gtest.h>

#include "objects/decode_test_util.h"

namespace lockstep::job_test {
namespace {

TEST(Job, KeepsProgress) {
  Job job = decoded<Job>(R"({"metadata":{"name":"a"},
    "spec":{"completions":4,"parallelism":2,"suspend":true},
    "status":{"active":1,"succeeded":2,"failed":3,"startTime":"2026-11-15T04:20:11Z",
      "completionTime":"2026-11-15T05:20:11Z",
      "conditions":[{"type":"Complete","status":"True"}]}})");
  EXPECT_EQ(job.completions, 4);
  EXPECT_EQ(job.parallelism, 2);
  EXPECT_TRUE(job.suspended);
  EXPECT_EQ(job.active, 1);
  EXPECT_EQ(job.succeeded, 2);
  EXPECT_EQ(job.failed, 3);
  EXPECT_EQ(job.completed - job.started, hours(1));
  EXPECT_TRUE(job.is_complete());
  EXPECT_FALSE(job.has_failed());
  EXPECT_TRUE(job.is_finished());
}

TEST(Job, NullMeansTheDefault) {
  Job job = decoded<Job>(R"({"metadata":{"name":"a"},"spec":{"completions":null,"parallelism":null},
    "status":{"active":null,"conditions":[{"type":"Failed","status":"False"}]}})");
  EXPECT_EQ(job.completions, 1);
  EXPECT_EQ(job.parallelism, 1);
  EXPECT_EQ(job.active, 0);
  EXPECT_FALSE(job.is_finished());
}

}  // namespace
}  // namespace lockstep::job_test
