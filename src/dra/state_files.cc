#include "dra/state_files.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "world/descriptor.h"
#include "world/replace_file.h"
#include "world/system_error.h"

namespace lockstep::dra {

Result<void> SystemStateFiles::append(const std::string& path, std::string_view content) {
  const Descriptor file(open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  if (!file) return system_failure("write", path, errno);
  struct stat before{};
  if (fstat(file.get(), &before) != 0) return system_failure("write", path, errno);
  int error = write_all(file.get(), content);
  if (error == 0 && fdatasync(file.get()) != 0) error = errno;
  if (error == 0) return {};
  // Best effort: readers recognise a line that was cut off.
  if (ftruncate(file.get(), before.st_size) != 0) return system_failure("restore", path, errno);
  return system_failure("write", path, error);
}

Result<void> SystemStateFiles::write_unsynced(const std::string& path, std::string_view content,
                                              int mode) {
  return replace_file(path, path, content, mode, Durability::in_memory);
}

}  // namespace lockstep::dra
