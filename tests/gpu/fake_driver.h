// What the fake NVML and the fake CUDA driver share: a scenario, read from the file that the
// environment variable LOCKSTEP_FAKE_GPU names. A line is a key and a value; "1.key value" is of
// GPU 1 alone.
//
//   gpus 2                      driver 580.95.05            name NVIDIA H200
//   fail CALL CODE [AFTER]      answers CODE, from the call after AFTER on
//   hang CALL [AFTER]           never answers
//   crash CALL
//   log FILE TEXT               at cuInit, the text becomes a line at the end of the file
//   kernel FILE                 NVML answers code 18 when this file does not name its own version
// The other keys are numbers; see where they are read.
#pragma once

#define FAKE_API __attribute__((visibility("default")))

// The value of "GPU.key" or of "key"; `otherwise` when neither is there.
long long fake_number(int gpu, const char* key, long long otherwise);
const char* fake_text(int gpu, const char* key, const char* otherwise);
// Counts the call; hangs, crashes, or gives the code that the scenario wants, 0 for none.
int fake_call(int gpu, const char* call);
// Which GPUs CUDA_VISIBLE_DEVICES leaves; returns how many.
int fake_visible(int* gpus, int most);
void fake_uuid(int gpu, char* to);
void fake_log_lines(void);
// Forgets the scenario and what was counted: the driver is opened again, with another scenario
// perhaps.
void fake_reset(void);
// How often this was asked before, by name.
int fake_count(const char* name);
