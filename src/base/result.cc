#include "base/result.h"

namespace lockstep {

std::string_view to_string(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::invalid:
      return "invalid";
    case ErrorKind::not_found:
      return "not found";
    case ErrorKind::exists:
      return "exists already";
    case ErrorKind::conflict:
      return "conflict";
    case ErrorKind::unauthorized:
      return "unauthorized";
    case ErrorKind::forbidden:
      return "forbidden";
    case ErrorKind::expired:
      return "expired";
    case ErrorKind::throttled:
      return "throttled";
    case ErrorKind::too_large:
      return "too large";
    case ErrorKind::timed_out:
      return "timed out";
    case ErrorKind::unreachable:
      return "unreachable";
    case ErrorKind::cancelled:
      return "cancelled";
    case ErrorKind::unsupported:
      return "unsupported";
    case ErrorKind::internal:
      return "internal error";
  }
  return "unknown error";
}

std::string Error::text() const {
  if (place.empty()) return message;
  return fmt::format("{}: {}", place, message);
}

Error Error::at(std::string_view where) const {
  Error outer = *this;
  outer.place = place.empty() ? std::string(where) : fmt::format("{}: {}", where, place);
  return outer;
}

}  // namespace lockstep
