#include "dra/state_files.h"

#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "world/descriptor.h"
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
  // Best effort: who reads it knows a line that was cut off.
  if (ftruncate(file.get(), before.st_size) != 0) return system_failure("restore", path, errno);
  return system_failure("write", path, error);
}

Result<void> SystemStateFiles::write_unsynced(const std::string& path, std::string_view content,
                                              int mode) {
  const size_t slash = path.rfind('/');
  std::string temporary =
      (slash == std::string::npos ? "." : path.substr(0, slash)) + "/.lockstep-XXXXXX";
  const Descriptor file(mkostemp(temporary.data(), O_CLOEXEC));
  if (!file) return system_failure("write", path, errno);
  int error = write_all(file.get(), content);
  if (error == 0 && fchmod(file.get(), static_cast<mode_t>(mode)) != 0) error = errno;
  if (error == 0 && rename(temporary.c_str(), path.c_str()) != 0) error = errno;
  if (error == 0) return {};
  unlink(temporary.c_str());
  return system_failure("write", path, error);
}

}  // namespace lockstep::dra
