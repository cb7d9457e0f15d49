#include "dashboard/event_streams.h"

#include <string>
#include <utility>
#include <vector>

namespace lockstep::dashboard {

class EventStreams::One final : public http::Stream {
 public:
  One(EventStreams& all, std::string_view seen) : all_(all) {
    const auto position = all_.events_.number_of(seen);
    must_reset_ = !position || !all_.events_.holds_after(*position);
    position_ = must_reset_ ? all_.events_.last() : *position;
    all_.streams_.insert(this);
  }
  ~One() override { all_.streams_.erase(this); }

  void beat() {
    beat_due_ = true;
    wake();
  }

  Piece next() override {
    static const auto heartbeat = std::make_shared<const std::string>(":\n\n");
    const EventRing& events = all_.events_;
    Piece piece;
    if (std::exchange(beat_due_, false)) {
      piece.text = heartbeat;
      return piece;
    }
    if (must_reset_ || !events.holds_after(position_)) {
      must_reset_ = false;
      position_ = events.last();
      piece.text = EventRing::reset();
      return piece;
    }
    piece.text = events.after(position_);
    if (piece.text) ++position_;
    return piece;
  }

 private:
  EventStreams& all_;
  uint64_t position_ = 0;    // the last event that was sent
  bool must_reset_ = false;  // it must begin again
  bool beat_due_ = false;
};

EventStreams::EventStreams(Loop& loop, const EventRing& events, Duration heartbeat)
    : loop_(loop), events_(events), heartbeat_(heartbeat) {
  loop_.after(heartbeat_, scope_.bind([this] { beat(); }));
}

http::Answer EventStreams::open(const http::Request& request) {
  std::string seen(request.header("last-event-id"));
  if (seen.empty()) seen = request.parameter("after");
  http::Answer answer;
  answer.content_type = "text/event-stream";
  answer.headers = {{"Cache-Control", "no-store"}};
  answer.body = "retry: 1000\n\n";
  answer.stream = std::make_shared<One>(*this, seen);
  return answer;
}

void EventStreams::wake() {
  // Waking one may end it, and others.
  for (One* stream : std::vector<One*>(streams_.begin(), streams_.end())) {
    if (streams_.contains(stream)) stream->wake();
  }
}

void EventStreams::beat() {
  loop_.after(heartbeat_, scope_.bind([this] { beat(); }));
  for (One* stream : std::vector<One*>(streams_.begin(), streams_.end())) {
    if (streams_.contains(stream)) stream->beat();
  }
}

}  // namespace lockstep::dashboard
