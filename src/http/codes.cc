#include "http/codes.h"

namespace lockstep::http {

ErrorKind kind_of_code(int code) {
  switch (code) {
    case 401:
      return ErrorKind::unauthorized;
    case 403:
      return ErrorKind::forbidden;
    case 404:
      return ErrorKind::not_found;
    case 405:
    case 406:
    case 415:
    case 501:
      return ErrorKind::unsupported;
    case 408:
    case 504:
      return ErrorKind::timed_out;
    case 409:
      return ErrorKind::conflict;
    case 410:
      return ErrorKind::expired;
    case 413:
      return ErrorKind::too_large;
    case 429:
      return ErrorKind::throttled;
    case 502:
    case 503:
      return ErrorKind::unreachable;
    default:
      return code >= 500 ? ErrorKind::internal : ErrorKind::invalid;
  }
}

int code_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::invalid:
      return 400;
    case ErrorKind::unauthorized:
      return 401;
    case ErrorKind::forbidden:
      return 403;
    case ErrorKind::not_found:
      return 404;
    case ErrorKind::conflict:
      return 409;
    default:
      return 502;
  }
}

}  // namespace lockstep::http
