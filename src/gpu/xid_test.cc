#include "gpu/xid.h"

#include "gpu/fake_test_util.h"

namespace lockstep::gpu::xid_test {
namespace {

TEST(Xid, IsReadFromALineOfTheKernelLog) {
  auto xid = xid_in(
      "4,1234,99,-;NVRM: Xid (PCI:0000:3B:00): 79, pid=77, name=x, GPU has fallen off the bus.");
  ASSERT_TRUE(xid.has_value());
  EXPECT_EQ(xid->code, 79);
  EXPECT_EQ(xid->pci, "0000:3b:00");
}

TEST(Xid, OtherLinesHaveNone) {
  for (const char* line : {"", "NVRM: loading", "NVRM: Xid (PCI:0000:3b:00",
                           "NVRM: Xid (PCI:0000:3b:00): x", "Xid 79"})
    EXPECT_FALSE(xid_in(line).has_value()) << line;
}

TEST(Xid, ANumberThatIsTooLargeIsNone) {
  EXPECT_FALSE(xid_in("NVRM: Xid (PCI:0000:3b:00): 7900001234, name=x"));
}

TEST(Xid, OurListIsReadAndAnUnknownOneIsFatal) {
  auto classes = XidClasses::embedded();
  ASSERT_TRUE(classes.has_value()) << classes.error().text();
  EXPECT_EQ(classes->meaning(79).kind, XidClass::fatal);
  EXPECT_EQ(classes->meaning(13).kind, XidClass::application);
  EXPECT_EQ(classes->meaning(63).kind, XidClass::information);
  EXPECT_EQ(classes->meaning(4711).kind, XidClass::fatal);
}

TEST(Xid, AClassThatDoesNotExistIsRefused) {
  EXPECT_FALSE(XidClasses::read("xids:\n- {xid: 1, class: harmless}\n", "x").has_value());
  EXPECT_FALSE(XidClasses::read("other: 1\n", "x").has_value());
}

TEST(Xid, OnlyWhatTheLogSaysFromNowOn) {
  FakeRoot root;
  root.write("dev/kmsg", "NVRM: Xid (PCI:0000:01:00): 48, old\n");
  KernelLog log(root.path);
  ASSERT_TRUE(log.readable());
  EXPECT_TRUE(log.read().empty());
  std::ofstream(root.path + "/dev/kmsg", std::ios::app)
      << "hello\nNVRM: Xid (PCI:0000:01:00): 31, new\nNVRM: Xid (PCI:";
  auto xids = log.read();
  ASSERT_EQ(xids.size(), 1U);
  EXPECT_EQ(xids[0].code, 31);
  std::ofstream(root.path + "/dev/kmsg", std::ios::app) << "0000:02:00): 79, half a line before\n";
  ASSERT_EQ(log.read().size(), 1U);
}

TEST(Xid, ALogThatIsNotThereIsNotReadable) {
  FakeRoot root;
  KernelLog log(root.path);
  EXPECT_FALSE(log.readable());
  EXPECT_TRUE(log.read().empty());
}

}  // namespace
}  // namespace lockstep::gpu::xid_test
