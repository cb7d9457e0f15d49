// What the tests of HttpApi share.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "http/scripted_server_test_util.h"
#include "kube/credentials.h"
#include "kube/http_api.h"
#include "world/event_loop.h"
#include "world/files.h"

namespace lockstep::kube::testing {

using namespace http::testing;

inline Request get_node(const std::string& name = "n") { return get(resource::nodes, {"", name}); }

// The same answer to every request.
inline ScriptedServer::Script always(int code, std::string body, std::string headers = {}) {
  return [code, body = std::move(body), headers = std::move(headers)](
             const ReceivedRequest&, ServerConnection& connection) {
    connection.answer(code, body, headers);
  };
}

// Answers as scripted; counts.
class ScriptedProcesses final : public Processes {
 public:
  Result<ProcessOutput> run(const ProcessSpec&) override {
    return fail(ErrorKind::unsupported, "not in this test");
  }
  void start(ProcessSpec spec, Loop& loop,
             std::function<void(Result<ProcessOutput>)> done) override {
    started.push_back(std::move(spec));
    Result<ProcessOutput> answer = fail(ErrorKind::not_found, "no such program");
    if (!answers.empty()) {
      answer = answers.front();
      answers.erase(answers.begin());
    }
    loop.post([done = std::move(done), answer = std::move(answer)] { done(answer); });
  }
  void will_print(std::string output) {
    answers.emplace_back(ProcessOutput{0, std::move(output), ""});
  }

  std::vector<Result<ProcessOutput>> answers;
  std::vector<ProcessSpec> started;
};

struct Client {
  explicit Client(const std::string& server) { config.cluster.server = server; }

  HttpApi& api() {
    if (!made) {
      auto created = HttpApi::create(
          config, make_credentials(user, config.cluster, files, processes, loop), files, loop);
      if (!created) throw std::runtime_error(created.error().text());
      made = std::move(*created);
    }
    return *made;
  }
  bool run_until(const std::function<bool()>& done) { return loop.run_until(done, patience); }
  // One call, waited for.
  Reply call(Request request) {
    std::optional<Reply> reply;
    api().call(std::move(request), [&](Reply answer) { reply = std::move(answer); });
    if (!run_until([&] { return reply.has_value(); })) {
      return fail(ErrorKind::internal, "the test waited too long");
    }
    return std::move(*reply);
  }

  EventLoop loop;
  MemoryFiles files;
  ScriptedProcesses processes;
  HttpApiConfig config;
  UserConfig user;
  std::unique_ptr<HttpApi> made;
};

}  // namespace lockstep::kube::testing
