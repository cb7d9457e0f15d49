// A libcuda.so.1 whose GPU is the CPU: our kernels by name, device memory from malloc, and a clock that goes by
// the scenario's speeds. The declarations are the real library's.
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_driver.h"
#include "fake_kernels.h"

typedef struct {
  int gpu;
  double milliseconds;  // of what it was asked to do
} Context;
typedef struct {
  char name[32];
} Function;
enum { most_gpus = 16, most_functions = 64, out_of_memory = 2, not_found = 500, invalid_ptx = 218 };

static Context contexts[most_gpus];
static Context* current = contexts;
static int visible[most_gpus];
static int visible_count;
static Function functions[most_functions];
static int function_count;

#define BEGIN()                                      \
  const int code = fake_call(current->gpu, __func__); \
  if (code != 0) return code

static void pass(double bytes, const char* speed, long long usual) {
  current->milliseconds += bytes / ((double)fake_number(current->gpu, speed, usual) * 1e6);
}

FAKE_API int cuInit(unsigned flags) {
  fake_reset();
  function_count = 0;
  visible_count = fake_visible(visible, most_gpus);
  for (int i = 0; i < visible_count; ++i) contexts[i].gpu = visible[i];
  BEGIN();
  fake_log_lines();
  return flags == 0 ? 0 : 1;
}

FAKE_API int cuGetErrorName(int code, const char** name) {
  *name = code == 700   ? "CUDA_ERROR_ILLEGAL_ADDRESS"
          : code == 719 ? "CUDA_ERROR_LAUNCH_FAILED"
          : code == 999 ? "CUDA_ERROR_UNKNOWN"
                        : "CUDA_ERROR_OF_SOME_KIND";
  return 0;
}

FAKE_API int cuDeviceGetCount(int* count) {
  BEGIN();
  *count = visible_count;
  return 0;
}

FAKE_API int cuDeviceGet(int* device, int number) {
  BEGIN();
  *device = number;
  return 0;
}

FAKE_API int cuDeviceGetAttribute(int* value, int attribute, int device) {
  BEGIN();
  const int capability = (int)fake_number(contexts[device].gpu, "capability", 90);
  switch (attribute) {
    case 16:
      *value = 4;
      return 0;
    case 75:
      *value = capability / 10;
      return 0;
    case 76:
      *value = capability % 10;
      return 0;
    default:
      *value = 232448;
      return 0;
  }
}

FAKE_API int cuDevicePrimaryCtxRetain(void** context, int device) {
  BEGIN();
  *context = &contexts[device];
  return 0;
}

FAKE_API int cuCtxSetCurrent(void* context) {
  current = context;
  BEGIN();
  return 0;
}

FAKE_API int cuCtxSynchronize(void) {
  BEGIN();
  return 0;
}

FAKE_API int cuModuleLoadData(void** module, const void* text) {
  BEGIN();
  *module = (void*)text;
  // An old driver knows no wgmma.
  const int old = fake_number(current->gpu, "old_driver", 0) != 0;
  if (old && strstr(text, "wgmma") != NULL) return invalid_ptx;
  return strstr(text, ".target sm_") == NULL ? invalid_ptx : 0;
}

FAKE_API int cuModuleGetFunction(void** function, void* module, const char* name) {
  BEGIN();
  if (module == NULL || function_count == most_functions) return not_found;
  snprintf(functions[function_count].name, sizeof functions[0].name, "%s", name);
  *function = &functions[function_count++];
  return 0;
}

FAKE_API int cuFuncSetAttribute(void* function, int attribute, int value) {
  BEGIN();
  return function != NULL && attribute == 8 && value > 0 ? 0 : 1;
}

FAKE_API int cuLaunchKernel(void* function, unsigned blocks, unsigned y, unsigned z, unsigned threads, unsigned ty,
                            unsigned tz, unsigned shared, void* stream, void** arguments, void** extra) {
  BEGIN();
  const char* name = ((Function*)function)->name;
  if (y * z * ty * tz != 1 || threads > 1024 || shared > 232448 || stream != NULL || extra != NULL) return 1;
  if (fake_kernel(current->gpu, name, blocks, arguments) != 0) return not_found;
  if (strncmp(name, "memory_", 7) == 0) {
    const int copy = strcmp(name, "memory_copy") == 0;
    const double cells = (double)*(uint64_t*)arguments[copy ? 2 : 1];
    pass(cells * 16 * (copy ? 2 : 1), "bandwidth", 4270);
  } else if (strncmp(name, "product_sm", 10) == 0 || strcmp(name, "product_plain") == 0) {
    const double size = *(uint32_t*)arguments[3];
    pass(2 * size * size * size / 1000, "tflops", 600);
  } else {
    current->milliseconds += 1;
  }
  return 0;
}

FAKE_API int cuMemGetInfo_v2(size_t* available, size_t* total) {
  BEGIN();
  *total = (size_t)fake_number(current->gpu, "memory_megabytes", 64) << 20;
  *available = *total - (1 << 20);
  return 0;
}

FAKE_API int cuMemAlloc_v2(unsigned long long* address, size_t bytes) {
  BEGIN();
  void* memory = malloc(bytes);
  if (memory == NULL) return out_of_memory;
  *address = (unsigned long long)(uintptr_t)memory;
  return 0;
}

FAKE_API int cuMemFree_v2(unsigned long long address) {
  BEGIN();
  free((void*)(uintptr_t)address);
  return 0;
}

FAKE_API int cuMemsetD32_v2(unsigned long long address, unsigned value, size_t count) {
  BEGIN();
  for (size_t i = 0; i < count; ++i) ((unsigned*)(uintptr_t)address)[i] = value;
  return 0;
}

FAKE_API int cuMemcpyHtoD_v2(unsigned long long to, const void* from, size_t bytes) {
  BEGIN();
  memcpy((void*)(uintptr_t)to, from, bytes);
  return 0;
}

FAKE_API int cuMemcpyDtoH_v2(void* to, unsigned long long from, size_t bytes) {
  BEGIN();
  memcpy(to, (const void*)(uintptr_t)from, bytes);
  return 0;
}

FAKE_API int cuMemHostAlloc(void** memory, size_t bytes, unsigned flags) {
  BEGIN();
  *memory = malloc(bytes);
  return *memory == NULL ? out_of_memory : (int)flags;
}

FAKE_API int cuMemFreeHost(void* memory) {
  BEGIN();
  free(memory);
  return 0;
}

FAKE_API int cuMemcpyHtoDAsync_v2(unsigned long long to, const void* from, size_t bytes, void* stream) {
  BEGIN();
  memcpy((void*)(uintptr_t)to, from, bytes);
  if (fake_number(current->gpu, "flip_upload", 0) != 0) ((char*)(uintptr_t)to)[bytes / 2] ^= 1;
  pass((double)bytes, "pcie", 55);
  return stream == NULL ? 0 : 1;
}

FAKE_API int cuMemcpyDtoHAsync_v2(void* to, unsigned long long from, size_t bytes, void* stream) {
  BEGIN();
  memcpy(to, (const void*)(uintptr_t)from, bytes);
  if (fake_number(current->gpu, "flip_download", 0) != 0) ((char*)to)[bytes / 2] ^= 1;
  pass((double)bytes, "pcie", 55);
  return stream == NULL ? 0 : 1;
}

FAKE_API int cuMemcpyDtoDAsync_v2(unsigned long long to, unsigned long long from, size_t bytes, void* stream) {
  BEGIN();
  memcpy((void*)(uintptr_t)to, (const void*)(uintptr_t)from, bytes);
  pass(2.0 * (double)bytes, "bandwidth", 4270);
  return stream == NULL ? 0 : 1;
}

FAKE_API int cuDeviceCanAccessPeer(int* can, int device, int peer) {
  BEGIN();
  *can = device != peer;
  return 0;
}

FAKE_API int cuCtxEnablePeerAccess(void* context, unsigned flags) {
  BEGIN();
  return context == NULL ? 1 : (int)flags;
}

FAKE_API int cuMemcpyPeerAsync(unsigned long long to, void* to_context, unsigned long long from, void* from_context,
                               size_t bytes, void* stream) {
  BEGIN();
  memcpy((void*)(uintptr_t)to, (const void*)(uintptr_t)from, bytes);
  if (fake_number(current->gpu, "flip_peer", 0) != 0) ((char*)(uintptr_t)to)[bytes / 2] ^= 1;
  pass((double)bytes, "peer", 390);
  return to_context == from_context || stream != NULL ? 1 : 0;
}

FAKE_API int cuEventCreate(void** event, unsigned flags) {
  BEGIN();
  *event = calloc(1, sizeof(double));
  return (int)flags;
}

FAKE_API int cuEventDestroy_v2(void* event) {
  BEGIN();
  free(event);
  return 0;
}

FAKE_API int cuEventRecord(void* event, void* stream) {
  BEGIN();
  *(double*)event = current->milliseconds;
  return stream == NULL ? 0 : 1;
}

FAKE_API int cuEventSynchronize(void* event) {
  BEGIN();
  return event == NULL ? 1 : 0;
}

FAKE_API int cuEventElapsedTime(float* milliseconds, const void* begin, const void* end) {
  BEGIN();
  *milliseconds = (float)(*(const double*)end - *(const double*)begin);
  return 0;
}

FAKE_API int cuTensorMapEncodeTiled(void* map, int type, unsigned rank, void* address, const unsigned long long* sizes,
                                    const unsigned long long* strides, const unsigned* box, const unsigned* steps,
                                    int interleave, int swizzle, int promotion, int fill) {
  BEGIN();
  if (type != 9 || rank != 2 || swizzle != 3 || interleave != 0 || fill != 0 || promotion > 3) return 1;
  if (box[0] != 64 || box[1] > 256 || steps[0] != 1 || strides[0] != sizes[0] * 2) return 1;
  memcpy(map, &address, sizeof address);
  return 0;
}
