#include "world/huge_pages.h"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

#include "base/strings.h"

namespace lockstep {

void begin_again_with_huge_pages() {
  constexpr const char* variable = "GLIBC_TUNABLES";
  constexpr std::string_view setting = "glibc.malloc.hugetlb=";
  const char* held = std::getenv(variable);
  const std::string before = held == nullptr ? "" : held;
  // It was set already: by us, or on purpose.
  if (before.find(setting) != std::string::npos) return;
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(file), {});
  if (!text.ends_with('\0')) return;
  text.pop_back();
  std::vector<std::string> words;
  for (std::string_view word : split(text, '\0')) words.emplace_back(word);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const std::string after = before + (before.empty() ? "" : ":") + std::string(setting) + "1";
  if (setenv(variable, after.c_str(), 1) != 0) return;
  execv("/proc/self/exe", arguments.data());
  // If exec fails, the variable stays set, so that child processes do not try again.
}

}  // namespace lockstep
