#include "apiserver/present/table_test_util.h"

namespace lockstep::apiserver::table_storage_test {
namespace {

TEST(TableStorage, Columns) {
  const std::vector<ColumnCase> cases = {
      {"", "PersistentVolume",
       "Name,Capacity,Access Modes,Reclaim Policy,Status,Claim,StorageClass,VolumeAttributesClass,"
       "Reason,Age|VolumeMode"},
      {"", "PersistentVolumeClaim",
       "Name,Status,Volume,Capacity,Access Modes,StorageClass,VolumeAttributesClass,Age|"
       "VolumeMode"},
      {"storage.k8s.io", "StorageClass",
       "Name,Provisioner,ReclaimPolicy,VolumeBindingMode,AllowVolumeExpansion,Age"},
      {"storage.k8s.io", "CSINode", "Name,Drivers,Age"},
  };
  for (const ColumnCase& one : cases) {
    EXPECT_EQ(column_names(one.group, one.kind), one.names) << one.kind;
    EXPECT_TRUE(are_described(one)) << one.kind;
  }
}

TEST(TableStorage, Rows) {
  const std::vector<RowCase> cases = {
      {"bound", "", "PersistentVolume",
       R"("spec":{"capacity":{"storage":"1Gi"},"accessModes":["ReadWriteMany","ReadWriteOnce","ReadWriteOnce"],
          "persistentVolumeReclaimPolicy":"Retain","claimRef":{"namespace":"n","name":"c"},
          "storageClassName":"fast","volumeMode":"Filesystem"},"status":{"phase":"Bound"})",
       R"(["x","1Gi","RWO,RWX","Retain","Bound","n/c","fast","<unset>","","24h","Filesystem"])"},
      {"going", "", "PersistentVolume",
       R"({"metadata":{"name":"x","deletionTimestamp":"2026-03-02T11:00:00Z"},"status":{"phase":"Released"}})",
       R"(["x","0","","","Terminating","","","<unset>","","<unknown>","Filesystem"])"},
      {"bound", "", "PersistentVolumeClaim",
       R"("spec":{"volumeName":"v","storageClassName":"fast"},
          "status":{"phase":"Bound","capacity":{"storage":"2Gi"},"accessModes":["ReadOnlyMany"]})",
       R"(["x","Bound","v","2Gi","ROX","fast","<unset>","24h","Filesystem"])"},
      {"waits", "", "PersistentVolumeClaim",
       R"("spec":{"accessModes":["ReadWriteOnce"]},"status":{"phase":"Pending"})",
       R"(["x","Pending","","","","","<unset>","24h","Filesystem"])"},
      {"default", "storage.k8s.io", "StorageClass",
       R"({"metadata":{"name":"x","annotations":{"storageclass.kubernetes.io/is-default-class":"true"}},
          "provisioner":"p","allowVolumeExpansion":true})",
       R"~(["x (default)","p","Delete","Immediate",true,"<unknown>"])~"},
      {"other", "storage.k8s.io", "StorageClass",
       R"("provisioner":"p","reclaimPolicy":"Retain","volumeBindingMode":"WaitForFirstConsumer")",
       R"(["x","p","Retain","WaitForFirstConsumer",false,"24h"])"},
      {"", "storage.k8s.io", "CSINode", R"("spec":{"drivers":[{},{}]})", R"(["x",2,"24h"])"},
  };
  for (const RowCase& row : cases)
    EXPECT_EQ(cells_of(row), row.cells) << row.kind << ": " << row.name;
}

}  // namespace
}  // namespace lockstep::apiserver::table_storage_test
