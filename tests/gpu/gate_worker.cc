// The gate's worker process by itself, for the unit tests of src/gpu.
#include <unistd.h>

#include "gpu/worker.h"

int main() { return lockstep::gpu::run_worker(STDIN_FILENO, STDOUT_FILENO); }
