// HTTP requests as a hostile client sends them, through the front of the embedded server: any
// method, target, content type and body. Promises: no crash; whatever is refused is refused by a
// Status object with the same code; whatever is accepted is answered with valid JSON; the store's
// objects keep their metadata.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "apiserver/door/front.h"
#include "apiserver/verbs/housekeeping.h"
#include "base/strings.h"
#include "world/random.h"
#include "world/virtual_loop.h"

namespace {

using namespace lockstep;
using namespace lockstep::apiserver;

struct Server {
  Server() : backend(loop, random), housekeeping(backend), front(backend) {
    housekeeping.make_namespaces();
    for (const char* body :
         {R"({"metadata":{"name":"n"},"spec":{"taints":[{"key":"a","effect":"NoSchedule"}]}})"}) {
      (void)handle(backend, kube::create(resource::nodes, "", *parse_json(body)), Caller{});
    }
    (void)handle(backend,
                 kube::create(resource::pods, "default",
                              *parse_json(R"({"metadata":{"name":"p"},"spec":{"containers":[
                                {"name":"a","image":"1"},{"name":"b","image":"1"}]}})")),
                 Caller{});
  }
  VirtualLoop loop{1};
  SeededRandom random{1};
  Backend backend;
  Housekeeping housekeeping;
  Front front;
};

[[noreturn]] void broken(const char* promise, const HttpRequest& request,
                         const std::string& answer) {
  std::fprintf(stderr, "%s\n%s %s\n%s\n%s\n", promise, request.method.c_str(),
               request.target.c_str(), request.body.c_str(), answer.c_str());
  std::abort();
}

const std::vector<std::string> methods = {"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "BREW"};
const std::vector<std::string> types = {"application/json",
                                        "application/yaml",
                                        "application/json-patch+json",
                                        "application/merge-patch+json",
                                        "application/strategic-merge-patch+json",
                                        "application/apply-patch+yaml",
                                        ""};
const std::vector<std::string> accepts = {
    "", "application/json;as=Table;v=v1;g=meta.k8s.io", "application/yaml",
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"};

}  // namespace

// The first three bytes choose method and types, the first line is the target, the rest is the
// body.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static auto server = std::make_unique<Server>();
  if (size < 4) return 0;
  std::string_view text(reinterpret_cast<const char*>(data) + 3, size - 3);
  size_t line = text.find('\n');
  HttpRequest request;
  request.method = methods[data[0] % methods.size()];
  request.content_type = types[data[1] % types.size()];
  request.accept = accepts[data[2] % accepts.size()];
  request.target = std::string(text.substr(0, line));
  if (line != std::string_view::npos) request.body = std::string(text.substr(line + 1));

  HttpAnswer answer = server->front.answer(request);
  if (answer.more) {
    while (answer.more(answer.body)) {
    }
  }
  if (answer.watch) {
    while (answer.watch->ready()) (void)server->front.next_events(*answer.watch);
  }
  if (request.method == "HEAD") return 0;  // has no body to check
  // As a real server answers for an unknown path.
  if (answer.code == 404 && answer.body == "404 page not found\n") return 0;
  if (answer.code >= 400) {
    auto status = parse_json(answer.body);
    if (!status || text_at(*status, "kind") != "Status" ||
        as_integer(find(*status, "code")) != answer.code) {
      broken("a refusal without its Status", request, answer.body);
    }
  } else if (answer.content_type == "application/json" && !answer.watch &&
             !parse_json(answer.body)) {
    broken("an answer that is no JSON", request, answer.body);
  }
  server->loop.run_for(milliseconds(1));
  if (server->backend.store.version() > 2000) server = std::make_unique<Server>();
  return 0;
}
