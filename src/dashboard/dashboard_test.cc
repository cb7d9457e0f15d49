#include "dashboard/dashboard.h"

#include <gtest/gtest.h>

#include "base/strings.h"
#include "data/gzip.h"
#include "http/raw_client_test_util.h"

namespace lockstep::dashboard::dashboard_test {
namespace {

using http::testing::RawClient;

constexpr Duration patience = test_patience;

class TestSource final : public Source {
 public:
  void node(const std::string& name, JsonCallback done) override {
    if (name != "gpu-1") return done(fail(ErrorKind::not_found, "no such node"));
    done(Json(JsonObject{{"name", name}}));
  }
  void plan(bool assume, JsonCallback done) override { done(Json(JsonObject{{"assume", assume}})); }
  void access(const std::string& token, JsonCallback done) override {
    if (token != "good") return done(fail(ErrorKind::unauthorized, "who are you"));
    done(Json(JsonObject{{"user", "ada"}}));
  }
  void act(const std::string& token, const operate::Action& action, JsonCallback done) override {
    acted.push_back(token + " " + action.verb);
    pending = std::move(done);
  }
  std::vector<std::string> acted;
  JsonCallback pending;
};

struct Scene {
  Scene() {
    NodeRow row;
    row.name = "gpu-1";
    model.put(row, loop.now());
    DashboardOptions options;
    options.address = "127.0.0.1:0";
    options.epoch = "e";
    options.actions_at_once = 2;
    auto started = Dashboard::start(loop, log, model, source,
                                    {{"index.html", "<p>page"}, {"assets/page.js", "let x;"}},
                                    std::move(options));
    EXPECT_TRUE(started) << (started ? "" : started.error().text());
    dashboard = std::move(*started);
  }
  std::string get(const std::string& path, const std::string& headers = "") {
    return RawClient::ask(loop, dashboard->port(),
                          "GET " + path + " HTTP/1.1\r\nHost: localhost\r\n" + headers + "\r\n");
  }
  std::string post(const std::string& path, const std::string& headers, const std::string& body) {
    return RawClient::ask(
        loop, dashboard->port(),
        fmt::format("POST {} HTTP/1.1\r\nHost: localhost\r\nX-Lockstep-Request: 1\r\n{}"
                    "Content-Length: {}\r\n\r\n{}",
                    path, headers, body.size(), body));
  }
  static std::string body_of(const std::string& answer) {
    return answer.substr(answer.find("\r\n\r\n") + 4);
  }
  static std::string code_of(const std::string& answer) { return answer.substr(9, 3); }

  EventLoop loop;
  MemoryLog log;
  FleetModel model;
  TestSource source;
  std::unique_ptr<Dashboard> dashboard;
};

const std::string skip = R"({"verb":"skip","target":"node","name":"gpu-1","reason":"cable"})";

TEST(Dashboard, ServesItsPageOnceAndThenByTag) {
  Scene scene;
  std::string page = scene.get("/");
  EXPECT_EQ(Scene::body_of(page), "<p>page");
  EXPECT_NE(page.find("Content-Type: text/html"), std::string::npos);
  size_t tag = page.find("ETag: ") + 6;
  std::string again =
      scene.get("/", "If-None-Match: " + page.substr(tag, page.find('\r', tag) - tag) + "\r\n");
  EXPECT_EQ(Scene::code_of(again), "304");
  std::string script = scene.get("/assets/page.js", "Accept-Encoding: gzip\r\n");
  EXPECT_NE(script.find("Content-Encoding: gzip"), std::string::npos);
  EXPECT_EQ(gunzip(Scene::body_of(script)).value(), "let x;");
  EXPECT_EQ(Scene::code_of(scene.get("/../secret")), "404");
}

TEST(Dashboard, RefusesWhatIsNotAllowedAsItWasSent) {
  Scene scene;
  const std::string host = "Host: localhost\r\n";
  const std::string post = "POST /api/actions HTTP/1.1\r\n" + host;
  struct Case {
    std::string request;
    std::string code;
  };
  for (const auto& [request, code] : std::vector<Case>{
           {"GET /" + std::string(20'000, 'a') + " HTTP/1.1\r\n" + host + "\r\n", "431"},
           {post + "Content-Length: 20000\r\n\r\n", "413"},
           {post + "\r\n", "403"},
           {"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", "421"},
           {"PUT / HTTP/1.1\r\n" + host + "\r\n", "405"},
           {"rubbish\r\n\r\n", "400"},
       }) {
    const std::string answer = RawClient::ask(scene.loop, scene.dashboard->port(), request);
    EXPECT_EQ(Scene::code_of(answer), code) << request.substr(0, 60);
    EXPECT_NE(Scene::body_of(answer).find("{\"error\":"), std::string::npos);
  }
}

TEST(Dashboard, SaysHowToBuildAPageThatIsNotThere) {
  Scene scene;
  scene.dashboard.reset();
  DashboardOptions options;
  options.address = "127.0.0.1:0";
  scene.dashboard =
      Dashboard::start(scene.loop, scene.log, scene.model, scene.source, {}, options).value();
  std::string page = scene.get("/");
  EXPECT_EQ(Scene::code_of(page), "503");
  EXPECT_NE(page.find("make build"), std::string::npos);
}

TEST(Dashboard, ASnapshotSaysWhereItsEventsBegin) {
  Scene scene;
  auto snapshot = parse_json(Scene::body_of(scene.get("/api/snapshot")));
  ASSERT_TRUE(snapshot);
  EXPECT_EQ(snapshot->at("id").as_string(), "e:1");
  EXPECT_EQ(snapshot->at("nodes").as_array().size(), 1U);
  RawClient page(scene.loop, scene.dashboard->port());
  page.say("GET /api/events?after=e:1 HTTP/1.1\r\nHost: localhost\r\n\r\n");
  ASSERT_TRUE(page.hear_of("retry"));
  NodeRow row;
  row.name = "gpu-2";
  scene.model.put(row, scene.loop.now());
  scene.dashboard->publish();
  EXPECT_TRUE(page.hear_of("id: e:2\ndata: {\"sequence\":2"));
  EXPECT_EQ(scene.dashboard->pages(), 1U);
}

TEST(Dashboard, AnswersWhatPagesAskFor) {
  Scene scene;
  EXPECT_EQ(Scene::body_of(scene.get("/api/nodes/gpu%2D1")), R"({"name":"gpu-1"})");
  EXPECT_EQ(Scene::code_of(scene.get("/api/nodes/gpu-9")), "404");
  EXPECT_EQ(Scene::body_of(scene.get("/api/plan?assume=1")), R"({"assume":true})");
  EXPECT_TRUE(parse_json(Scene::body_of(scene.get("/api/history"))));
  EXPECT_EQ(Scene::code_of(scene.get("/api/nothing")), "404");
}

TEST(Dashboard, NothingIsDoneWithoutAToken) {
  Scene scene;
  EXPECT_EQ(Scene::code_of(scene.post("/api/actions", "", skip)), "401");
  EXPECT_EQ(Scene::code_of(scene.post("/api/access", "", "")), "401");
  EXPECT_EQ(Scene::code_of(scene.post("/api/access", "Authorization: Bearer bad\r\n", "")), "401");
  EXPECT_EQ(Scene::code_of(scene.post("/api/access", "Authorization: Bearer good\r\n", "")), "200");
  EXPECT_EQ(Scene::code_of(scene.post("/api/snapshot", "Authorization: Bearer good\r\n", "")),
            "405");
  EXPECT_TRUE(scene.source.acted.empty());
}

TEST(Dashboard, AnActionIsReadBeforeItIsDoneAndItsTokenIsNeverLogged) {
  Scene scene;
  const std::string token = "Authorization: Bearer secret-token\r\n";
  EXPECT_EQ(Scene::code_of(scene.post("/api/actions", token, "{}")), "400");
  EXPECT_TRUE(scene.source.acted.empty());
  RawClient client(scene.loop, scene.dashboard->port());
  client.say(
      fmt::format("POST /api/actions HTTP/1.1\r\nHost: localhost\r\nX-Lockstep-Request: 1\r\n"
                  "{}Content-Length: {}\r\n\r\n{}",
                  token, skip.size(), skip));
  scene.loop.run_until([&] { return scene.source.pending != nullptr; }, patience);
  EXPECT_EQ(scene.source.acted, std::vector<std::string>{"secret-token skip"});
  scene.source.pending(fail(ErrorKind::forbidden, "ada may not"));
  std::string answer = client.rest();
  EXPECT_EQ(Scene::code_of(answer), "403");
  EXPECT_NE(answer.find("ada may not"), std::string::npos);
  for (const std::string& line : scene.log.lines) {
    EXPECT_EQ(line.find("secret-token"), std::string::npos) << line;
  }
}

TEST(Dashboard, DoesOnlySoMuchAtOnce) {
  Scene scene;
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < 2; ++i) {
    clients.push_back(std::make_unique<RawClient>(scene.loop, scene.dashboard->port()));
    clients.back()->say(
        fmt::format("POST /api/actions HTTP/1.1\r\nHost: localhost\r\nX-Lockstep-Request: 1\r\n"
                    "Authorization: Bearer t\r\nContent-Length: {}\r\n\r\n{}",
                    skip.size(), skip));
  }
  scene.loop.run_until([&] { return scene.source.acted.size() == 2; }, patience);
  EXPECT_EQ(Scene::code_of(scene.post("/api/actions", "Authorization: Bearer t\r\n", skip)), "429");
}

}  // namespace
}  // namespace lockstep::dashboard::dashboard_test
