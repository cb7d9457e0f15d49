// Our kernels as plain C, for the fake CUDA driver: the same results, computed on the CPU.
#pragma once

// Runs the kernel of that name over a whole grid; -1 if there is no such kernel.
int fake_kernel(int gpu, const char* name, unsigned blocks, void** arguments);
