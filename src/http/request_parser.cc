#include "http/request_parser.h"

#include <algorithm>
#include <memory>

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>

#include "base/strings.h"

namespace lockstep::http {

namespace {

namespace beast = boost::beast;
using ParserError = beast::error_code;

constexpr size_t smallest_chunk = 5;
constexpr size_t most_reserved = 64 << 10;

std::string_view view(beast::string_view text) { return {text.data(), text.size()}; }

}  // namespace

struct RequestParser::Impl {
  class BeastParser final : public beast::http::basic_parser<true> {
   public:
    Request request;
    bool is_http_1_0 = false;

   private:
    void on_request_impl(beast::http::verb, beast::string_view method, beast::string_view target,
                         int version, ParserError&) override {
      constexpr int version_1_0 = 10;
      request.method = view(method);
      request.target = view(target);
      is_http_1_0 = version == version_1_0;
    }
    void on_field_impl(beast::http::field, beast::string_view name, beast::string_view value,
                       ParserError&) override {
      // Fields after a chunked body come after the header was checked.
      if (is_header_done()) return;
      request.headers.emplace_back(lower(view(name)), view(value));
    }
    void on_header_impl(ParserError&) override {}
    void on_body_init_impl(const boost::optional<std::uint64_t>& length, ParserError&) override {
      if (length) request.body.reserve(std::min<size_t>(*length, most_reserved));
    }
    size_t on_body_impl(beast::string_view text, ParserError&) override {
      request.body.append(text.data(), text.size());
      return text.size();
    }
    void on_chunk_header_impl(std::uint64_t, beast::string_view, ParserError&) override {}
    size_t on_chunk_body_impl(std::uint64_t, beast::string_view text, ParserError&) override {
      request.body.append(text.data(), text.size());
      return text.size();
    }
    void on_response_impl(int, beast::string_view, int, ParserError&) override {}
    void on_finish_impl(ParserError&) override {}
  };

  explicit Impl(Limits limits_in) : limits(limits_in) {}

  void refuse(int code, std::string_view reason) {
    refusal = code;
    why = reason;
  }
  void refuse(const ParserError& problem) {
    if (problem == beast::http::error::body_limit) {
      refuse(413, "the request's body is too large");
    } else if (problem == beast::http::error::header_limit) {
      refuse(431, "the request's head is too large");
    } else if (problem == beast::http::error::bad_version) {
      refuse(505, "only HTTP/1.0 and HTTP/1.1 are spoken");
    } else {
      refuse(400, problem.message());
    }
  }

  // What Beast leaves to its users.
  void check_head() {
    const Request& request = parser->request;
    const auto hosts = std::count_if(request.headers.begin(), request.headers.end(),
                                     [](const auto& each) { return each.first == "host"; });
    if (hosts > 1 || (hosts == 0 && !parser->is_http_1_0)) {
      return refuse(400, "exactly one Host is needed");
    }
    const std::string_view path = request.path();
    if (path.empty() || path.front() != '/') return refuse(400, "the path must begin with /");
    const bool has_encoding =
        std::any_of(request.headers.begin(), request.headers.end(),
                    [](const auto& each) { return each.first == "transfer-encoding"; });
    // Where its body ends would be a guess.
    if (has_encoding && (!parser->chunked() || parser->is_http_1_0)) {
      refuse(400, "the Transfer-Encoding is not supported");
    }
  }

  Limits limits;
  std::unique_ptr<BeastParser> parser;
  size_t head_bytes = 0;
  int refusal = 0;
  std::string why;
};

RequestParser::RequestParser(Limits limits) : impl_(std::make_unique<Impl>(limits)) { reset(); }
RequestParser::~RequestParser() = default;
RequestParser::RequestParser(RequestParser&&) noexcept = default;

void RequestParser::reset() {
  impl_->parser = std::make_unique<Impl::BeastParser>();
  impl_->parser->body_limit(impl_->limits.body);
  impl_->parser->header_limit(static_cast<std::uint32_t>(impl_->limits.head));
  impl_->head_bytes = 0;
  impl_->refusal = 0;
}

size_t RequestParser::take(std::string_view text) {
  auto& parser = *impl_->parser;
  size_t taken = 0;
  while (impl_->refusal == 0 && !parser.is_done() && taken < text.size()) {
    const bool had_head = parser.is_header_done();
    // Beast takes for granted that the last chunk, "0\r\n\r\n" at least, does not come in less.
    if (had_head && parser.chunked() && text.size() - taken < smallest_chunk) break;
    ParserError error;
    const size_t size = parser.put({text.data() + taken, text.size() - taken}, error);
    taken += size;
    if (!had_head) {
      // Beast's own limit begins again with every field that it has taken.
      impl_->head_bytes += size;
      const size_t rest = parser.is_header_done() ? 0 : text.size() - taken;
      if (impl_->head_bytes + rest > impl_->limits.head) {
        impl_->refuse(beast::http::make_error_code(beast::http::error::header_limit));
        break;
      }
    }
    if (error == beast::http::error::need_more) {
      // A line between chunks that does not end.
      if (text.size() - taken > impl_->limits.head) {
        impl_->refuse(400, "a chunk's head is too large");
      }
      break;
    }
    if (error) {
      impl_->refuse(error);
      break;
    }
    if (!had_head && parser.is_header_done()) impl_->check_head();
  }
  return taken;
}

bool RequestParser::has_begun() const { return impl_->parser->got_some(); }
bool RequestParser::is_done() const { return impl_->refusal == 0 && impl_->parser->is_done(); }
int RequestParser::refusal() const { return impl_->refusal; }
std::string_view RequestParser::why() const { return impl_->why; }
bool RequestParser::keeps_alive() const { return impl_->parser->keep_alive(); }
bool RequestParser::is_http_1_0() const { return impl_->parser->is_http_1_0; }
Request RequestParser::take_request() { return std::move(impl_->parser->request); }

}  // namespace lockstep::http
