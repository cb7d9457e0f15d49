#include "http/prometheus.h"

#include <limits>

#include <gtest/gtest.h>

namespace lockstep::http::prometheus_test {
namespace {

TEST(PrometheusText, WritesHelpTypeAndSamples) {
  PrometheusText out;
  out.gauge("a_nodes", "Nodes.").sample(3).sample(2.5, {{"pool", "blue"}, {"state", "done"}});
  out.counter("b_total", "All.").sample(1767225600);
  EXPECT_EQ(out.text(),
            "# HELP a_nodes Nodes.\n# TYPE a_nodes gauge\na_nodes 3\n"
            "a_nodes{pool=\"blue\",state=\"done\"} 2.5\n"
            "# HELP b_total All.\n# TYPE b_total counter\nb_total 1767225600\n");
}

TEST(PrometheusText, EscapesLabelsAndHelp) {
  PrometheusText out;
  out.gauge("a", "one\ntwo \\ \"three\"").sample(1, {{"text", "a\\b\"c\nd"}});
  EXPECT_EQ(out.text(),
            "# HELP a one\\ntwo \\\\ \"three\"\n# TYPE a gauge\na{text=\"a\\\\b\\\"c\\nd\"} 1\n");
}

TEST(PrometheusText, WritesInfinityAndNotANumberByName) {
  PrometheusText out;
  out.histogram("h", "").sample("_sum", std::numeric_limits<double>::infinity(), {});
  out.sample("_bucket", -std::numeric_limits<double>::infinity(), {{"le", "+Inf"}});
  out.sample("_count", std::numeric_limits<double>::quiet_NaN(), {});
  EXPECT_EQ(out.text(),
            "# HELP h \n# TYPE h histogram\nh_sum +Inf\nh_bucket{le=\"+Inf\"} -Inf\nh_count NaN\n");
}

}  // namespace
}  // namespace lockstep::http::prometheus_test
