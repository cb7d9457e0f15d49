// A small network, trained by plain gradient descent. Every block trains the same network on the same
// data by itself, so that every multiprocessor does the work and all must come to the same bits: no
// sum depends on the order in which threads happen to run.
#include "device.h"

namespace {

constexpr u32 inputs = 32;
constexpr u32 hidden = 64;
constexpr u32 outputs = 8;
constexpr u32 batch = 32;
constexpr u32 parameters = hidden * inputs + hidden + outputs * hidden + outputs;

}  // namespace

// Where a block's threads share its network and what they compute in a step. Rows are one longer than
// they need be: threads that walk down a column would all ask the same memory bank otherwise.
struct Network {
  float first[hidden][inputs + 1];
  float first_bias[hidden];
  float second[outputs][hidden + 1];
  float second_bias[outputs];
  float in[batch][inputs + 1];
  float target[batch][outputs];
  float activation[batch][hidden + 1];
  float slope[batch][hidden + 1];
  float output_error[batch][outputs];
};

DEVICE void load(Network& n, const float* data, const float* targets, const float* initial) {
  const u32 t = thread_index();
  const u32 step = thread_count();
  for (u32 i = t; i < hidden * inputs; i += step) n.first[i / inputs][i % inputs] = initial[i];
  initial += hidden * inputs;
  for (u32 i = t; i < hidden; i += step) n.first_bias[i] = initial[i];
  initial += hidden;
  for (u32 i = t; i < outputs * hidden; i += step) n.second[i / hidden][i % hidden] = initial[i];
  initial += outputs * hidden;
  for (u32 i = t; i < outputs; i += step) n.second_bias[i] = initial[i];
  for (u32 i = t; i < batch * inputs; i += step) n.in[i / inputs][i % inputs] = data[i];
  for (u32 i = t; i < batch * outputs; i += step) n.target[i / outputs][i % outputs] = targets[i];
}

// The activation is x / (1 + |x|): smooth, and made of operations that are rounded the same everywhere.
DEVICE void forward_hidden(Network& n) {
  for (u32 i = thread_index(); i < batch * hidden; i += thread_count()) {
    const u32 row = i / hidden;
    const u32 unit = i % hidden;
    float sum = n.first_bias[unit];
    for (u32 k = 0; k < inputs; ++k) sum += n.in[row][k] * n.first[unit][k];
    const float scale = 1.0F / (1.0F + __builtin_fabsf(sum));
    n.activation[row][unit] = sum * scale;
    n.slope[row][unit] = scale * scale;
  }
}

DEVICE void forward_output(Network& n) {
  for (u32 i = thread_index(); i < batch * outputs; i += thread_count()) {
    const u32 row = i / outputs;
    const u32 unit = i % outputs;
    float sum = n.second_bias[unit];
    for (u32 k = 0; k < hidden; ++k) sum += n.activation[row][k] * n.second[unit][k];
    n.output_error[row][unit] = sum - n.target[row][unit];
  }
}

// Turns `slope` into the error of the hidden units.
DEVICE void backward_hidden(Network& n) {
  for (u32 i = thread_index(); i < batch * hidden; i += thread_count()) {
    const u32 row = i / hidden;
    const u32 unit = i % hidden;
    float sum = 0;
    for (u32 k = 0; k < outputs; ++k) sum += n.output_error[row][k] * n.second[k][unit];
    n.slope[row][unit] *= sum;
  }
}

DEVICE void descend(Network& n, float rate) {
  for (u32 i = thread_index(); i < hidden * inputs; i += thread_count()) {
    const u32 unit = i / inputs;
    const u32 k = i % inputs;
    float sum = 0;
    for (u32 row = 0; row < batch; ++row) sum += n.slope[row][unit] * n.in[row][k];
    n.first[unit][k] -= rate * sum;
  }
  for (u32 unit = thread_index(); unit < hidden; unit += thread_count()) {
    float sum = 0;
    for (u32 row = 0; row < batch; ++row) sum += n.slope[row][unit];
    n.first_bias[unit] -= rate * sum;
  }
  for (u32 i = thread_index(); i < outputs * hidden; i += thread_count()) {
    const u32 unit = i / hidden;
    const u32 k = i % hidden;
    float sum = 0;
    for (u32 row = 0; row < batch; ++row) sum += n.output_error[row][unit] * n.activation[row][k];
    n.second[unit][k] -= rate * sum;
  }
  for (u32 unit = thread_index(); unit < outputs; unit += thread_count()) {
    float sum = 0;
    for (u32 row = 0; row < batch; ++row) sum += n.output_error[row][unit];
    n.second_bias[unit] -= rate * sum;
  }
}

DEVICE void store(const Network& n, float* trained) {
  const u32 t = thread_index();
  const u32 step = thread_count();
  for (u32 i = t; i < hidden * inputs; i += step) trained[i] = n.first[i / inputs][i % inputs];
  trained += hidden * inputs;
  for (u32 i = t; i < hidden; i += step) trained[i] = n.first_bias[i];
  trained += hidden;
  for (u32 i = t; i < outputs * hidden; i += step) trained[i] = n.second[i / hidden][i % hidden];
  trained += outputs * hidden;
  for (u32 i = t; i < outputs; i += step) trained[i] = n.second_bias[i];
}

// `losses` has `steps` places for each block, `trained` all parameters for each, `processors` one
// number. In block `wrong_block` one weight is off after the first step, to see that it is found.
KERNEL LAUNCH_BOUNDS(256, 1) void train_network(const float* data, const float* targets, const float* initial,
                                                float* trained, float* losses, u32* processors, u32 steps,
                                                float rate, u32 wrong_block) {
  SHARED static Network n;
  load(n, data, targets, initial);
  wait_for_block();
  for (u32 step = 0; step < steps; ++step) {
    forward_hidden(n);
    wait_for_block();
    forward_output(n);
    wait_for_block();
    if (thread_index() == 0) {
      float loss = 0;
      for (u32 row = 0; row < batch; ++row) {
        for (u32 k = 0; k < outputs; ++k) loss += n.output_error[row][k] * n.output_error[row][k];
      }
      losses[static_cast<u64>(block_index()) * steps + step] = loss / (batch * outputs);
    }
    backward_hidden(n);
    wait_for_block();
    descend(n, rate / batch);
    if (step == 0 && thread_index() == 0 && block_index() == wrong_block) n.second_bias[3] += 0.001F;
    wait_for_block();
  }
  store(n, trained + static_cast<u64>(block_index()) * parameters);
  if (thread_index() == 0) {
    u32 processor = 0;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(processor));
    processors[block_index()] = processor;
  }
}
