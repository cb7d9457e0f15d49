#include "http/client.h"

#include <exception>
#include <new>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <curl/curl.h>

#include "http/transfer.h"

namespace lockstep::http {

namespace {
// Handles keep their buffers; a handful is enough for the usual traffic.
constexpr size_t spare_handles = 64;
constexpr long kept_connections = 128;
}  // namespace

// Curl's callbacks only note what happened; handlers run after curl has returned, because they may
// do anything: start and cancel exchanges, or destroy all of this.
struct Client::Impl {
  explicit Impl(EventLoop& event_loop) : loop(event_loop) {
    curl_global_init(CURL_GLOBAL_DEFAULT);
    multi = curl_multi_init();
    if (multi == nullptr) throw std::bad_alloc();
    curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, on_socket);
    curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, this);
    curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, on_timer);
    curl_multi_setopt(multi, CURLMOPT_TIMERDATA, this);
    curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, kept_connections);
  }

  ~Impl() {
    for (auto& [id, transfer] : transfers) {
      transfer->over = true;
      detach(*transfer);
    }
    spare.clear();
    curl_multi_cleanup(multi);
    for (int descriptor : watched) loop.unwatch_descriptor(descriptor);
    loop.cancel(timer);
    curl_global_cleanup();
  }

  static int on_socket(CURL*, curl_socket_t descriptor, int what, void* context, void*) {
    auto* self = static_cast<Impl*>(context);
    if (what == CURL_POLL_REMOVE) {
      self->watched.erase(descriptor);
      self->loop.unwatch_descriptor(descriptor);
      return 0;
    }
    const bool read = what == CURL_POLL_IN || what == CURL_POLL_INOUT;
    const bool write = what == CURL_POLL_OUT || what == CURL_POLL_INOUT;
    try {
      self->loop.watch_descriptor(descriptor, read, write,
                                  [self, descriptor](EventLoop::Readiness readiness) {
                                    self->on_ready(descriptor, readiness);
                                  });
      self->watched.insert(descriptor);
    } catch (const std::exception&) {
      return -1;  // an exception must not pass through curl's frames
    }
    return 0;
  }

  static int on_timer(CURLM*, long delay, void* context) {
    auto* self = static_cast<Impl*>(context);
    self->loop.cancel(self->timer);
    self->timer = 0;
    if (delay < 0) return 0;
    self->timer = self->loop.after(milliseconds(delay), [self] {
      self->timer = 0;
      self->act(CURL_SOCKET_TIMEOUT, 0);
    });
    return 0;
  }

  void on_ready(int descriptor, EventLoop::Readiness readiness) {
    int mask = 0;
    if (readiness.readable) mask |= CURL_CSELECT_IN;
    if (readiness.writable) mask |= CURL_CSELECT_OUT;
    if (readiness.error) mask |= CURL_CSELECT_ERR;
    act(descriptor, mask);
  }

  void act(curl_socket_t descriptor, int mask) {
    int running = 0;
    curl_multi_socket_action(multi, descriptor, mask, &running);
    collect_finished();
    deliver();
  }

  void collect_finished() {
    int left = 0;
    while (const CURLMsg* message = curl_multi_info_read(multi, &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      char* context = nullptr;
      curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &context);
      auto& transfer = *reinterpret_cast<Transfer*>(context);  // NOLINT
      transfer.finish(message->data.result);
      detach(transfer);
      transfer.enqueue();
    }
  }

  // Hands on what arrived. After every handler we may be gone.
  void deliver() {
    const std::weak_ptr<char> here = alive;
    while (!queue.empty()) {
      const std::shared_ptr<Transfer> transfer = std::move(queue.front());
      queue.pop_front();
      transfer->queued = false;
      if (!transfer->over && !transfer->arrived.empty()) {
        const std::string bytes = std::exchange(transfer->arrived, {});
        transfer->handlers.on_body(bytes);
        if (here.expired()) return;
      }
      if (transfer->over || !transfer->result) continue;
      transfer->over = true;
      transfers.erase(transfer->id);
      transfer->handlers.on_done(std::move(*transfer->result));
      if (here.expired()) return;
    }
  }

  // Takes the transfer's handle back from curl and keeps it for the next one.
  void detach(Transfer& transfer) {
    if (!transfer.easy) return;
    curl_multi_remove_handle(multi, transfer.easy.get());
    if (spare.size() < spare_handles) {
      curl_easy_reset(transfer.easy.get());
      spare.push_back(std::move(transfer.easy));
    }
    transfer.easy.reset();
  }

  void begin(Transfer& transfer) {
    if (spare.empty()) {
      transfer.easy.reset(curl_easy_init());
      if (!transfer.easy) throw std::bad_alloc();
    } else {
      transfer.easy = std::move(spare.back());
      spare.pop_back();
    }
    transfer.queue = &queue;
    transfer.configure();
    const CURLMcode code = curl_multi_add_handle(multi, transfer.easy.get());
    if (code == CURLM_OK) return;
    transfer.result = fail(ErrorKind::internal, curl_multi_strerror(code));
    transfer.enqueue();
    loop.post([this, here = std::weak_ptr<char>(alive)] {
      if (!here.expired()) deliver();
    });
  }

  EventLoop& loop;
  CURLM* multi = nullptr;
  TimerId timer = 0;
  std::unordered_set<int> watched;
  Id next_id = 1;
  std::unordered_map<Id, std::shared_ptr<Transfer>> transfers;
  Transfer::Queue queue;
  std::vector<EasyHandle> spare;
  std::shared_ptr<char> alive = std::make_shared<char>();
};

Client::Client(EventLoop& loop) : impl_(std::make_unique<Impl>(loop)) {}

Client::~Client() = default;

Client::Id Client::start(const Route& route, Exchange exchange, Handlers handlers) {
  auto transfer = std::make_shared<Transfer>();
  transfer->id = impl_->next_id++;
  transfer->route = route;
  transfer->exchange = std::move(exchange);
  transfer->handlers = std::move(handlers);
  impl_->transfers.emplace(transfer->id, transfer);
  impl_->begin(*transfer);
  return transfer->id;
}

void Client::cancel(Id id) {
  const auto transfer = impl_->transfers.extract(id);
  if (transfer.empty()) return;
  transfer.mapped()->over = true;
  impl_->detach(*transfer.mapped());
}

Client::Progress Client::progress(Id id) const {
  const auto found = impl_->transfers.find(id);
  return found == impl_->transfers.end() ? Progress::receiving : found->second->progress();
}

}  // namespace lockstep::http
