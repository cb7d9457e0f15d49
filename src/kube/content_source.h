// A secret or certificate that is given as it is or as a file that may change under our feet.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "world/files.h"
#include "world/loop.h"

namespace lockstep::kube {

class ContentSource {
 public:
  // `data` wins over `file`; both empty: there is nothing, and read() gives a null pointer.
  ContentSource(const Files& files, const Loop& loop, std::string data, std::string file);

  // Read again when the file's fingerprint changed, when the last reading is a minute old, and
  // after forget(). When that fails the last good content stays: a file that is being replaced is
  // missing for an instant.
  Result<std::shared_ptr<const std::string>> read();
  void forget() { forgotten_ = true; }
  bool is_file() const { return !file_.empty(); }

 private:
  const Files& files_;
  const Loop& loop_;
  std::string file_;
  std::shared_ptr<const std::string> content_;
  std::string fingerprint_;
  Duration read_at_{0};
  bool forgotten_ = true;
};

}  // namespace lockstep::kube
