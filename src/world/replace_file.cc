#include "world/replace_file.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "world/descriptor.h"
#include "world/system_error.h"

namespace lockstep {

namespace {

std::string directory_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

Result<void> replace_file(const std::string& target, const std::string& name,
                          std::string_view content, int mode, Durability durability) {
  const bool waits = durability == Durability::on_disk;
  // In the same directory, hence in the same file system: rename replaces in one step.
  const std::string directory = directory_of(target);
  std::string temporary = directory + "/.lockstep-XXXXXX";
  const Descriptor file(mkostemp(temporary.data(), O_CLOEXEC));
  if (!file) return system_failure("write", name, errno);

  int error = write_all(file.get(), content);
  if (error == 0 && fchmod(file.get(), static_cast<mode_t>(mode)) != 0) error = errno;
  if (error == 0 && waits && fsync(file.get()) != 0) error = errno;
  if (error == 0 && rename(temporary.c_str(), target.c_str()) != 0) error = errno;
  if (error != 0) {
    unlink(temporary.c_str());
    return system_failure("write", name, error);
  }
  if (!waits) return {};
  // The new name is on disk only once the directory is. It is in place already, so a file system
  // that cannot do this causes no failure.
  const Descriptor parent(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (parent) fsync(parent.get());
  return {};
}

}  // namespace lockstep
