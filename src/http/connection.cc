#include "http/connection.h"

#include <algorithm>
#include <cerrno>
#include <exception>
#include <sys/socket.h>
#include <utility>

#include <fmt/format.h>

namespace lockstep::http {

namespace {

constexpr size_t gzip_threshold = 128 << 10;
// What one turn of the loop does for a connection, so that the others get theirs.
constexpr int requests_a_turn = 16;
constexpr int pieces_a_turn = 4;
constexpr int reads_a_turn = 4;
constexpr std::string_view last_chunk = "0\r\n\r\n";
constexpr Duration goodbye_limit = seconds(10);

}  // namespace

Connection::Connection(ConnectionHost& host, uint64_t number, Descriptor socket,
                       std::string address, const TlsContext* tls)
    : host_(host),
      number_(number),
      socket_(std::move(socket)),
      address_(std::move(address)),
      phase_(tls == nullptr ? Phase::reading : Phase::handshake),
      parser_({host.options().head_bytes, host.options().body_bytes}) {
  if (tls != nullptr) tls_ = std::make_unique<TlsSession>(*tls, socket_.get());
}

Connection::~Connection() = default;

template <typename Task>
auto Connection::guard(Task task) {
  return [weak = weak_from_this(), task = std::move(task)](auto&&... rest) {
    const auto self = weak.lock();
    if (self && self->phase_ != Phase::closed) task(std::forward<decltype(rest)>(rest)...);
  };
}

void Connection::start() {
  const ServerOptions& options = host_.options();
  arm(tls_ || !options.keep_alive ? options.request_limit : options.idle_limit);
  wait_for(true, false);
}

void Connection::close() {
  if (phase_ == Phase::closed) return;
  const auto self = shared_from_this();
  if (stream_) {
    account(0);
    host_.count_stream(-1);
  }
  phase_ = Phase::closed;
  host_.loop().cancel(timer_);
  host_.loop().unwatch_descriptor(socket_.get());
  socket_ = Descriptor();
  stream_.reset();
  more_ = nullptr;
  host_.forget(number_);
}

bool Connection::is_idle() const {
  return phase_ == Phase::handshake || phase_ == Phase::reading || phase_ == Phase::ending;
}

bool Connection::is_stuck() const { return phase_ == Phase::writing && is_blocked_; }

// ------------------------------------------------------------------------------ time and loop

void Connection::arm(Duration limit) {
  deadline_ = host_.loop().uptime() + limit;
  if (timer_ == 0 || timer_due_ > deadline_) set_timer(deadline_);
}

// One timer follows the deadline: a request that is answered in time sets none.
void Connection::set_timer(Duration due) {
  EventLoop& loop = host_.loop();
  loop.cancel(timer_);
  timer_due_ = due;
  timer_ = loop.after(due - loop.uptime(), guard([this] {
                        timer_ = 0;
                        if (host_.loop().uptime() >= deadline_) return close();
                        if (deadline_ != Duration::max()) set_timer(deadline_);
                      }));
}

void Connection::wait_for(bool read, bool write) {
  if (read == reads_ && write == writes_) return;
  reads_ = read;
  writes_ = write;
  host_.loop().watch_descriptor(socket_.get(), read, write,
                                guard([this](EventLoop::Readiness ready) { on_ready(ready); }));
}

void Connection::update_interest() {
  if (phase_ == Phase::closed || phase_ == Phase::handshake) return;
  // What a client says ahead of its answers waits in the socket, but for one head of it.
  const bool has_room = input_.size() < host_.options().head_bytes;
  const bool reads = !input_ended_ && (has_room || phase_ == Phase::reading);
  wait_for(reads, is_blocked_ || (tls_ && tls_->wants_write()));
}

void Connection::on_ready(EventLoop::Readiness ready) {
  if (phase_ == Phase::handshake) return shake_hands();
  // TLS may have to read before it can write, and the other way round.
  if (is_blocked_ && (ready.writable || tls_)) {
    flush();
    if (phase_ == Phase::closed) return;
  }
  if (ready.readable || tls_) receive();
  update_interest();
}

void Connection::shake_hands() {
  switch (tls_->handshake()) {
    case TlsSession::Progress::wants_read:
      return wait_for(true, false);
    case TlsSession::Progress::wants_write:
      return wait_for(false, true);
    case TlsSession::Progress::failed:
      return close();
    case TlsSession::Progress::done:
      break;
  }
  certificate_ = tls_->certificate();
  phase_ = Phase::reading;
  receive();
  update_interest();
}

// ------------------------------------------------------------------------------------- reading

void Connection::receive() {
  auto& buffer = host_.buffer();
  for (int turn = 0; turn < reads_a_turn; ++turn) {
    if (input_ended_) return;
    const ssize_t size = tls_ ? tls_->read(buffer.data(), buffer.size())
                              : recv(socket_.get(), buffer.data(), buffer.size(), 0);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (size < 0) return close();
    if (size == 0) return on_end_of_input();
    take({buffer.data(), static_cast<size_t>(size)});
    if (phase_ == Phase::closed) return;
    // The loop says when there is more; of TLS it does not know.
    if (!tls_) return;
    if (phase_ != Phase::reading && input_.size() >= host_.options().head_bytes) return;
  }
  host_.loop().post(guard([this] {
    receive();
    update_interest();
  }));
}

void Connection::take(std::string_view text) {
  if (phase_ != Phase::reading || taking_) return keep(text);
  std::string joined;
  if (!input_.empty()) {
    joined = std::exchange(input_, {});
    joined += text;
    text = joined;
  }
  taking_ = true;
  int requests = 0;
  while (phase_ == Phase::reading && !text.empty() && requests < requests_a_turn) {
    if (!parser_.has_begun()) arm(host_.options().request_limit);
    text.remove_prefix(parser_.take(text));
    if (parser_.refusal() != 0) {
      refuse(parser_.refusal(), parser_.why());
    } else if (parser_.is_done()) {
      ++requests;
      handle(parser_.take_request());
    } else {
      break;
    }
  }
  taking_ = false;
  if (phase_ == Phase::reading && text.size() == joined.size()) {
    input_ = std::move(joined);
  } else {
    keep(text);
  }
  if (requests == requests_a_turn) go_on();
}

// For when the answer of now is sent; what no answer will follow is thrown away.
void Connection::keep(std::string_view text) {
  const bool is_answering =
      phase_ == Phase::answering || phase_ == Phase::writing || phase_ == Phase::pausing;
  if (phase_ == Phase::reading || (keep_alive_ && is_answering)) input_.append(text);
}

// The next turn of the loop reads the rest of the input.
void Connection::go_on() {
  if (phase_ != Phase::reading || (input_.empty() && !tls_)) return;
  host_.loop().post(guard([this] {
    if (phase_ != Phase::reading) return;
    take({});
    // The loop does not know of what TLS has read already.
    if (tls_ && phase_ != Phase::closed) receive();
    update_interest();
  }));
}

void Connection::on_end_of_input() {
  input_ended_ = true;
  // It may still read: what it asked for last is sent.
  const bool has_answer = phase_ == Phase::writing || phase_ == Phase::pausing;
  if (!has_answer) return close();
  keep_alive_ = false;
}

void Connection::refuse(int code, std::string_view why) {
  phase_ = Phase::answering;
  is_head_ = false;
  is_http_1_0_ = false;
  keep_alive_ = false;
  accepts_gzip_ = false;
  answer(++request_, host_.options().refuse(code, why));
}

void Connection::handle(Request request) {
  phase_ = Phase::answering;
  const ServerOptions& options = host_.options();
  keep_alive_ = options.keep_alive && parser_.keeps_alive();
  is_http_1_0_ = parser_.is_http_1_0();
  is_head_ = request.method == "HEAD";
  accepts_gzip_ = options.gzip && request.accepts_gzip();
  request.certificate = certificate_;
  if (options.answer_limit > Duration(0)) {
    arm(options.answer_limit);
  } else {
    disarm();
  }
  const uint64_t number = ++request_;
  const std::string path(request.path());
  const auto respond = [weak = weak_from_this(), number](Answer found) {
    const auto self = weak.lock();
    if (self) self->answer(number, std::move(found));
  };
  try {
    host_.handler()(std::move(request), respond);
  } catch (const std::exception& problem) {
    // A bug of ours must affect only the request that met it.
    host_.log().error("a request failed", {{"path", path}, {"error", problem.what()}});
    answer(number, options.refuse(500, {}));
  }
}

// ------------------------------------------------------------------------------------- writing

void Connection::answer(uint64_t request, Answer answer) {
  if (phase_ != Phase::answering || request != request_) return;
  phase_ = Phase::writing;
  const auto self = shared_from_this();
  begin_answer(std::move(answer));
  update_interest();
}

std::string Connection::head_of(const Answer& answer, bool has_gzip,
                                std::optional<size_t> length) const {
  std::string text;
  text.reserve(512);
  fmt::format_to(std::back_inserter(text), "HTTP/1.1 {} {}\r\nDate: {}\r\nContent-Type: {}\r\n",
                 answer.code, phrase_of(answer.code), host_.date(), answer.content_type);
  for (const Headers* headers : {&host_.options().headers, &answer.headers}) {
    for (const auto& [name, value] : *headers) {
      fmt::format_to(std::back_inserter(text), "{}: {}\r\n", name, value);
    }
  }
  if (has_gzip) text += "Content-Encoding: gzip\r\n";
  if (!keep_alive_) {
    text += "Connection: close\r\n";
  } else if (is_http_1_0_) {
    text += "Connection: keep-alive\r\n";
  }
  const bool has_body = answer.code != 204 && answer.code != 304;
  if (!length && !is_http_1_0_) {
    text += "Transfer-Encoding: chunked\r\n";
  } else if (length && has_body) {
    fmt::format_to(std::back_inserter(text), "Content-Length: {}\r\n", *length);
  }
  text += "\r\n";
  return text;
}

void Connection::begin_answer(Answer answer) {
  if (answer.stream) return begin_stream(std::move(answer));
  if (answer.more && is_http_1_0_) {
    // HTTP/1.0 has no chunks.
    while (answer.more(answer.body)) {
    }
    answer.more = nullptr;
  }
  const bool has_gzip = accepts_gzip_ && (answer.more || answer.body.size() > gzip_threshold);
  arm(host_.options().write_limit);
  if (answer.more) {
    out_.head = head_of(answer, has_gzip, std::nullopt);
    if (!is_head_) {
      if (has_gzip) gzip_ = std::make_unique<Gzip>();
      more_ = std::move(answer.more);
      pause_ = answer.pause;
      return next_piece();
    }
  } else {
    if (has_gzip) answer.body = Gzip().add(answer.body, true);
    out_.head = head_of(answer, has_gzip, answer.body.size());
    if (!is_head_) out_.body = std::move(answer.body);
  }
  flush();
}

void Connection::flush() {
  const Outgoing::Written written = out_.write(socket_.get(), tls_.get());
  if (written == Outgoing::Written::failed) return close();
  is_blocked_ = written == Outgoing::Written::some;
  if (!is_blocked_) on_written();
}

// The text of the chunk is still to be set.
void Connection::begin_chunk(size_t size, bool is_last) {
  fmt::format_to(std::back_inserter(out_.head), "{:x}\r\n", size);
  out_.tail = is_last ? "\r\n0\r\n\r\n" : "\r\n";
}

void Connection::on_written() {
  if (phase_ == Phase::streaming) {
    account(stream_->held());
    disarm();
    if (is_last_) return end();
    // Not from here: a client that reads fast would have us to itself.
    host_.loop().post(guard([this] {
      pump();
      update_interest();
    }));
    return;
  }
  if (!more_) return finish();
  phase_ = Phase::pausing;
  disarm();
  auto go = guard([this] {
    if (phase_ != Phase::pausing) return;
    phase_ = Phase::writing;
    arm(host_.options().write_limit);
    next_piece();
    update_interest();
  });
  if (pause_ > Duration(0)) {
    host_.loop().after(pause_, std::move(go));
  } else {
    host_.loop().post(std::move(go));
  }
}

// A long body, a piece at a time: the next is made when the last was taken.
void Connection::next_piece() {
  std::string piece;
  bool has_more = true;
  while (has_more && piece.empty()) {
    has_more = more_(piece);
    if (gzip_) piece = gzip_->add(piece, !has_more);
  }
  if (!piece.empty()) {
    begin_chunk(piece.size(), !has_more);
    out_.body = std::move(piece);
  } else {
    out_.tail = last_chunk;
  }
  if (!has_more) {
    more_ = nullptr;
    gzip_.reset();
  }
  flush();
}

void Connection::finish() {
  if (!keep_alive_) return end();
  phase_ = Phase::reading;
  parser_.reset();
  arm(host_.options().idle_limit);
  if (!taking_) go_on();
}

void Connection::end() {
  if (stream_) {
    account(0);
    host_.count_stream(-1);
    stream_.reset();
  }
  std::string().swap(input_);
  if (tls_) tls_->say_goodbye();
  if (input_ended_ || shutdown(socket_.get(), SHUT_WR) != 0) return close();
  phase_ = Phase::ending;
  arm(std::min(host_.options().request_limit, goodbye_limit));
}

// ------------------------------------------------------------------------------------- streams

void Connection::begin_stream(Answer answer) {
  keep_alive_ = false;
  out_.head = head_of(answer, false, std::nullopt);
  arm(host_.options().write_limit);
  if (is_head_) return flush();
  if (!answer.body.empty() && !is_http_1_0_) begin_chunk(answer.body.size(), false);
  out_.body = std::move(answer.body);
  phase_ = Phase::streaming;
  stream_ = std::move(answer.stream);
  host_.count_stream(1);
  stream_->on_wake(guard([this] {
    pump();
    update_interest();
  }));
  account(stream_->held());
  flush();
}

void Connection::account(size_t bytes) {
  if (bytes == accounted_) return;
  accounted_ = bytes;
  host_.account(number_, bytes);
}

// Sends what the stream has, if nothing is on its way.
void Connection::pump() {
  if (phase_ != Phase::streaming || is_blocked_ || is_last_) return;
  for (int turn = 0; turn < pieces_a_turn; ++turn) {
    Stream::Piece piece = stream_->next();
    is_last_ = piece.is_last;
    if (!piece.text && !piece.is_last) {
      if (!piece.again) return;
      break;
    }
    if (is_http_1_0_) {
      out_.shared = std::move(piece.text);
    } else if (piece.text) {
      begin_chunk(piece.text->size(), is_last_);
      out_.shared = std::move(piece.text);
    } else {
      out_.tail = last_chunk;
    }
    const Outgoing::Written written = out_.write(socket_.get(), tls_.get());
    if (written == Outgoing::Written::failed) return close();
    if (written == Outgoing::Written::some) {
      is_blocked_ = true;
      arm(host_.options().write_limit);
      return account(stream_->held() + out_.shared_size());
    }
    account(stream_->held());
    if (is_last_) return end();
  }
  host_.loop().post(guard([this] {
    pump();
    update_interest();
  }));
}

}  // namespace lockstep::http
