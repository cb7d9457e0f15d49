#include "data/gzip.h"

#include <new>

#include <zlib.h>

namespace lockstep {

namespace {
constexpr int gzip_window = 15 + 16;  // zlib's way to ask for a gzip header

Bytef* bytes_of(std::string_view text) {
  return reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));  // NOLINT: zlib only reads it
}
}  // namespace

struct Gzip::State {
  z_stream stream{};
};

Gzip::Gzip(int level) : state_(std::make_unique<State>()) {
  if (deflateInit2(&state_->stream, level, Z_DEFLATED, gzip_window, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::bad_alloc();
}

Gzip::~Gzip() { deflateEnd(&state_->stream); }

std::string Gzip::add(std::string_view piece, bool last) {
  std::string out;
  z_stream& stream = state_->stream;
  stream.next_in = bytes_of(piece);
  stream.avail_in = static_cast<uInt>(piece.size());
  char buffer[64 << 10];
  do {
    stream.next_out = reinterpret_cast<Bytef*>(buffer);
    stream.avail_out = sizeof buffer;
    deflate(&stream, last ? Z_FINISH : Z_NO_FLUSH);
    out.append(buffer, sizeof buffer - stream.avail_out);
  } while (stream.avail_out == 0);
  return out;
}

Result<std::string> gunzip(std::string_view compressed, size_t limit) {
  z_stream stream{};
  if (inflateInit2(&stream, gzip_window) != Z_OK) throw std::bad_alloc();
  const std::unique_ptr<z_stream, decltype(&inflateEnd)> end(&stream, &inflateEnd);
  stream.next_in = bytes_of(compressed);
  stream.avail_in = static_cast<uInt>(compressed.size());
  std::string out;
  char buffer[64 << 10];
  for (;;) {
    stream.next_out = reinterpret_cast<Bytef*>(buffer);
    stream.avail_out = sizeof buffer;
    const int code = inflate(&stream, Z_NO_FLUSH);
    if (code != Z_OK && code != Z_STREAM_END) {
      return failf(ErrorKind::invalid, "not a whole gzip text: {}",
                   stream.msg != nullptr ? stream.msg : "it ends too early");
    }
    out.append(buffer, sizeof buffer - stream.avail_out);
    if (out.size() > limit) {
      return failf(ErrorKind::too_large, "a gzip text of more than {} bytes", limit);
    }
    if (code == Z_STREAM_END) break;
  }
  if (stream.avail_in != 0) return fail(ErrorKind::invalid, "something follows the gzip text");
  return out;
}

}  // namespace lockstep
