#include "node/system_host.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/strings.h"
#include "node/mounts.h"
#include "world/directories.h"
#include "world/system_error.h"

namespace lockstep::node {

namespace {

// Where distributions and NVIDIA's installer put it.
constexpr std::string_view smi_places[] = {"/usr/bin/nvidia-smi", "/usr/local/bin/nvidia-smi",
                                           "/opt/bin/nvidia-smi", "/bin/nvidia-smi"};

bool opens_driver(const std::filesystem::path& descriptor) {
  std::error_code error;
  auto target = std::filesystem::read_symlink(descriptor, error);
  return !error && target.string().starts_with("/dev/nvidia");
}

}  // namespace

Result<void> SystemKernel::unload(const std::string& module) {
  // Not waiting: a module that is in use stays as it is, and we say so.
  if (syscall(SYS_delete_module, module.c_str(), O_NONBLOCK) == 0) return {};
  int number = errno;
  // It went by itself, or another process was faster.
  if (number == ENOENT) return {};
  if (number == EWOULDBLOCK || number == EBUSY) {
    return failf(ErrorKind::conflict, "kernel module {} is in use", module);
  }
  return system_failure("unload kernel module", module, number);
}

Result<void> SystemKernel::unmount(const std::string& target) {
  // Detached: programs that have a file of it open keep that, and the place is free at once.
  if (umount2(target.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW) == 0) return {};
  int number = errno;
  // Not a mount any more, or gone with the one below it.
  if (number == EINVAL || number == ENOENT) return {};
  return system_failure("unmount", target, number);
}

Result<void> NoKernel::unload(const std::string& module) {
  return failf(ErrorKind::unsupported,
               "kernel module {} would be unloaded now; with --root nothing is", module);
}

Result<void> NoKernel::unmount(const std::string& target) {
  return failf(ErrorKind::unsupported, "{} would be unmounted now; with --root nothing is", target);
}

Result<std::optional<std::string>> SystemHost::installed_driver() {
  for (std::string_view place : smi_places) {
    std::string inside(place);
    std::string outside = options_.host_root + inside;
    if (!files_.exists(outside)) continue;
    ProcessSpec spec;
    spec.command = options_.enter;
    spec.command.push_back(options_.enter.empty() ? outside : inside);
    spec.command.insert(spec.command.end(),
                        {"--query-gpu=driver_version", "--format=csv,noheader"});
    spec.limit = options_.program_limit;
    auto run = processes_.run(spec);
    // One that hangs has found a driver that is sick: nothing can be concluded.
    if (!run && run.error().kind == ErrorKind::timed_out) return fail(run.error());
    // The remains of a driver that was removed from the machine fail, and do not count.
    if (!run || run->exit_code != 0) continue;
    std::string_view version = trim(split(run->output, '\n').front());
    if (!version.empty()) return std::optional<std::string>(version);
  }
  return std::optional<std::string>();
}

Result<HostView> SystemHost::look() {
  HostView view;
  LOCKSTEP_TRY(std::string modules, files_.read(options_.proc + "/modules"));
  auto parsed = parse_modules(modules);
  if (!parsed) return fail(parsed.error().at(options_.proc + "/modules"));
  view.modules = std::move(*parsed);
  std::string mountinfo = options_.proc + "/self/mountinfo";
  LOCKSTEP_TRY(std::string mounts, files_.read(mountinfo));
  auto targets = parse_mount_targets(mounts);
  if (!targets) return fail(targets.error().at(mountinfo));
  view.driver_mounts = mounts_under(*targets, options_.run + "/driver");
  std::string digest_file = options_.run + "/nvidia-driver.state";
  if (files_.exists(digest_file)) {
    LOCKSTEP_TRY(std::string digest, files_.read(digest_file));
    view.digest = trim(digest);
    view.digest_file = digest_file;
  }
  std::string process_file = options_.run + "/nvidia-driver.pid";
  if (files_.exists(process_file)) view.process_file = process_file;
  if (!busy_modules(view.modules).empty()) view.holders = find_holders();
  return view;
}

// As far as we may see them: a process that ends meanwhile, or that we may not inspect, is left
// out. Names are for display; the kernel says whether the driver is in use.
std::vector<DeviceHolder> SystemHost::find_holders() const {
  std::vector<DeviceHolder> holders;
  auto names = list_directory(options_.proc);
  if (!names) return holders;
  for (const auto& name : *names) {
    auto process = parse_integer(name);
    if (!process) continue;
    std::string folder = options_.proc + "/" + name;
    auto descriptors = list_directory(folder + "/fd");
    if (!descriptors) continue;
    bool holds = std::any_of(
        descriptors->begin(), descriptors->end(),
        [&](const std::string& descriptor) { return opens_driver(folder + "/fd/" + descriptor); });
    if (!holds) continue;
    auto program = files_.read(folder + "/comm");
    holders.push_back({*process, program ? std::string(trim(*program)) : std::string("?")});
  }
  std::sort(holders.begin(), holders.end(),
            [](const DeviceHolder& a, const DeviceHolder& b) { return a.process < b.process; });
  return holders;
}

}  // namespace lockstep::node
