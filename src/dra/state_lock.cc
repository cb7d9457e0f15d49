#include "dra/state_lock.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/file.h>
#include <system_error>

namespace lockstep::dra {

Result<FileLock> FileLock::open(const std::string& path) {
  constexpr mode_t owner_only = 0600;
  Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, owner_only));
  if (!file) {
    return fail(ErrorKind::internal, "cannot open: " + std::generic_category().message(errno),
                path);
  }
  return FileLock(std::move(file));
}

bool FileLock::try_lock() { return flock(file_.get(), LOCK_EX | LOCK_NB) == 0; }

void FileLock::unlock() { flock(file_.get(), LOCK_UN); }

}  // namespace lockstep::dra
