#include "controller/notes_publisher.h"

#include <utility>

#include "kube/typed.h"
#include "objects/decode.h"

namespace lockstep::controller {

namespace {

// Many changes of one moment are one write.
constexpr Duration soon = seconds(1);

}  // namespace

NotesPublisher::NotesPublisher(kube::Api& api, Loop& loop, Random& random, Log& log, ObjectKey key,
                               Collect collect)
    : api_(api),
      loop_(loop),
      log_(log),
      key_(std::move(key)),
      collect_(std::move(collect)),
      backoff_(kube::BackoffPolicy{seconds(1), seconds(30), 2.0, 0.5}, random) {}

void NotesPublisher::lead() {
  leading_ = true;
  published_.reset();
  look();
}

void NotesPublisher::follow() { leading_ = false; }

void NotesPublisher::look() {
  if (!leading_) return;
  if (busy_) {
    again_ = true;
    return;
  }
  if (std::exchange(due_, true)) return;
  loop_.after(soon, scope_.bind([this] {
    due_ = false;
    work();
  }));
}

void NotesPublisher::work() {
  if (!leading_ || busy_) return;
  if (!published_) return read();
  view::ControllerNotes notes = collect_();
  if (!view::is_about_same(notes, *published_)) write(std::move(notes));
}

void NotesPublisher::read() {
  busy_ = true;
  api_.call(kube::get(resource::config_maps, key_), scope_.bind([this](kube::Reply reply) {
    if (reply && reply->code == 404) {
      exists_ = false;
      published_ = view::ControllerNotes{};
      return end(true);
    }
    auto document = kube::document_of(std::move(reply));
    if (!document) {
      log_.warning("the controller's notes cannot be read",
                   {{"object", key_.text()}, {"error", document.error().text()}});
      return end(false);
    }
    exists_ = true;
    DecodeContext context;
    auto map = decode_object<ConfigMap>(**document, context);
    published_ = map ? view::ControllerNotes::from_map(*map) : view::ControllerNotes{};
    end(true);
  }));
}

void NotesPublisher::write(view::ControllerNotes notes) {
  busy_ = true;
  Json body = notes.to_json(key_);
  kube::Request request = exists_ ? kube::update(resource::config_maps, key_, std::move(body))
                                  : kube::create(resource::config_maps, key_.ns, std::move(body));
  api_.call(std::move(request),
            scope_.bind([this, notes = std::move(notes)](kube::Reply reply) mutable {
              const bool ok = reply && reply->ok();
              if (ok) {
                exists_ = true;
                published_ = std::move(notes);
              } else {
                // It was made or removed by another, or what became of it is not known.
                published_.reset();
                log_.warning("the controller's notes cannot be written",
                             {{"object", key_.text()},
                              {"error", (reply ? reply->error() : reply.error()).text()}});
              }
              end(ok);
            }));
}

void NotesPublisher::end(bool ok) {
  busy_ = false;
  const bool again = std::exchange(again_, false);
  if (ok) {
    backoff_.reset();
    // Right after a read nothing has been compared yet.
    if (again || published_) look();
    return;
  }
  due_ = true;
  loop_.after(backoff_.next(), scope_.bind([this] {
    due_ = false;
    work();
  }));
}

}  // namespace lockstep::controller
