#include "fake_kernels.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "fake_driver.h"

#define ARGUMENT(type, number) (*(type*)arguments[number])

static uint32_t scramble(uint32_t x) {
  x ^= x >> 16;
  x *= 0x7feb352dU;
  x ^= x >> 15;
  x *= 0x846ca68bU;
  return x ^ (x >> 16);
}

static void pattern(uint64_t place, uint32_t seed, uint32_t mask, uint32_t* cell) {
  const uint32_t h = scramble((uint32_t)place ^ seed ^ ((uint32_t)(place >> 32) * 0x9e3779b9U));
  cell[0] = h ^ mask;
  cell[1] = ~h ^ mask;
  cell[2] = (h * 0x9e3779b9U) ^ mask;
  cell[3] = ((h << 13) | (h >> 19)) ^ mask;
}

static void memory_fill(int gpu, void** arguments) {
  uint32_t* cells = ARGUMENT(uint32_t*, 0);
  const uint64_t count = ARGUMENT(uint64_t, 1);
  const uint64_t wrong_at = ARGUMENT(uint64_t, 5);
  for (uint64_t i = 0; i < count; ++i) {
    pattern(ARGUMENT(uint64_t, 2) + i, ARGUMENT(uint32_t, 3), ARGUMENT(uint32_t, 4), &cells[4 * i]);
    if (i == wrong_at) cells[4 * i + 1] ^= 0x400U;
  }
  // A bit that the memory does not keep.
  if (fake_number(gpu, "flip_memory", 0) != 0) cells[4 * (count / 2)] ^= 1U;
}

static void memory_check(void** arguments) {
  const uint32_t* cells = ARGUMENT(const uint32_t*, 0);
  uint64_t* result = ARGUMENT(uint64_t*, 5);
  for (uint64_t i = 0; i < ARGUMENT(uint64_t, 1); ++i) {
    uint32_t should[4];
    const uint64_t place = ARGUMENT(uint64_t, 2) + i;
    pattern(place, ARGUMENT(uint32_t, 3), ARGUMENT(uint32_t, 4), should);
    if (memcmp(should, &cells[4 * i], sizeof should) == 0) continue;
    ++result[0];
    if (place < result[1]) result[1] = place;
  }
}

enum { inputs = 32, hidden = 64, outputs = 8, batch = 32, first_bias = hidden * inputs };
enum { second = first_bias + hidden, second_bias = second + outputs * hidden, parameters = second_bias + outputs };

static float forward(const float* w, const float* data, const float* targets, float (*activation)[hidden],
                     float (*slope)[hidden], float (*error)[outputs]) {
  float loss = 0;
  for (int row = 0; row < batch; ++row) {
    for (int unit = 0; unit < hidden; ++unit) {
      float sum = w[first_bias + unit];
      for (int k = 0; k < inputs; ++k) sum += data[row * inputs + k] * w[unit * inputs + k];
      const float scale = 1.0F / (1.0F + fabsf(sum));
      activation[row][unit] = sum * scale;
      slope[row][unit] = scale * scale;
    }
    for (int unit = 0; unit < outputs; ++unit) {
      float sum = w[second_bias + unit];
      for (int k = 0; k < hidden; ++k) sum += activation[row][k] * w[second + unit * hidden + k];
      error[row][unit] = sum - targets[row * outputs + unit];
      loss += error[row][unit] * error[row][unit];
    }
  }
  return loss / (batch * outputs);
}

static void descend(float* w, const float* data, float (*activation)[hidden], float (*slope)[hidden],
                    float (*error)[outputs], float rate) {
  for (int row = 0; row < batch; ++row) {
    for (int unit = 0; unit < hidden; ++unit) {
      float back = 0;
      for (int k = 0; k < outputs; ++k) back += error[row][k] * w[second + k * hidden + unit];
      slope[row][unit] *= back;
    }
  }
  for (int row = 0; row < batch; ++row) {
    for (int unit = 0; unit < hidden; ++unit) {
      w[first_bias + unit] -= rate * slope[row][unit];
      for (int k = 0; k < inputs; ++k) w[unit * inputs + k] -= rate * slope[row][unit] * data[row * inputs + k];
    }
    for (int unit = 0; unit < outputs; ++unit) {
      w[second_bias + unit] -= rate * error[row][unit];
      for (int k = 0; k < hidden; ++k) w[second + unit * hidden + k] -= rate * error[row][unit] * activation[row][k];
    }
  }
}

static void train(void** arguments, float* trained, float* losses, float push) {
  static float activation[batch][hidden];
  static float slope[batch][hidden];
  static float error[batch][outputs];
  const float* data = ARGUMENT(const float*, 0);
  memcpy(trained, ARGUMENT(const float*, 2), parameters * sizeof(float));
  for (uint32_t step = 0; step < ARGUMENT(uint32_t, 6); ++step) {
    losses[step] = forward(trained, data, ARGUMENT(const float*, 1), activation, slope, error);
    descend(trained, data, activation, slope, error, ARGUMENT(float, 7) / batch);
    if (step == 0) trained[second_bias + 3] += push;
  }
}

static void train_network(int gpu, unsigned blocks, void** arguments) {
  float* trained = ARGUMENT(float*, 3);
  float* losses = ARGUMENT(float*, 4);
  const uint32_t steps = ARGUMENT(uint32_t, 6);
  const uint32_t wrong_block = ARGUMENT(uint32_t, 8);
  // All of its runs are wrong, or only the second.
  const float always = (float)fake_number(gpu, "wrong_training", 0) * 0.5F;
  const float later = fake_count("training runs") > 0 ? (float)fake_number(gpu, "unsteady_training", 0) * 0.00001F : 0.0F;
  train(arguments, trained, losses, always + later);
  if (fake_number(gpu, "nan_training", 0) != 0) losses[steps / 2] = NAN;
  for (unsigned block = 1; block < blocks; ++block) {
    memcpy(trained + (size_t)block * parameters, trained, parameters * sizeof(float));
    memcpy(losses + (size_t)block * steps, losses, steps * sizeof(float));
  }
  if (wrong_block < blocks) {
    train(arguments, trained + (size_t)wrong_block * parameters, losses + (size_t)wrong_block * steps, 0.001F);
  }
  for (unsigned block = 0; block < blocks; ++block) ARGUMENT(uint32_t*, 5)[block] = block;
}

static float from_bf16(uint16_t bits) {
  const uint32_t wide = (uint32_t)bits << 16;
  float value = 0;
  memcpy(&value, &wide, sizeof value);
  return value;
}

static void product_input(void** arguments) {
  for (uint64_t i = 0; i < ARGUMENT(uint64_t, 1); ++i) {
    const float value = (float)((int)(scramble((uint32_t)i ^ ARGUMENT(uint32_t, 2)) >> 25) - 64);
    uint32_t bits = 0;
    memcpy(&bits, &value, sizeof bits);
    ARGUMENT(uint16_t*, 0)[i] = (uint16_t)(bits >> 16);
  }
}

static void product(int gpu, void** arguments, int tensor_maps) {
  const uint16_t* a = ARGUMENT(const uint16_t*, 0);
  const uint16_t* b = ARGUMENT(const uint16_t*, 1);
  // The fake tensor map begins with the address.
  if (tensor_maps) {
    memcpy(&a, a, sizeof a);
    memcpy(&b, b, sizeof b);
  }
  float* c = ARGUMENT(float*, 2);
  const uint32_t rows = ARGUMENT(uint32_t, 3);
  const uint32_t columns = ARGUMENT(uint32_t, 4);
  const uint32_t depth = ARGUMENT(uint32_t, 5);
  // The same product again, as when its speed is measured: its result is there already, unless it was wiped out.
  static const float* last_result;
  static uint64_t last_wrong;
  uint32_t first_bits = 0;
  memcpy(&first_bits, c, sizeof first_bits);
  if (c == last_result && ARGUMENT(uint64_t, 6) == last_wrong && first_bits != 0xffffffffU) return;
  last_result = c;
  last_wrong = ARGUMENT(uint64_t, 6);
  for (uint64_t i = 0; i < rows; ++i) {
    for (uint64_t j = 0; j < columns; ++j) {
      float sum = 0;
      for (uint64_t k = 0; k < depth; ++k) sum += from_bf16(a[i * depth + k]) * from_bf16(b[j * depth + k]);
      if (i * columns + j == ARGUMENT(uint64_t, 6)) sum += 1;
      c[i * columns + j] = sum;
    }
  }
  if (fake_number(gpu, "wrong_product", 0) != 0) c[rows * columns / 3] += 1;
}

static void product_sums(unsigned blocks, void** arguments) {
  const float* matrix = ARGUMENT(const float*, 0);
  const uint32_t columns = ARGUMENT(uint32_t, 1);
  const float* vectors = ARGUMENT(const float*, 2);
  for (unsigned row = 0; row < blocks; ++row) {
    for (unsigned which = 0; which < 2; ++which) {
      double sum = 0;
      for (uint32_t i = 0; i < columns; ++i) sum += (double)matrix[row * columns + i] * vectors[which * columns + i];
      ARGUMENT(double*, 3)[2 * row + which] = sum;
    }
  }
}

int fake_kernel(int gpu, const char* name, unsigned blocks, void** arguments) {
  if (strcmp(name, "memory_fill") == 0) memory_fill(gpu, arguments);
  else if (strcmp(name, "memory_check") == 0) memory_check(arguments);
  else if (strcmp(name, "memory_copy") == 0)
    memcpy(ARGUMENT(void*, 1), ARGUMENT(void*, 0), ARGUMENT(uint64_t, 2) * 16);
  else if (strcmp(name, "train_network") == 0) train_network(gpu, blocks, arguments);
  else if (strcmp(name, "product_input") == 0) product_input(arguments);
  else if (strcmp(name, "product_sums") == 0) product_sums(blocks, arguments);
  else if (strcmp(name, "product_sm90") == 0) product(gpu, arguments, 1);
  else if (strcmp(name, "product_sm80") == 0 || strcmp(name, "product_plain") == 0) product(gpu, arguments, 0);
  else return -1;
  return 0;
}
