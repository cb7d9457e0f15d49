// The dashboard: a page and what it asks for. Snapshots, events, history and actions over
// http/server; what is shown comes from a FleetModel, and what only some pages ask for from a
// Source.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/result.h"
#include "dashboard/event_ring.h"
#include "dashboard/event_streams.h"
#include "dashboard/fleet_model.h"
#include "dashboard/person.h"
#include "data/json.h"
#include "http/server.h"
#include "world/event_loop.h"
#include "world/log.h"

namespace lockstep::dashboard {

// Answers now or later, once.
class Source {
 public:
  virtual ~Source() = default;
  virtual void node(const std::string& name, JsonCallback done) = 0;
  virtual void plan(bool assume_change, JsonCallback done) = 0;
  virtual void access(const std::string& token, JsonCallback done) = 0;
  virtual void act(const std::string& token, const operate::Action& action, JsonCallback done) = 0;
};

// By path: "index.html", "assets/page.js".
using PageFiles = std::map<std::string, std::string, std::less<>>;
// Those of web/dist, as they were when the program was built; none when they were not built.
PageFiles embedded_page();

struct DashboardOptions {
  std::string address = "127.0.0.1:8640";
  std::string epoch;  // see EventRing
  std::string version;
  std::string cluster;  // as the page calls it
  size_t actions_at_once = 8;
  Duration heartbeat = seconds(15);  // of pages that listen
};

class Dashboard {
 public:
  static Result<std::unique_ptr<Dashboard>> start(EventLoop& loop, Log& log, FleetModel& model,
                                                  Source& source, const PageFiles& page,
                                                  DashboardOptions options);
  Dashboard(const Dashboard&) = delete;
  Dashboard& operator=(const Dashboard&) = delete;

  // Sends what changed in the model to every page.
  void publish();
  uint16_t port() const { return server_->port(); }
  std::string url() const;
  size_t pages() const { return server_->streams(); }

 private:
  struct StaticFile {
    std::string content_type;
    std::string plain;
    std::string zipped;
    std::string tag;
  };

  Dashboard(EventLoop& loop, Log& log, FleetModel& model, Source& source, const PageFiles& page,
            DashboardOptions options);
  void handle(const http::Request& request, const http::Server::Respond& respond);
  void handle_post(const http::Request& request, const http::Server::Respond& respond);
  http::Answer file(const http::Request& request) const;
  http::Answer snapshot(const http::Request& request);
  static http::Answer zip(const http::Request& request, std::string body);
  JsonCallback answer_with(http::Server::Respond respond);

  EventLoop& loop_;
  Log& log_;
  FleetModel& model_;
  Source& source_;
  DashboardOptions options_;
  std::map<std::string, StaticFile, std::less<>> files_;
  EventRing events_;
  size_t acting_ = 0;
  EventStreams streams_;
  // Its streams are ours.
  std::unique_ptr<http::Server> server_;
  Scope scope_;
};

}  // namespace lockstep::dashboard
