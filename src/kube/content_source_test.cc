#include "kube/content_source.h"

#include <gtest/gtest.h>

#include "world/virtual_loop.h"

namespace lockstep::kube::content_source_test {
namespace {

// A file system whose fingerprints a test can freeze, and that counts readings.
class WatchedFiles final : public Files {
 public:
  Result<std::string> read(const std::string& path) const override {
    ++readings;
    return memory.read(path);
  }
  Result<void> write(const std::string& path, std::string_view content, int mode) override {
    return memory.write(path, content, mode);
  }
  Result<void> remove(const std::string& path) override { return memory.remove(path); }
  bool exists(const std::string& path) const override { return memory.exists(path); }
  Result<std::string> fingerprint(const std::string& path) const override {
    if (frozen) return std::string("same");
    return memory.fingerprint(path);
  }

  MemoryFiles memory;
  bool frozen = false;
  mutable int readings = 0;
};

struct Fixture {
  VirtualLoop loop{1};
  WatchedFiles files;
};

TEST(ContentSourceTest, DataWinsAndNothingIsNull) {
  Fixture f;
  EXPECT_EQ(**ContentSource(f.files, f.loop, "data", "/file").read(), "data");
  EXPECT_EQ(*ContentSource(f.files, f.loop, "", "").read(), nullptr);
  EXPECT_EQ(f.files.readings, 0);
}

TEST(ContentSourceTest, ReadsAgainOnlyWhenTheFileChanged) {
  Fixture f;
  f.files.memory.contents["/token"] = "one";
  ContentSource source(f.files, f.loop, "", "/token");
  EXPECT_EQ(**source.read(), "one");
  EXPECT_EQ(**source.read(), "one");
  EXPECT_EQ(f.files.readings, 1);
  f.files.memory.contents["/token"] = "two!";
  EXPECT_EQ(**source.read(), "two!");
  EXPECT_EQ(f.files.readings, 2);
}

TEST(ContentSourceTest, DoesNotTrustAFingerprintForMoreThanAMinute) {
  Fixture f;
  f.files.frozen = true;
  f.files.memory.contents["/token"] = "one";
  ContentSource source(f.files, f.loop, "", "/token");
  EXPECT_EQ(**source.read(), "one");
  f.files.memory.contents["/token"] = "two";
  EXPECT_EQ(**source.read(), "one");
  f.loop.after(minutes(1), [] {});
  f.loop.run_for(minutes(1));
  EXPECT_EQ(**source.read(), "two");
}

TEST(ContentSourceTest, ForgetReadsAgain) {
  Fixture f;
  f.files.frozen = true;
  f.files.memory.contents["/token"] = "one";
  ContentSource source(f.files, f.loop, "", "/token");
  EXPECT_EQ(**source.read(), "one");
  f.files.memory.contents["/token"] = "two";
  source.forget();
  EXPECT_EQ(**source.read(), "two");
}

TEST(ContentSourceTest, KeepsTheLastContentWhileTheFileIsAway) {
  Fixture f;
  ContentSource source(f.files, f.loop, "", "/token");
  ASSERT_FALSE(source.read().has_value());
  EXPECT_EQ(source.read().error().place, "/token");
  f.files.memory.contents["/token"] = "one";
  EXPECT_EQ(**source.read(), "one");
  f.files.memory.contents.clear();
  source.forget();
  EXPECT_EQ(**source.read(), "one");
}

}  // namespace
}  // namespace lockstep::kube::content_source_test
