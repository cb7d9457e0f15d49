#include "dra/slice_publisher.h"

#include <utility>

#include <fmt/format.h>

#include "base/strings.h"
#include "kube/typed.h"

namespace lockstep::dra {

namespace {

constexpr kube::BackoffPolicy patience{milliseconds(100), seconds(15), 2.0, 0.5};

// Enough to publish and to remove what is obsolete.
constexpr uint32_t free_writes = 4;
constexpr Duration forgiveness = minutes(1);

kube::ReflectorOptions watch_options(const SliceSettings& settings) {
  kube::ReflectorOptions options;
  options.type = resource::resource_slices;
  options.query = {{"fieldSelector", fmt::format("spec.nodeName={},spec.driver={}", settings.node,
                                                 settings.driver)}};
  return options;
}

Result<Document> document_in(const kube::Body& body) {
  constexpr int fine = 200;
  return kube::Response{fine, body, {}}.document();
}

uint64_t version_of(const Json& object) {
  return parse_unsigned(text_at(object, "metadata", "resourceVersion")).value_or(0);
}

bool is_newer(const Json& a, const Json& b) { return version_of(a) > version_of(b); }

std::string name_of(const Json& object) { return std::string(text_at(object, "metadata", "name")); }

}  // namespace

SlicePublisher::SlicePublisher(kube::Api& api, Loop& loop, Random& random, Log& log,
                               SliceSettings settings)
    : api_(api),
      loop_(loop),
      log_(log),
      settings_(std::move(settings)),
      backoff_(patience, random),
      reflector_(api, loop, random, log, watch_options(settings_), *this) {}

SlicePublisher::~SlicePublisher() { loop_.cancel(timer_); }

void SlicePublisher::start() {
  reflector_.start();
  read_node();
}

// The slice goes with its node, so the node's uid is needed before anything is written.
void SlicePublisher::read_node() {
  api_.call(kube::get(resource::nodes, {"", settings_.node}),
            scope_.bind([this](kube::Reply reply) {
              auto node = kube::document_of(std::move(reply));
              if (!node) {
                Duration wait = backoff_.next();
                log_.warning("the node cannot be read",
                             {{"node", settings_.node}, {"error", node.error().text()}});
                loop_.after(wait, scope_.bind([this] { read_node(); }));
                return;
              }
              backoff_.reset();
              settings_.node_uid = text_at(**node, "metadata", "uid");
              step_soon();
            }));
}

void SlicePublisher::want(SliceWish wish) {
  wish_ = std::move(wish);
  writes_of_wish_ = 0;
  is_published_ = false;
  step_soon();
}

Result<ListPage> SlicePublisher::page(const kube::Body& body) {
  LOCKSTEP_TRY(Document list, document_in(body));
  const Json* items = find(*list, "items");
  if (items == nullptr || !items->is_array()) return fail(ErrorKind::internal, "this is no list");
  for (const Json& slice : items->get_array()) {
    collected_[name_of(slice)] = std::make_shared<const Json>(slice);
  }
  return ListPage{std::string(text_at(*list, "metadata", "resourceVersion")),
                  std::string(text_at(*list, "metadata", "continue")), 0};
}

void SlicePublisher::item(const kube::Body& object) {
  if (auto slice = document_in(object)) collected_[name_of(**slice)] = *slice;
}

bool SlicePublisher::end_replace(const std::string&, bool) {
  published_ = std::exchange(collected_, {});
  is_listed_ = true;
  step_soon();
  return true;
}

std::string SlicePublisher::event(kube::WatchEventType type, const kube::Body& object) {
  auto slice = document_in(object);
  if (!slice || type == kube::WatchEventType::bookmark) return kube::peek_body_version(object);
  if (type != kube::WatchEventType::deleted) {
    take(*slice);
  } else if (auto held = published_.find(name_of(**slice));
             held != published_.end() && !is_newer(*held->second, **slice)) {
    published_.erase(held);
  }
  step_soon();
  return std::string(text_at(**slice, "metadata", "resourceVersion"));
}

// The answer to a write and the watch's word of it come on two ways: whichever is late must not
// bring back what is past.
void SlicePublisher::take(const Document& slice) {
  Document& held = published_[name_of(*slice)];
  if (held == nullptr || !is_newer(*held, *slice)) held = slice;
}

void SlicePublisher::step_soon(Duration delay) {
  if (timer_ != 0) return;
  timer_ = loop_.after(delay, scope_.bind([this] {
    timer_ = 0;
    step();
  }));
}

void SlicePublisher::step() {
  if (is_writing_ || !is_listed_ || !wish_ || settings_.node_uid.empty()) return;
  std::vector<Document> published;
  for (const auto& [name, slice] : published_) published.push_back(slice);
  SliceStep next = next_slice_step(settings_, *wish_, published, drops_taints_);
  kube::Request request;
  switch (next.kind) {
    case SliceStep::Kind::none:
      is_published_ = true;
      return tell_waiters(true);
    case SliceStep::Kind::create:
      request = kube::create(resource::resource_slices, "", next.object);
      break;
    case SliceStep::Kind::update:
      request = kube::update(resource::resource_slices, {"", next.name}, next.object);
      break;
    case SliceStep::Kind::remove:
      request = kube::remove(resource::resource_slices, {"", next.name});
      break;
  }
  is_published_ = false;
  if (Duration wait = time_to_wait(); wait > Duration(0)) return step_soon(wait);
  is_writing_ = true;
  ++counts_.writes;
  if (loop_.uptime() - last_write_ > forgiveness) writes_of_wish_ = 0;
  ++writes_of_wish_;
  last_write_ = loop_.uptime();
  api_.call(std::move(request), scope_.bind([this, next](kube::Reply reply) {
    is_writing_ = false;
    on_written(next, std::move(reply));
  }));
}

void SlicePublisher::when_published(Duration limit, std::function<void(bool)> told) {
  if (is_published_) return told(true);
  waiters_.push_back({loop_.uptime() + limit, std::move(told)});
  loop_.after(limit, scope_.bind([this] { tell_waiters(false); }));
}

// All of them, or those whose time is over.
void SlicePublisher::tell_waiters(bool is_published) {
  std::vector<Waiter> waiting;
  for (Waiter& waiter : std::exchange(waiters_, {})) {
    if (is_published || waiter.deadline <= loop_.uptime()) {
      loop_.post(
          scope_.bind([told = std::move(waiter.told), is_published] { told(is_published); }));
    } else {
      waiting.push_back(std::move(waiter));
    }
  }
  waiters_ = std::move(waiting);
}

Duration SlicePublisher::time_to_wait() const {
  if (writes_of_wish_ < free_writes) return Duration(0);
  Duration pause = kube::backoff_delay(patience, writes_of_wish_ - free_writes + 1);
  return last_write_ + pause - loop_.uptime();
}

void SlicePublisher::on_written(const SliceStep& step, kube::Reply reply) {
  bool is_gone = reply && step.kind == SliceStep::Kind::remove && reply->code == 404;
  auto answer = kube::document_of(std::move(reply));
  if (!answer && !is_gone) {
    ++counts_.failures;
    log_.warning("a slice could not be written",
                 {{"slice", step.name}, {"error", answer.error().text()}});
    // What was in the way comes by the watch, meanwhile or later.
    step_soon(backoff_.next());
    return;
  }
  backoff_.reset();
  if (step.kind == SliceStep::Kind::remove) {
    published_.erase(step.name);
  } else {
    take(*answer);
    bool is_dropped = lost_taints(step.object, **answer);
    if (is_dropped && !drops_taints_ && dropped_told_) dropped_told_();
    // A server that gives all of them back is a new one. Where none was sent, nothing is known: a
    // broken device that is left out has none.
    if (is_dropped || (step.kind == SliceStep::Kind::update && has_taints(step.object))) {
      drops_taints_ = is_dropped;
    }
  }
  step_soon();
}

}  // namespace lockstep::dra
