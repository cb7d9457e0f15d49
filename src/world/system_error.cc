#include "world/system_error.h"

#include <cerrno>
#include <system_error>

namespace lockstep {

ErrorKind kind_of_system_error(int number) {
  switch (number) {
    case ENOENT:
    case ENOTDIR:
      return ErrorKind::not_found;
    case EACCES:
    case EPERM:
    case EROFS:
      return ErrorKind::forbidden;
    case EEXIST:
      return ErrorKind::exists;
    case EISDIR:
    case ENAMETOOLONG:
    case ELOOP:
    case EINVAL:
      return ErrorKind::invalid;
    default:
      return ErrorKind::internal;
  }
}

Unexpected system_failure(std::string_view what, std::string_view path, int number) {
  return failf(kind_of_system_error(number), "cannot {} {}: {}", what, path,
               std::generic_category().message(number));
}

}  // namespace lockstep
