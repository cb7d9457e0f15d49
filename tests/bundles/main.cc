// Arguments after Google Test's own are tools that must be there; without one the whole program is
// skipped (exit code 77), and says which one and what brings it.
#include <filesystem>

#include <fmt/format.h>
#include <gtest/gtest.h>

int main(int count, char** words) {
  ::testing::InitGoogleTest(&count, words);
  for (int i = 1; i < count; ++i) {
    if (std::filesystem::exists(words[i])) continue;
    fmt::print("SKIPPED: there is no {}; make tools and make real-tools bring it\n", words[i]);
    return 77;
  }
  return RUN_ALL_TESTS();
}
