#include "apiserver/gzip.h"

#include <new>

#include <zlib.h>

namespace lockstep::apiserver {

struct Gzip::State {
  z_stream stream{};
};

Gzip::Gzip() : state_(std::make_unique<State>()) {
  constexpr int gzip_window = 15 + 16;  // zlib's way to ask for a gzip header
  if (deflateInit2(&state_->stream, 1, Z_DEFLATED, gzip_window, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::bad_alloc();
}

Gzip::~Gzip() { deflateEnd(&state_->stream); }

std::string Gzip::add(std::string_view piece, bool last) {
  std::string out;
  z_stream& stream = state_->stream;
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(piece.data()));
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

}  // namespace lockstep::apiserver
