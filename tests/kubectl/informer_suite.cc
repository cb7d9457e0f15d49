// A real informer (tests/tools/informer.mjs) against the embedded server, while its connections
// are cut and the server forgets its history. Whatever happens, it must end with the truth.
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unistd.h>

#include <fmt/format.h>

#include "apiserver/door/embedded_server.h"
#include "base/patience_test_util.h"
#include "base/strings.h"
#include "kube/api.h"
#include "world/event_loop.h"
#include "world/files.h"
#include "world/process.h"

namespace lockstep::suite {

namespace {

using apiserver::Backend;
using apiserver::Caller;
using apiserver::EmbeddedServer;
using Versions = std::map<std::string, std::string>;  // by name

constexpr int skipped_code = 77;
constexpr Duration patience = test_patience;

// What the informer has told so far.
struct Told {
  Versions now;
  std::map<std::string, int> events;  // how many of each kind
};

class InformerTest {
 public:
  InformerTest(EmbeddedServer& server, const std::string& script, const std::string& home)
      : server_(server), output_(home + "/output"), error_(home + "/error") {
    ProcessSpec spec;
    spec.command = {"/bin/bash", "-c",
                    fmt::format("exec node {} >{} 2>{}", script, output_, error_)};
    spec.environment = {{"KUBECONFIG", home + "/kubeconfig"}, {"HOME", home}};
    spec.limit = patience;
    processes_ = std::make_unique<SystemProcesses>();
    processes_->start(std::move(spec), loop_, [this](Result<ProcessOutput> result) {
      ended_ = result ? fmt::format("exit code {}", result->exit_code) : result.error().text();
    });
  }

  bool run() {
    bool ok = expect_truth("what was there before it came");
    write("a", "1");
    write("b", "1");
    write("a", "2");
    remove("first");
    ok = ok && expect_truth("adds, updates and deletions");

    server_.drop_connections();
    write("c", "1");
    remove("b");
    ok = ok && expect_truth("after a cut connection");

    // Everything at once on the server's thread: no client can read in between.
    const int lists = told().events["list"];
    server_.drop_connections();
    server_.with_backend([&](Backend& backend) {
      put(backend, "a", "3");
      put(backend, "d", "1");
      erase(backend, "c");
      backend.store.compact();
    });
    ok = ok && expect_truth("after a cut connection and a compaction");
    if (ok && told().events["list"] <= lists) {
      ok = complain("the informer did not list again: the compaction was not noticed");
    }

    server_.with_backend([&](Backend& backend) {
      for (int round = 0; round < 200; ++round) put(backend, "busy", std::to_string(round));
      backend.store.compact();
      put(backend, "after", "1");
    });
    ok = ok && expect_truth("after a compaction behind an open watch");

    for (int round = 0; ok && round < 5; ++round) {
      write("a", fmt::format("round {}", round));
      server_.drop_connections();
      write(fmt::format("round-{}", round), "1");
      if (round > 0) remove(fmt::format("round-{}", round - 1));
      ok = expect_truth(fmt::format("cut {} of 5", round + 1));
    }
    return ok;
  }

 private:
  static Json config_map(const std::string& name, const std::string& value) {
    return JsonObject{{"apiVersion", "v1"},
                      {"kind", "ConfigMap"},
                      {"metadata", JsonObject{{"name", name}, {"namespace", "default"}}},
                      {"data", JsonObject{{"value", value}}}};
  }

 public:
  static void put(Backend& backend, const std::string& name, const std::string& value) {
    const Caller caller{"tester", {}, "informer-test"};
    kube::Request request = kube::create(resource::config_maps, "default", config_map(name, value));
    auto created = apiserver::handle(backend, request, caller);
    if (created) return;
    request.verb = kube::Verb::update;
    request.name = name;
    if (auto updated = apiserver::handle(backend, request, caller); !updated) {
      fmt::print(stderr, "put {}: {}\n", name, updated.error().message);
      std::abort();
    }
  }

 private:
  static void erase(Backend& backend, const std::string& name) {
    kube::Request request;
    request.verb = kube::Verb::remove;
    request.type = resource::config_maps;
    request.ns = "default";
    request.name = name;
    if (!apiserver::handle(backend, request, Caller{"tester", {}, "informer-test"})) std::abort();
  }

  void write(const std::string& name, const std::string& value) {
    server_.with_backend([&](Backend& backend) { put(backend, name, value); });
  }
  void remove(const std::string& name) {
    server_.with_backend([&](Backend& backend) { erase(backend, name); });
  }

  Versions truth() {
    Versions versions;
    server_.with_backend([&](Backend& backend) {
      for (const auto& [key, stored] : backend.store.shelf("configmaps").objects()) {
        if (key.ns == "default") versions[key.name] = std::to_string(stored->version());
      }
    });
    return versions;
  }

  Told told() {
    Told result;
    const std::string text = files_.read(output_).value_or("");
    for (const std::string_view line : split(text, '\n')) {
      auto event = parse_json(line);
      if (!event) continue;  // the last one may be half written
      const std::string kind(text_at(*event, "event"));
      const std::string name(text_at(*event, "name"));
      ++result.events[kind];
      if (kind == "add" || kind == "update") result.now[name] = text_at(*event, "version");
      if (kind == "delete") result.now.erase(name);
    }
    return result;
  }

  bool expect_truth(const std::string& when) {
    const Versions wanted = truth();
    bool again = true;
    std::function<void()> look = [&] {
      if (again) loop_.after(milliseconds(10), scope_.bind([&] { look(); }));
    };
    look();
    const bool reached = loop_.run_until([&] { return ended_ || told().now == wanted; }, patience);
    scope_.reset();
    if (reached && !ended_) {
      fmt::print("ok: {}\n", when);
      return true;
    }
    complain(fmt::format("{}: {}", when, ended_.value_or("the informer does not see the truth")));
    const Told seen = told();
    for (const auto& [name, version] : wanted) {
      auto found = seen.now.find(name);
      if (found == seen.now.end())
        fmt::print("  - {} {}: never seen\n", name, version);
      else if (found->second != version)
        fmt::print("  - {} {}: {}\n", name, version, found->second);
    }
    for (const auto& [name, version] : seen.now) {
      if (!wanted.contains(name)) fmt::print("  + {} {}: is gone\n", name, version);
    }
    const std::string error = files_.read(error_).value_or("");
    constexpr size_t enough = 2000;
    fmt::print("{}", error.substr(error.size() - std::min(error.size(), enough)));
    return false;
  }

  static bool complain(const std::string& message) {
    fmt::print("FAILED: {}\n", message);
    return false;
  }

  EmbeddedServer& server_;
  const std::string output_;
  const std::string error_;
  SystemFiles files_;
  EventLoop loop_;
  std::optional<std::string> ended_;
  std::unique_ptr<SystemProcesses> processes_;
  Scope scope_;
};

int run(const std::string& script) {
  const auto package =
      std::filesystem::path(script).parent_path() / "node_modules/@kubernetes/client-node";
  if (!std::filesystem::exists(package)) {
    fmt::print("SKIPPED: there is no {}; scripts/install-tools brings it (make tools)\n",
               package.string());
    return skipped_code;
  }
  // client-node refuses plain HTTP.
  apiserver::EmbeddedOptions options;
  options.tls = true;
  auto server = EmbeddedServer::start(std::move(options));
  if (!server) {
    fmt::print("FAILED: {}\n", server.error().text());
    return 1;
  }
  (*server)->with_backend([](Backend& backend) { InformerTest::put(backend, "first", "1"); });
  std::string home = std::filesystem::temp_directory_path() / "lockstep-informer-XXXXXX";
  if (mkdtemp(home.data()) == nullptr) return 1;
  bool ok = SystemFiles().write(home + "/kubeconfig", (*server)->kubeconfig(), 0600).has_value();
  ok = ok && InformerTest(**server, script, home).run();
  std::error_code ignored;
  std::filesystem::remove_all(home, ignored);
  return ok ? 0 : 1;
}

}  // namespace

}  // namespace lockstep::suite

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  if (argc != 2) {
    fmt::print(stderr, "usage: informer_suite tests/tools/informer.mjs\n");
    return 2;
  }
  return lockstep::suite::run(argv[1]);
}
