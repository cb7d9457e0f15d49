#include "notify/notifier.h"

#include "http/prometheus.h"

namespace lockstep::notify {

Notifier::Notifier(Sender& sender, Loop& loop, Random& random, Log& log, NotifierOptions options)
    : sender_(sender),
      loop_(loop),
      log_(log),
      options_(std::move(options)),
      backoff_(options_.backoff, random) {}

bool Notifier::is_repeated(const Notice& notice) {
  Duration now = loop_.uptime();
  std::erase_if(told_,
                [&](const auto& entry) { return entry.second + options_.same_within <= now; });
  return !told_.emplace(notice.key(), now).second;
}

void Notifier::notify(Notice notice) {
  if (is_repeated(notice)) {
    ++counts_.repeated;
    return;
  }
  if (waiting_.size() >= options_.queue_limit) {
    // The newest is of more use. The first may be on its way already.
    ++counts_.overflow;
    waiting_.erase(waiting_.begin() + (sending_ ? 1 : 0));
  }
  waiting_.push_back(std::move(notice));
  if (!sending_) send_next();
}

void Notifier::send_next() {
  if (waiting_.empty()) return;
  sending_ = true;
  std::string body = print_json(message_of(waiting_.front(), options_.form, options_.cluster));
  sender_.send(std::move(body),
               scope_.bind([this](Result<void> sent) { on_sent(std::move(sent)); }));
}

void Notifier::on_sent(Result<void> sent) {
  bool hopeless = !sent && sent.error().kind == ErrorKind::invalid;
  if (!sent && !hopeless && backoff_.failures() + 1 < options_.tries) {
    ++counts_.retries;
    log_.info("a notification is retried",
              {{"subject", waiting_.front().subject}, {"error", sent.error().text()}});
    loop_.after(backoff_.next(), scope_.bind([this] { send_next(); }));
    return;
  }
  if (sent) {
    ++counts_.sent;
  } else {
    ++counts_.gave_up;
    log_.warning("a notification could not be delivered",
                 {{"subject", waiting_.front().subject},
                  {"reason", waiting_.front().reason.str()},
                  {"error", sent.error().text()}});
  }
  backoff_.reset();
  waiting_.pop_front();
  sending_ = false;
  // Not from inside the sender's callback, which may come at once.
  loop_.post(scope_.bind([this] {
    if (!sending_) send_next();
  }));
}

std::string metrics_of(const NotifierCounts& counts) {
  http::PrometheusText out;
  out.counter("lockstep_notifications_total", "Notifications, by result.")
      .sample(counts.sent, {{"outcome", "sent"}})
      .sample(counts.repeated, {{"outcome", "repeated"}})
      .sample(counts.overflow, {{"outcome", "overflow"}})
      .sample(counts.gave_up, {{"outcome", "gave_up"}});
  return out.text();
}

}  // namespace lockstep::notify
