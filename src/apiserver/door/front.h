// The HTTP door without the sockets: a request as text in, an answer as text out. http_server.cc
// only moves the bytes.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apiserver/door/request_counts.h"
#include "apiserver/door/route.h"
#include "apiserver/present/media.h"
#include "apiserver/verbs/backend.h"
#include "apiserver/verbs/watching.h"

namespace lockstep::apiserver {

struct HttpRequest {
  std::string method;
  std::string target;
  std::string accept;
  std::string content_type;
  std::string body;
  Caller caller;
};

// A watch on its way to one client: its feed, and how its events are written.
class WatchStream {
 public:
  WatchStream(WatchFeed feed, Wanted wanted, Duration limit)
      : feed_(std::move(feed)), wanted_(wanted), limit_(limit) {}

  bool ready() const { return feed_.ready(); }
  bool ended() const { return feed_.ended(); }
  // What is to be sent before the log: objects that a watch began with.
  size_t initial_objects() const { return feed_.initial_objects(); }
  Duration limit() const { return limit_; }
  const std::string& storage() const { return feed_.info().storage; }
  bool wants_bookmarks() const { return feed_.wants_bookmarks(); }

 private:
  friend class Front;
  WatchFeed feed_;
  Wanted wanted_;
  Duration limit_;
  bool first_ = true;
};

struct HttpAnswer {
  int code = 200;
  std::string content_type = "application/json";
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  // A long body comes in pieces: appends the next one, false after the last one.
  std::function<bool(std::string&)> more;
  std::shared_ptr<WatchStream> watch;  // set: a stream of events
  // Between two pieces of the body: a slow server, for tests of clients.
  Duration pause{0};
};

// Changes answers on their way out, to see what clients make of them: a 429, a 500, a slow body.
using Disturbance = std::function<void(const HttpRequest& request, HttpAnswer& answer)>;

class Front {
 public:
  explicit Front(Backend& backend) : backend_(backend) {}

  HttpAnswer answer(const HttpRequest& request);
  void disturb(Disturbance disturbance) { disturbance_ = std::move(disturbance); }
  // A refusal that needs no request (401, 413, 400 from the HTTP parser).
  static HttpAnswer refuse(const StatusError& error);

  // The next events of a watch as one piece of text, shared between watches at the same place; null
  // if there are no new events.
  std::shared_ptr<const std::string> next_events(WatchStream& stream);
  std::shared_ptr<const std::string> bookmark(WatchStream& stream);

  const RequestCounts& counts() const { return counts_; }
  // How many documents of discovery and OpenAPI are kept.
  size_t documents() const { return documents_.size(); }

 private:
  HttpAnswer answer_resource(const HttpRequest& request, const Target& target);
  HttpAnswer answer_watch(const HttpRequest& request, Route& route, const Wanted& wanted);
  Outcome<Document> read_protobuf_body(const std::string& body) const;
  std::optional<HttpAnswer> answer_about(const HttpRequest& request, const Target& target);
  HttpAnswer render(Outcome<Answer> outcome, const Wanted& wanted);
  HttpAnswer render_list(const ResourceInfo& info, ListResult list, const Wanted& wanted);
  void write_event(WatchStream& stream, const FeedEvent& event, std::string& out);
  std::string metrics() const;
  const Json& cached(const std::string& key, const std::function<Json()>& make);

  struct Batch {
    std::string fingerprint;
    uint64_t from = 0;
    uint64_t to = 0;
    std::shared_ptr<const std::string> text;
  };

  HttpAnswer undisturbed(const HttpRequest& request);

  Backend& backend_;
  Disturbance disturbance_;
  RequestCounts counts_;
  std::vector<Batch> batches_;
  // Discovery and OpenAPI documents, made on first need and dropped when a CRD changes.
  std::map<std::string, Json> documents_;
  uint64_t documents_generation_ = 0;
};

}  // namespace lockstep::apiserver
