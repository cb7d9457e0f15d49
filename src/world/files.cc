#include "world/files.h"

#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <climits>

#include "base/digest.h"
#include "world/descriptor.h"
#include "world/replace_file.h"
#include "world/system_error.h"

namespace lockstep {

namespace {

// Far above what we read (kubeconfigs, values, recipes); a device or a log by mistake is caught.
constexpr size_t size_limit = 256 << 20;

// Where the content lies: a symbolic link stays one, and what it points to is replaced.
std::string target_of(const std::string& path) {
  struct stat info{};
  if (lstat(path.c_str(), &info) != 0 || !S_ISLNK(info.st_mode)) return path;
  char* resolved = realpath(path.c_str(), nullptr);
  if (resolved == nullptr) return path;
  std::string target(resolved);
  free(resolved);
  return target;
}

// A device, a pipe, /dev/stdout: written to, never replaced.
Result<void> write_into(const std::string& target, const std::string& path,
                        std::string_view content) {
  const Descriptor file(open(target.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file) return system_failure("write", path, errno);
  const int error = write_all(file.get(), content);
  if (error != 0) return system_failure("write", path, error);
  return {};
}

}  // namespace

Result<std::string> SystemFiles::read(const std::string& path) const {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return system_failure("read", path, errno);
  std::string content;
  struct stat info{};
  if (fstat(file.get(), &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0) {
    content.reserve(std::min(static_cast<size_t>(info.st_size), size_limit));
  }
  char buffer[1 << 16];
  for (;;) {
    // Until the end, not by size: files of /proc and pipes have none.
    const ssize_t count = ::read(file.get(), buffer, sizeof buffer);
    if (count == 0) return content;
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return system_failure("read", path, errno);
    content.append(buffer, static_cast<size_t>(count));
    if (content.size() > size_limit) {
      return failf(ErrorKind::too_large, "cannot read {}: it is larger than {} bytes", path,
                   size_limit);
    }
  }
}

Result<void> SystemFiles::write(const std::string& path, std::string_view content, int mode) {
  const std::string target = target_of(path);
  struct stat info{};
  if (stat(target.c_str(), &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)) {
    return write_into(target, path, content);
  }
  return replace_file(target, path, content, mode, Durability::on_disk);
}

Result<void> SystemFiles::remove(const std::string& path) {
  if (unlink(path.c_str()) != 0) return system_failure("remove", path, errno);
  return {};
}

bool SystemFiles::exists(const std::string& path) const {
  struct stat info{};
  return stat(path.c_str(), &info) == 0;
}

Result<std::string> SystemFiles::fingerprint(const std::string& path) const {
  struct stat info{};
  if (stat(path.c_str(), &info) != 0) return system_failure("look at", path, errno);
  return fmt::format("{}-{}-{}-{}.{:09}", info.st_dev, info.st_ino, info.st_size,
                     info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
}

Result<std::string> MemoryFiles::read(const std::string& path) const {
  const auto found = contents.find(path);
  if (found == contents.end()) return system_failure("read", path, ENOENT);
  return found->second;
}

Result<void> MemoryFiles::write(const std::string& path, std::string_view content, int) {
  contents[path] = std::string(content);
  return {};
}

Result<void> MemoryFiles::remove(const std::string& path) {
  if (contents.erase(path) == 0) return system_failure("remove", path, ENOENT);
  return {};
}

bool MemoryFiles::exists(const std::string& path) const { return contents.contains(path); }

Result<std::string> MemoryFiles::fingerprint(const std::string& path) const {
  const auto found = contents.find(path);
  if (found == contents.end()) return system_failure("look at", path, ENOENT);
  Digest digest;
  digest.add(found->second);
  return digest.hex();
}

}  // namespace lockstep
