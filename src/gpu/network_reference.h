// The small network of the training check, trained on the CPU in double precision, by a program
// written apart from the kernel's. The GPU's losses are compared with its losses.
#pragma once

#include <cstddef>
#include <vector>

namespace lockstep::gpu {

// As in kernels/training.cu.
struct NetworkShape {
  static constexpr size_t inputs = 32;
  static constexpr size_t hidden = 64;
  static constexpr size_t outputs = 8;
  static constexpr size_t batch = 32;
  static constexpr size_t parameters = hidden * inputs + hidden + outputs * hidden + outputs;
};
constexpr size_t training_steps = 300;
constexpr float learning_rate = 0.3F;

// Inputs, targets that follow from them by a rule that the network can learn, and first weights.
struct TrainingData {
  std::vector<float> inputs;
  std::vector<float> targets;
  std::vector<float> initial;
};
TrainingData training_data();

// The loss before each step.
std::vector<double> reference_losses(const TrainingData& data, size_t steps, double rate);

}  // namespace lockstep::gpu
