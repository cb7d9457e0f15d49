#include "apiserver/door/request_counts.h"

#include <gtest/gtest.h>

#include "http/prometheus.h"

namespace lockstep::apiserver::request_counts_test {
namespace {

TEST(RequestCounts, CountsByClientVerbResourceAndCode) {
  RequestCounts counts;
  counts.add({"kubectl", "LIST", "nodes", "", 200});
  counts.add({"kubectl", "LIST", "nodes", "", 200});
  counts.add({"lock\"step", "PATCH", "nodes", "status", 409});
  EXPECT_EQ(counts.total(), 3U);
  http::PrometheusText out;
  counts.write_metrics(out);
  const std::string& text = out.text();
  EXPECT_NE(text.find("apiserver_request_total{client=\"kubectl\",code=\"200\",resource=\"nodes\","
                      "subresource=\"\","
                      "verb=\"LIST\"} 2\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("client=\"lock\\\"step\",code=\"409\""), std::string::npos) << text;
}

TEST(RequestCounts, MadeUpClientsDoNotGrowItWithoutEnd) {
  RequestCounts counts;
  for (int i = 0; i < 20'000; ++i)
    counts.add({"client-" + std::to_string(i), "GET", "nodes", "", 200});
  EXPECT_EQ(counts.total(), 20'000U);
  EXPECT_LE(counts.counts().size(), 10'001U);
}

}  // namespace
}  // namespace lockstep::apiserver::request_counts_test
