// A libnvidia-ml.so.1 that says what a scenario wants. The declarations are the real library's.
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "fake_driver.h"

typedef struct {
  int index;
} Device;
enum { most_gpus = 16, not_supported = 3, invalid_argument = 2 };
static Device devices[most_gpus];

static int index_of(const void* device) { return (int)((const Device*)device - devices); }

#define BEGIN(gpu)                          \
  const int code = fake_call(gpu, __func__); \
  if (code != 0) return code

// One build for each driver version, where a test swaps drivers.
#ifndef FAKE_VERSION
#define FAKE_VERSION "580.95.05"
#endif

static const char* own_version(void) { return fake_text(-1, "driver", FAKE_VERSION); }

// With "kernel FILE" the library looks at the version of a fake kernel module, as the real one does at the real one's.
static int compare_with_kernel(void) {
  enum { driver_not_loaded = 9, version_mismatch = 18 };
  const char* path = fake_text(-1, "kernel", NULL);
  if (path == NULL) return 0;
  FILE* file = fopen(path, "r");
  if (file == NULL) return driver_not_loaded;
  char text[512];
  const size_t size = fread(text, 1, sizeof text - 1, file);
  fclose(file);
  text[size] = 0;
  const char* found = strstr(text, own_version());
  return found == NULL ? version_mismatch : 0;
}

FAKE_API int nvmlInit_v2(void) {
  fake_reset();
  for (int i = 0; i < most_gpus; ++i) devices[i].index = i;
  BEGIN(-1);
  return compare_with_kernel();
}

FAKE_API int nvmlShutdown(void) {
  BEGIN(-1);
  return 0;
}

FAKE_API int nvmlSystemGetCudaDriverVersion_v2(int* version) {
  BEGIN(-1);
  *version = (int)fake_number(-1, "cuda", 13000);
  return 0;
}

FAKE_API int nvmlDeviceGetArchitecture(void* device, unsigned* architecture) {
  BEGIN(index_of(device));
  *architecture = (unsigned)fake_number(index_of(device), "architecture", 9);
  return 0;
}

FAKE_API int nvmlDeviceGetCudaComputeCapability(void* device, int* major, int* minor) {
  BEGIN(index_of(device));
  *major = (int)fake_number(index_of(device), "compute_major", 9);
  *minor = 0;
  return 0;
}

typedef struct {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
} Memory;

FAKE_API int nvmlDeviceGetMemoryInfo(void* device, Memory* memory) {
  BEGIN(index_of(device));
  const long long total = fake_number(index_of(device), "memory", 0);
  if (total == 0) return not_supported;
  memory->total = memory->free = (unsigned long long)total;
  memory->used = 0;
  return 0;
}

typedef struct {
  char bus_id_legacy[16];
  unsigned domain;
  unsigned bus;
  unsigned device;
  unsigned device_id;
  unsigned subsystem_id;
  char bus_id[32];
} PciInfo;

FAKE_API int nvmlDeviceGetPciInfo_v3(void* device, PciInfo* pci) {
  BEGIN(index_of(device));
  const char* text = fake_text(index_of(device), "pci", NULL);
  if (text == NULL) return not_supported;
  snprintf(pci->bus_id, sizeof pci->bus_id, "%s", text);
  return 0;
}

FAKE_API const char* nvmlErrorString(int code) {
  switch (code) {
    case 9:
      return "Driver Not Loaded";
    case 15:
      return "GPU is lost";
    case 18:
      return "Driver/library version mismatch";
    default:
      return "Some error";
  }
}

FAKE_API int nvmlSystemGetDriverVersion(char* to, unsigned size) {
  BEGIN(-1);
  snprintf(to, size, "%s", own_version());
  return 0;
}

FAKE_API int nvmlDeviceGetCount_v2(unsigned* count) {
  BEGIN(-1);
  *count = (unsigned)fake_number(-1, "gpus", 1);
  return 0;
}

FAKE_API int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  BEGIN((int)index);
  *device = &devices[index];
  return 0;
}

FAKE_API int nvmlDeviceGetUUID(void* device, char* to, unsigned size) {
  BEGIN(index_of(device));
  char uuid[96];
  fake_uuid(index_of(device), uuid);
  snprintf(to, size, "%s", uuid);
  return 0;
}

FAKE_API int nvmlDeviceGetName(void* device, char* to, unsigned size) {
  BEGIN(index_of(device));
  snprintf(to, size, "%s", fake_text(index_of(device), "name", "NVIDIA H200"));
  return 0;
}

FAKE_API int nvmlDeviceGetMinorNumber(void* device, unsigned* minor) {
  BEGIN(index_of(device));
  *minor = (unsigned)index_of(device);
  return 0;
}

FAKE_API int nvmlDeviceGetMigMode(void* device, unsigned* now, unsigned* pending) {
  BEGIN(index_of(device));
  *now = *pending = (unsigned)fake_number(index_of(device), "mig", 0);
  return 0;
}

FAKE_API int nvmlDeviceGetTotalEccErrors(void* device, int type, int counter, unsigned long long* count) {
  BEGIN(index_of(device));
  static const char* const keys[2][2] = {{"ecc_corrected_volatile", "ecc_corrected_aggregate"},
                                         {"ecc_uncorrected_volatile", "ecc_uncorrected_aggregate"}};
  *count = (unsigned long long)fake_number(index_of(device), keys[type][counter], 0);
  return 0;
}

FAKE_API int nvmlDeviceGetRemappedRows(void* device, unsigned* corrected, unsigned* uncorrected, unsigned* pending,
                                       unsigned* failed) {
  const int gpu = index_of(device);
  BEGIN(gpu);
  *corrected = (unsigned)fake_number(gpu, "remap_corrected", 0);
  *uncorrected = (unsigned)fake_number(gpu, "remap_uncorrected", 0);
  *pending = (unsigned)fake_number(gpu, "remap_pending", 0);
  *failed = (unsigned)fake_number(gpu, "remap_failed", 0);
  return 0;
}

typedef struct {
  unsigned field;
  unsigned scope;
  long long timestamp;
  long long latency;
  unsigned type;
  int code;
  unsigned long long value;
} FieldValue;

static int link_count(int gpu) { return (int)fake_number(gpu, "nvlinks", 18); }

FAKE_API int nvmlDeviceGetFieldValues(void* device, int count, FieldValue* values) {
  const int gpu = index_of(device);
  BEGIN(gpu);
  for (int i = 0; i < count; ++i) {
    values[i].code = 0;
    values[i].type = 1;
    switch (values[i].field) {
      case 161:
        values[i].value = (unsigned long long)fake_number(gpu, "nvlink_replays", 0);
        break;
      case 164:
        values[i].value = 26562;
        break;
      case 162:
      case 163:
        values[i].value = 0;
        break;
      case 230:
        values[i].value = (unsigned long long)fake_number(gpu, "recovery_action", 0);
        break;
      default:
        values[i].code = not_supported;
    }
  }
  return 0;
}

FAKE_API int nvmlDeviceGetNvLinkState(void* device, unsigned link, unsigned* active) {
  const int gpu = index_of(device);
  BEGIN(gpu);
  if ((int)link >= link_count(gpu)) return link_count(gpu) == 0 ? not_supported : invalid_argument;
  *active = (int)link != fake_number(gpu, "nvlink_inactive", -1);
  return 0;
}

typedef struct {
  unsigned version;
  unsigned char cluster[16];
  int status;
  unsigned clique;
  unsigned char state;
  unsigned health;
} FabricInfo;

FAKE_API int nvmlDeviceGetGpuFabricInfoV(void* device, FabricInfo* info) {
  const int gpu = index_of(device);
  BEGIN(gpu);
  if (info->version != (sizeof(FabricInfo) | (2U << 24))) return invalid_argument;
  info->state = (unsigned char)fake_number(gpu, "fabric_state", 0);
  info->status = (int)fake_number(gpu, "fabric_status", 0);
  info->clique = (unsigned)fake_number(gpu, "fabric_clique", 0);
  return 0;
}

FAKE_API int nvmlDeviceGetCurrentClocksThrottleReasons(void* device, unsigned long long* reasons) {
  BEGIN(index_of(device));
  *reasons = (unsigned long long)fake_number(index_of(device), "throttle", 0);
  return 0;
}

FAKE_API int nvmlDeviceGetClockInfo(void* device, int type, unsigned* clock) {
  BEGIN(index_of(device));
  *clock = type == 1 ? 1980 : 3201;
  return 0;
}

FAKE_API int nvmlDeviceGetTemperature(void* device, int sensor, unsigned* degrees) {
  BEGIN(index_of(device));
  *degrees = sensor == 0 ? 45 : 0;
  return 0;
}

FAKE_API int nvmlEventSetCreate(void** set) {
  BEGIN(-1);
  *set = devices;
  return 0;
}

FAKE_API int nvmlDeviceRegisterEvents(void* device, unsigned long long types, void* set) {
  BEGIN(index_of(device));
  return types == 8 && set == devices ? 0 : invalid_argument;
}

typedef struct {
  void* device;
  unsigned long long type;
  unsigned long long data;
  unsigned gpu_instance;
  unsigned compute_instance;
} EventData;

FAKE_API int nvmlEventSetWait_v2(void* set, EventData* event, unsigned milliseconds) {
  BEGIN(-1);
  const long long xid = fake_number(-1, "xid", 0);
  enum { timeout = 10 };
  if (xid == 0 || set != devices || milliseconds > 1000) return timeout;
  if (fake_count("xid told") > 0) return timeout;
  event->device = &devices[0];
  event->type = 8;
  event->data = (unsigned long long)xid;
  return 0;
}
