#include "world/output_folder.h"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "base/strings.h"
#include "world/directories.h"
#include "world/replace_file.h"
#include "world/system_error.h"

namespace lockstep {

namespace {

constexpr size_t largest_file = 256 << 20;

Unexpected link_in_the_way(const std::string& path) {
  return failf(ErrorKind::invalid,
               "cannot write {}: it is a symbolic link, and what it leads to would be overwritten; "
               "remove the link, or choose another place",
               path);
}

bool is_link(int directory, const std::string& name) {
  struct stat info{};
  return fstatat(directory, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(info.st_mode);
}

// Under a name of its own; rename then replaces whatever is there, a link itself too.
int replace_in(int directory, const std::string& name, std::string_view content, int mode) {
  std::string temporary;
  Descriptor file;
  for (int number = 0; !file && number < 1000; ++number) {
    temporary = fmt::format(".lockstep-{}-{}", getpid(), number);
    file = Descriptor(openat(directory, temporary.c_str(),
                             O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file && errno != EEXIST) return errno;
  }
  if (!file) return EEXIST;
  int error = write_all(file.get(), content);
  if (error == 0 && fchmod(file.get(), static_cast<mode_t>(mode)) != 0) error = errno;
  if (error == 0 && fsync(file.get()) != 0) error = errno;
  if (error == 0 && renameat(directory, temporary.c_str(), directory, name.c_str()) != 0) {
    error = errno;
  }
  if (error != 0) unlinkat(directory, temporary.c_str(), 0);
  return error;
}

}  // namespace

Result<void> write_output(const std::string& path, std::string_view content, int mode) {
  // Links of the system, to the standard streams.
  const bool is_stream = path.starts_with("/dev/") || path.starts_with("/proc/self/fd/");
  struct stat info{};
  const bool exists = (is_stream ? stat(path.c_str(), &info) : lstat(path.c_str(), &info)) == 0;
  if (exists && S_ISLNK(info.st_mode)) return link_in_the_way(path);
  if (!is_stream && (!exists || S_ISREG(info.st_mode) || S_ISDIR(info.st_mode))) {
    return replace_file(path, path, content, mode, Durability::on_disk);
  }
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC | (is_stream ? 0 : O_NOFOLLOW)));
  if (!file) return system_failure("write", path, errno);
  const int error = write_all(file.get(), content);
  if (error != 0) return system_failure("write", path, error);
  return {};
}

Result<OutputFolder> OutputFolder::open(const std::string& path) {
  LOCKSTEP_CHECK(make_directories(path));
  Descriptor root(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!root) return system_failure("write to", path, errno);
  return OutputFolder(path, std::move(root));
}

std::string OutputFolder::shown(std::string_view relative) const {
  return fmt::format("{}/{}", path_, relative);
}

// `way` is where it is, from the folder.
Result<Descriptor> OutputFolder::enter(int directory, const std::string& name,
                                       const std::string& way, bool make) const {
  if (make && mkdirat(directory, name.c_str(), 0777) != 0 && errno != EEXIST) {
    return system_failure("write", shown(way), errno);
  }
  Descriptor opened(
      openat(directory, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (opened) return opened;
  const int error = errno;
  if (is_link(directory, name)) return link_in_the_way(shown(way));
  return system_failure(make ? "write" : "read", shown(way), error);
}

Result<OutputFolder::Place> OutputFolder::find(const std::string& relative, bool make) const {
  const std::vector<std::string_view> parts = split(relative, '/');
  for (const std::string_view part : parts) {
    if (!part.empty() && part != "." && part != "..") continue;
    return failf(ErrorKind::invalid,
                 "cannot write a file with the path \"{}\": it must stay inside", relative);
  }
  Place place;
  int directory = root_.get();
  std::string way;
  for (size_t i = 0; i + 1 < parts.size(); ++i) {
    way += fmt::format("{}{}", i == 0 ? "" : "/", parts[i]);
    LOCKSTEP_TRY(place.directory, enter(directory, std::string(parts[i]), way, make));
    directory = place.directory.get();
  }
  if (!place.directory) place.directory = Descriptor(fcntl(directory, F_DUPFD_CLOEXEC, 0));
  if (!place.directory) return system_failure("write", shown(relative), errno);
  place.name = parts.back();
  if (is_link(place.directory.get(), place.name)) return link_in_the_way(shown(relative));
  return place;
}

Result<void> OutputFolder::write(const std::string& relative, std::string_view content,
                                 int mode) const {
  LOCKSTEP_TRY(const Place place, find(relative, true));
  const int error = replace_in(place.directory.get(), place.name, content, mode);
  if (error != 0) return system_failure("write", shown(relative), error);
  return {};
}

Result<std::string> OutputFolder::read(const std::string& relative) const {
  LOCKSTEP_TRY(const Place place, find(relative, false));
  const Descriptor file(openat(place.directory.get(), place.name.c_str(),
                               O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file) return system_failure("read", shown(relative), errno);
  std::string content;
  char buffer[1 << 16];
  for (;;) {
    const ssize_t count = ::read(file.get(), buffer, sizeof buffer);
    if (count == 0) return content;
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return system_failure("read", shown(relative), errno);
    content.append(buffer, static_cast<size_t>(count));
    if (content.size() > largest_file) {
      return failf(ErrorKind::too_large, "cannot read {}: it is larger than {} bytes",
                   shown(relative), largest_file);
    }
  }
}

}  // namespace lockstep
