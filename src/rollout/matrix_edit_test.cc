#include "rollout/matrix_edit.h"

#include <gtest/gtest.h>

#include "rollout/matrix_test_util.h"

namespace lockstep::rollout::matrix_edit_test {
namespace {

TEST(MatrixEdit, APromotionIsADiffOfTheChangedLines) {
  const MatrixEdit edit = promote_canary(seed_matrix, "m.yaml").value();
  EXPECT_EQ(changed_lines(seed_matrix, edit.text), R"(-    gpu_operator: "v24.9.0"
-    network_operator: "v24.7.0"
-    driver: "560.35.03"  # since January
-    cuda: "12.6"
-    firmware: "28.40.1000"
+    gpu_operator: "v24.12.0"
+    network_operator: "v24.10.0"
+    driver: "565.57.01"  # since January
+    cuda: "12.8"
+    firmware: "28.42.1000"
-    gpu_operator: "v24.12.0"
-    network_operator: "v24.10.0"
-    driver: "565.57.01"
-    cuda: "12.8"
-    firmware: "28.42.1000"
-    sriov: "4.18.0"
-    openshift: "4.16.23"
-    status: "testing"
+    gpu_operator: ""
+    network_operator: ""
+    driver: ""
+    cuda: ""
+    firmware: ""
+    sriov: ""
+    openshift: ""
+    status: ""
)");
  const Matrix after = parse_matrix(edit.text, "m.yaml").value();
  EXPECT_EQ(after.value(Slot::current, "driver"), "565.57.01");
  EXPECT_EQ(after.value(Slot::current, "status"), "production");
  EXPECT_TRUE(after.is_empty(Slot::canary));
  EXPECT_EQ(edit.changes.size(), 13U);
}

TEST(MatrixEdit, WhatTheCanaryDoesNotSayStaysAndWhatIsNewGetsALine) {
  const std::string text =
      "versions:\n  current:\n    driver: \"1\"\n    cuda: \"12.6\"  # old\n"
      "  # what we try\n  canary:\n    driver: \"2\"\n    cuda: \"\"\n    extra: \"x y\"\n";
  const MatrixEdit edit = promote_canary(text, "m.yaml").value();
  EXPECT_EQ(edit.text,
            "versions:\n  current:\n    driver: \"2\"\n    cuda: \"12.6\"  # old\n"
            "    extra: \"x y\"\n    status: \"production\"\n"
            "  # what we try\n  canary:\n    driver: \"\"\n    cuda: \"\"\n    extra: \"\"\n");
}

TEST(MatrixEdit, AnEmptyOrFailedCanaryIsNotPromoted) {
  const std::string head = "versions:\n  current: {driver: \"1\"}\n";
  for (const char* canary : {"", "  canary:\n", "  canary: {driver: \"\", status: testing}\n",
                             "  canary: {driver: \"2\", status: Failed}\n",
                             "  canary: {driver: \"2\", status: reverted}\n"}) {
    const auto edit = promote_canary(head + canary, "m.yaml");
    ASSERT_FALSE(edit) << canary;
    EXPECT_EQ(edit.error().kind, ErrorKind::conflict) << edit.error().text();
  }
}

TEST(MatrixEdit, SettingChangesOneLineAndKeepsQuotes) {
  const std::string text =
      "versions:\n  current: {driver: '1'}\n  canary:\n    driver: '2' # c\n    status: testing\n";
  const MatrixEdit edit =
      set_versions(text, "m.yaml", Slot::canary, {{"driver", "580.65.06"}}).value();
  EXPECT_EQ(changed_lines(text, edit.text), "-    driver: '2' # c\n+    driver: '580.65.06' # c\n");
  EXPECT_EQ(edit.changes, (std::vector<MatrixChange>{{Slot::canary, "driver", "2", "580.65.06"}}));
}

TEST(MatrixEdit, ANumberWithoutQuotesGetsThem) {
  const std::string text = "versions:\n  current:\n    cuda: 12.6\n    driver: \"1\"\n";
  const MatrixEdit edit = set_versions(text, "m.yaml", Slot::current, {{"cuda", "12.10"}}).value();
  EXPECT_EQ(changed_lines(text, edit.text), "-    cuda: 12.6\n+    cuda: \"12.10\"\n");
}

TEST(MatrixEdit, ACanaryBeginsWithTheStatusTesting) {
  struct Row {
    std::string before;
    std::string after;
  };
  const std::string head = "versions:\n  current:\n    driver: \"1\"  # x\n";
  for (const Row& row : std::vector<Row>{
           {head, head + "  canary:\n    driver: \"2\"\n    status: \"testing\"\n"},
           {head + "  canary:\n", head + "  canary:\n    driver: \"2\"\n    status: \"testing\"\n"},
           {head + "  canary:  # nothing\nowner: me\n",
            head + "  canary:  # nothing\n    driver: \"2\"\n    status: \"testing\"\nowner: me\n"},
           {head + "  canary:\n    driver: \"\"\n    status: \"\"\n",
            head + "  canary:\n    driver: \"2\"\n    status: \"testing\"\n"}}) {
    const auto edit = set_versions(row.before, "m.yaml", Slot::canary, {{"driver", "2"}});
    ASSERT_TRUE(edit) << row.before << edit.error().text();
    EXPECT_EQ(edit->text, row.after);
  }
  const auto named =
      set_versions(head, "m.yaml", Slot::canary, {{"driver", "2"}, {"status", "planned"}});
  ASSERT_TRUE(named) << named.error().text();
  EXPECT_EQ(parse_matrix(named->text, "m").value().value(Slot::canary, "status"), "planned");
}

TEST(MatrixEdit, LineEndsOfWindowsAndAMissingLastOneStay) {
  const std::string text = "versions:\r\n  current:\r\n    driver: \"1\"";
  const MatrixEdit edit = set_versions(text, "m.yaml", Slot::current, {{"cuda", "13.0"}}).value();
  EXPECT_EQ(edit.text, "versions:\r\n  current:\r\n    driver: \"1\"\r\n    cuda: \"13.0\"");
}

TEST(MatrixEdit, TheSameAgainIsNoChange) {
  const MatrixEdit edit =
      set_versions(seed_matrix, "m.yaml", Slot::canary, {{"driver", "565.57.01"}}).value();
  EXPECT_EQ(edit.text, seed_matrix);
  EXPECT_TRUE(edit.changes.empty());
}

TEST(MatrixEdit, MisspeltKeysAndOddValuesAreRefused) {
  struct Row {
    MatrixEntries values;
    const char* said;
  };
  for (const Row& row :
       std::vector<Row>{{{{"drvier", "1"}}, "did you mean \"driver\"?"},
                        {{{"zzz", "1"}}, "gpu_operator, network_operator"},
                        {{{"driver", "5 80"}}, "is not a valid version for driver"},
                        {{{"driver", "$(x)"}}, "is not a valid version for driver"},
                        {{{"driver", "1\n2"}}, "one line"},
                        {{{"status", std::string(201, 'x')}}, "one line"},
                        {{{"driver", ""}}, "needs a driver"}}) {
    const auto edit = set_versions(seed_matrix, "m.yaml", Slot::current, row.values);
    ASSERT_FALSE(edit) << row.said;
    EXPECT_EQ(edit.error().kind, ErrorKind::invalid);
    EXPECT_NE(edit.error().text().find(row.said), std::string::npos) << edit.error().text();
  }
}

TEST(MatrixEdit, WhatCannotBeEditedInPlaceIsLeftToAPerson) {
  const auto flow = set_versions("versions: {current: {driver: \"1\"}}\n", "m.yaml", Slot::current,
                                 {{"cuda", "13.0"}});
  ASSERT_FALSE(flow);
  EXPECT_NE(flow.error().text().find("manually"), std::string::npos) << flow.error().text();
  const auto shared =
      set_versions("versions:\n  current: {driver: &d \"1\"}\n  canary: {driver: *d}\n", "m.yaml",
                   Slot::current, {{"driver", "2"}});
  ASSERT_FALSE(shared);
}

TEST(MatrixEdit, AnAssignmentIsAKeyAndAValue) {
  EXPECT_EQ(parse_assignment("driver=580.65.06").value(),
            (std::pair<std::string, std::string>("driver", "580.65.06")));
  EXPECT_EQ(parse_assignment("status=a=b").value().second, "a=b");
  EXPECT_EQ(parse_assignment("firmware=").value().second, "");
  EXPECT_FALSE(parse_assignment("driver"));
  EXPECT_FALSE(parse_assignment("=1"));
}

}  // namespace
}  // namespace lockstep::rollout::matrix_edit_test
