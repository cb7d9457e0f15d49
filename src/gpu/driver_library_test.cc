#include "gpu/driver_library.h"

#include "gpu/fake_test_util.h"

namespace lockstep::gpu::driver_library_test {
namespace {

TEST(DriverLibrary, ALibraryThatIsNotThereIsNotFoundWithThePlaces) {
  FakeRoot root;
  auto library = DriverLibrary::open("libnvidia-ml.so.1", {"", root.path});
  ASSERT_FALSE(library.has_value());
  EXPECT_EQ(library.error().kind, ErrorKind::not_found);
  EXPECT_NE(
      library.error().message.find(root.path + "/run/nvidia/driver/usr/lib64/libnvidia-ml.so.1"),
      std::string::npos);
}

TEST(DriverLibrary, AFileThatIsNoLibraryIsSaidToBeBroken) {
  FakeRoot root;
  root.write("libnvidia-ml.so.1", "not a library");
  auto library = DriverLibrary::open("libnvidia-ml.so.1", {root.path, ""});
  ASSERT_FALSE(library.has_value());
  EXPECT_NE(library.error().message.find("cannot be loaded"), std::string::npos);
}

TEST(DriverLibrary, ASymbolThatIsNotThereIsNull) {
  auto library = DriverLibrary::open("libcuda.so.1", {FAKE_DRIVER, ""});
  ASSERT_TRUE(library.has_value()) << library.error().text();
  EXPECT_NE(library->symbol("cuInit"), nullptr);
  EXPECT_EQ(library->symbol("cuNoSuchThing"), nullptr);
}

TEST(DriverLibrary, WithoutARootTheLoaderLooksFirst) {
  EXPECT_EQ(candidate_paths("x.so", {}).front(), "x.so");
  EXPECT_EQ(candidate_paths("x.so", {"/d", "/r"}), std::vector<std::string>{"/d/x.so"});
}

}  // namespace
}  // namespace lockstep::gpu::driver_library_test
