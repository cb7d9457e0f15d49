// A body, compressed piece by piece.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace lockstep::apiserver {

class Gzip {
 public:
  Gzip();
  ~Gzip();
  Gzip(const Gzip&) = delete;
  Gzip& operator=(const Gzip&) = delete;

  // What is ready of the compressed text after this piece; all of it once `last`.
  std::string add(std::string_view piece, bool last);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lockstep::apiserver
