// A file descriptor with one owner, which closes it.
#pragma once

#include <cerrno>
#include <string_view>
#include <unistd.h>
#include <utility>

namespace lockstep {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) {
      close();
      number_ = std::exchange(other.number_, -1);
    }
    return *this;
  }
  ~Descriptor() { close(); }

  int get() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }
  // Now, for callers that must know whether it worked: network file systems report a full disk only
  // here. An errno, or 0.
  int close_now() { return ::close(std::exchange(number_, -1)) == 0 ? 0 : errno; }

 private:
  void close() const {
    if (number_ >= 0) ::close(number_);
  }

  int number_ = -1;
};

// An errno, or 0.
inline int write_all(int descriptor, std::string_view content) {
  while (!content.empty()) {
    const ssize_t count = write(descriptor, content.data(), content.size());
    if (count < 0 && errno != EINTR) return errno;
    if (count > 0) content.remove_prefix(static_cast<size_t>(count));
  }
  return 0;
}

}  // namespace lockstep
