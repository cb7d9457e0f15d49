#include "gpu/worker.h"

#include <array>

#include "gpu/fake_test_util.h"

namespace lockstep::gpu::worker_test {
namespace {

// All that a worker with these orders writes; its input is closed at once.
std::vector<Json> answers(const WorkerOrders& orders) {
  std::array<int, 2> in{};
  EXPECT_EQ(pipe(in.data()), 0);
  const std::string text = orders_text(orders) + "\n";
  EXPECT_EQ(write(in[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  close(in[1]);
  const std::string file = fmt::format("{}/lockstep-worker-{}", ::testing::TempDir(), getpid());
  FILE* out = std::fopen(file.c_str(), "w");
  EXPECT_EQ(run_worker(in[0], fileno(out)), 0);
  std::fclose(out);
  close(in[0]);
  std::vector<Json> lines;
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) lines.push_back(*parse_json(line));
  std::filesystem::remove(file);
  return lines;
}

const Json* fact(const std::vector<Json>& lines, std::string_view last) {
  for (const Json& line : lines) {
    const Json* path = find(line, "fact");
    if (path != nullptr && as_text(&path->as_array().back()) == last) return find(line, "value");
  }
  return nullptr;
}

TEST(Worker, OrdersAreReadBackAsTheyWereWritten) {
  WorkerOrders orders{Role::peer, {"peer"}, {"GPU-1", "GPU-2"}, {"/lib", "/root"}, {}};
  orders.measure.budget_seconds = 12;
  orders.measure.wrong = "memory";
  orders.measure.product_size = 256;
  auto read = read_orders(orders_text(orders));
  ASSERT_TRUE(read.has_value()) << read.error().text();
  EXPECT_EQ(orders_text(*read), orders_text(orders));
  EXPECT_FALSE(read_orders("{\"role\":\"cook\"}").has_value());
  EXPECT_FALSE(read_orders("").has_value());
}

TEST(Worker, NvmlListsTheGpusFirstAndLooksAtThemTwice) {
  FakeGpu fake("gpus 2\nxid 79\n");
  auto lines = answers({Role::nvml, {"ecc", "throttle", "xid"}, {}, fake.places, {}});
  ASSERT_NE(fact(lines, "listed"), nullptr);
  EXPECT_NE(fact(lines, "before"), nullptr);
  EXPECT_NE(fact(lines, "after"), nullptr);
  EXPECT_GT(as_integer(find(*fact(lines, "clocks"), "samples")), 0);
  ASSERT_EQ(fact(lines, "nvml_xids")->as_array().size(), 1U);
  EXPECT_EQ(as_integer(find(fact(lines, "nvml_xids")->as_array()[0], "code")), 79);
}

TEST(Worker, NvmlThatDoesNotOpenSaysWhy) {
  FakeGpu fake("fail nvmlInit_v2 18\n");
  auto lines = answers({Role::nvml, {"driver"}, {}, fake.places, {}});
  ASSERT_NE(fact(lines, "start"), nullptr);
  EXPECT_EQ(as_text(fact(lines, "start_kind")), to_string(ErrorKind::conflict));
}

TEST(Worker, CudaThatDoesNotStartIsATroubleOfEveryCheck) {
  FakeGpu fake("fail cuInit 803\n");
  auto lines = answers({Role::cuda, {"training", "memory"}, {"GPU-fake-0"}, fake.places, {}});
  int troubles = 0;
  for (const Json& line : lines) troubles += find(line, "trouble") != nullptr ? 1 : 0;
  EXPECT_EQ(troubles, 2);
}

TEST(Worker, OneCheckThatGoesWrongDoesNotStopTheNext) {
  FakeGpu fake("fail cuMemHostAlloc 2\n");
  WorkerOrders orders{Role::cuda, {"pcie", "memory"}, {"GPU-fake-0"}, fake.places, {}};
  auto lines = answers(orders);
  EXPECT_EQ(fact(lines, "pcie"), nullptr);
  EXPECT_NE(fact(lines, "memory"), nullptr);
}

TEST(Worker, PeersAreComparedInOneProcess) {
  FakeGpu fake("gpus 2\n");
  WorkerOrders orders{Role::peer, {"peer"}, {"GPU-fake-0", "GPU-fake-1"}, fake.places, {}};
  orders.measure.copy_bytes = 1 << 16;
  auto lines = answers(orders);
  ASSERT_NE(fact(lines, "peers"), nullptr);
  EXPECT_EQ(fact(lines, "peers")->as_array().size(), 2U);
}

}  // namespace
}  // namespace lockstep::gpu::worker_test
