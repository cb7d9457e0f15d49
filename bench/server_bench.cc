// The embedded API server over HTTP on loopback: single GETs and patches from 8 connections, a list
// of 10,000 nodes, 500 watchers. The server has one thread, the load another: two cores.
#include <atomic>
#include <chrono>
#include <sys/epoll.h>
#include <thread>
#include <unistd.h>

#include <fmt/format.h>

#include "apiserver/door/embedded_server.h"
#include "fleet_json.h"
#include "http_load.h"
#include "measure.h"

namespace lockstep::bench {
namespace {

using apiserver::Backend;
using apiserver::Caller;
using apiserver::EmbeddedOptions;
using apiserver::EmbeddedServer;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Json without_server_fields(Json object) {
  for (auto key : {"resourceVersion", "uid", "creationTimestamp", "managedFields", "generation"}) {
    erase_key(object.as_object()["metadata"].as_object(), key);
  }
  return object;
}

void must(const apiserver::Outcome<apiserver::Answer>& answer) {
  if (answer) return;
  fmt::print("the server refused: {}\n", answer.error().message);
  std::exit(1);
}

void load_nodes(EmbeddedServer& server, size_t count) {
  server.with_backend([&](Backend& backend) {
    for (size_t i = 0; i < count; ++i) {
      Json node = without_server_fields(*parse_json(node_json(i)));
      must(handle(backend, kube::create(resource::nodes, "", std::move(node)),
                  Caller{"bench", {}, "kubelet/v1"}));
    }
  });
}

void measure_requests(EmbeddedServer& server) {
  constexpr size_t gets = 60'000;
  auto target = [](size_t i) { return "/api/v1/nodes/" + node_name(i % 1000); };
  double took = run_load(server.port(), 8, gets,
                         [&](size_t i) { return get_request(server.port(), target(i)); });
  report_at_least("single GETs of a 10 KB node, 8 connections", gets / took, "per second", 10'000);
  constexpr size_t patches = 15'000;
  took = run_load(server.port(), 8, patches, [&](size_t i) {
    return patch_request(
        server.port(), target(i),
        fmt::format(
            R"({{"metadata":{{"labels":{{"nvidia.com/gpu-driver-upgrade-state":"s{}"}}}}}})", i));
  });
  report_at_least("merge patches of a 10 KB node, 8 connections", patches / took, "per second",
                  3'000);
}

void measure_list(EmbeddedServer& server) {
  double best = 1e9;
  size_t bytes = 0;
  for (int i = 0; i < 3; ++i) {
    Connection connection(server.port());
    double begin = now();
    connection.send(get_request(server.port(), "/api/v1/nodes"));
    bytes = connection.wait_for_answer();
    double took = now() - begin;
    fmt::print("  list of 10,000 nodes, run {}: {:.2f} s, {:.0f} MB\n", i + 1, took,
               static_cast<double>(bytes) / 1e6);
    best = std::min(best, took);
  }
  report_at_most("list of 10,000 nodes, streamed whole (best of 3)", best, "s", 1);
}

// Leases, the smallest object that changes often: about 700 bytes an event.
void measure_watchers(EmbeddedServer& server) {
  constexpr size_t watchers = 500;
  constexpr size_t rate = 1'000;
  constexpr size_t changes = 10 * rate;
  server.with_backend([](Backend& backend) {
    for (int i = 0; i < 100; ++i) {
      must(handle(
          backend,
          kube::create(resource::leases, "default",
                       JsonObject{{"metadata", JsonObject{{"name", fmt::format("node-{}", i)}}},
                                  {"spec", JsonObject{{"holderIdentity", fmt::format("node-{}", i)},
                                                      {"leaseDurationSeconds", 40}}}}),
          Caller{"bench", {}, "kubelet/v1"}));
    }
  });
  int poller = epoll_create1(0);
  std::vector<Connection> open;
  open.reserve(watchers);
  for (size_t i = 0; i < watchers; ++i) {
    open.emplace_back(server.port());
    open.back().send(get_request(server.port(), "/apis/coordination.k8s.io/v1/leases?watch=true"));
    epoll_event interest{};
    interest.events = EPOLLIN;
    interest.data.u64 = i;
    epoll_ctl(poller, EPOLL_CTL_ADD, open.back().descriptor(), &interest);
  }
  std::vector<size_t> seen(watchers);
  size_t total = 0;
  auto drain_until = [&](size_t wanted, double limit) {
    double end = now() + limit;
    epoll_event ready[64];
    while (total < wanted && now() < end) {
      int count = epoll_wait(poller, ready, 64, 100);
      for (int i = 0; i < count; ++i) {
        size_t lines = open[ready[i].data.u64].read_lines();
        seen[ready[i].data.u64] += lines;
        total += lines;
      }
    }
  };
  drain_until(watchers * 100, 30);  // what was there before
  if (total != watchers * 100) {
    fmt::print("the watchers did not get the first state: {} events\n", total);
    ++missed;
  }
  std::atomic<size_t> made{0};
  double begin = now();
  std::thread writer([&] {
    Connection connection(server.port());
    for (size_t i = 0; i < changes; ++i) {
      // On schedule, whatever the server's speed.
      while (now() < begin + static_cast<double>(i) / rate) usleep(200);
      connection.send(patch_request(
          server.port(),
          fmt::format("/apis/coordination.k8s.io/v1/namespaces/default/leases/node-{}", i % 100),
          fmt::format(R"({{"spec":{{"leaseTransitions":{}}}}})", i + 1)));
      connection.wait_for_answer();
      ++made;
    }
  });
  drain_until(watchers * (100 + changes), 60);
  double took = now() - begin;
  writer.join();
  close(poller);
  size_t least = *std::min_element(seen.begin(), seen.end());
  fmt::print(
      "  500 watchers: {} changes in {:.2f} s; the last event reached the last watcher {:.2f} s "
      "after the first change\n",
      made.load(), took, took);
  if (least != 100 + changes) {
    fmt::print("  a watcher got only {} of {} events\n", least, 100 + changes);
    ++missed;
  }
  report_at_least("changes per second that all of 500 watchers got", changes / took, "per second",
                  rate * 0.99);
  report_at_least("events delivered", static_cast<double>(watchers * changes) / took, "per second",
                  watchers * rate * 0.99);
}

int run() {
  EmbeddedOptions options;
  options.open = true;
  auto server = EmbeddedServer::start(std::move(options));
  if (!server) {
    fmt::print("{}\n", server.error().text());
    return 1;
  }
  measure_watchers(**server);
  load_nodes(**server, 10'000);
  measure_requests(**server);
  measure_list(**server);
  return missed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace lockstep::bench

int main() { return lockstep::bench::run(); }
