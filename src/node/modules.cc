#include "node/modules.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/strings.h"

namespace lockstep::node {

namespace {

constexpr std::string_view driver_module = "nvidia";

const KernelModule* find_module(const std::vector<KernelModule>& modules, std::string_view name) {
  auto found = std::find_if(modules.begin(), modules.end(),
                            [&](const KernelModule& module) { return module.name == name; });
  return found == modules.end() ? nullptr : &*found;
}

// After all modules that depend on it. `seen` also ends a cycle, which the kernel does not make.
void add_with_users(const std::vector<KernelModule>& modules, std::string_view name,
                    std::set<std::string, std::less<>>& seen, std::vector<std::string>& order) {
  const KernelModule* module = find_module(modules, name);
  if (module == nullptr || !seen.emplace(name).second) return;
  for (const auto& user : module->users) add_with_users(modules, user, seen, order);
  order.push_back(module->name);
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words = split(line, ' ');
  std::erase(words, std::string_view());
  return words;
}

}  // namespace

Result<std::vector<KernelModule>> parse_modules(std::string_view text) {
  std::vector<KernelModule> modules;
  int number = 0;
  for (std::string_view line : split(text, '\n')) {
    ++number;
    auto words = words_of(line);
    if (words.empty()) continue;
    // name, size, references, users, state, address. A kernel that cannot unload has "-" for both.
    constexpr size_t needed = 4;
    std::string place = fmt::format("line {}", number);
    if (words.size() < needed) return fail(ErrorKind::invalid, "not a kernel module", place);
    KernelModule module;
    module.name = words[0];
    auto references = parse_integer(words[2]);
    if (!references && words[2] != "-") {
      return fail(ErrorKind::invalid, fmt::format("{} is not a reference count", words[2]), place);
    }
    module.references = references.value_or(0);
    for (std::string_view user : split(words[3], ',')) {
      // [permanent] is the kernel's own word for a module that cannot go.
      if (!user.empty() && user != "-" && user.front() != '[') module.users.emplace_back(user);
    }
    std::sort(module.users.begin(), module.users.end());
    modules.push_back(std::move(module));
  }
  return modules;
}

std::vector<std::string> unload_order(const std::vector<KernelModule>& modules) {
  std::set<std::string, std::less<>> seen;
  std::vector<std::string> order;
  add_with_users(modules, driver_module, seen, order);
  return order;
}

std::vector<std::string> busy_modules(const std::vector<KernelModule>& modules) {
  std::vector<std::string> busy;
  for (const auto& name : unload_order(modules)) {
    const KernelModule& module = *find_module(modules, name);
    int64_t others = module.references - static_cast<int64_t>(module.users.size());
    if (others > 0) busy.push_back(fmt::format("{} ({})", name, others));
  }
  return busy;
}

}  // namespace lockstep::node
