#include "gpu/network_reference.h"

#include <cmath>
#include <cstdint>

#include "gpu/pattern.h"

namespace lockstep::gpu {

namespace {

using Shape = NetworkShape;

// Between -1 and 1.
float number(uint32_t seed, size_t index) {
  const uint32_t h = scramble(static_cast<uint32_t>(index) ^ scramble(seed));
  return static_cast<float>(static_cast<int32_t>(h >> 8)) / 8388608.0F - 1.0F;
}

class Network {
 public:
  explicit Network(const std::vector<float>& initial) {
    auto next = initial.begin();
    for (auto* part : {&first_, &first_bias_, &second_, &second_bias_}) {
      for (double& value : *part) value = *next++;
    }
  }

  double forward(const TrainingData& data) {
    double loss = 0;
    for (size_t row = 0; row < Shape::batch; ++row) {
      for (size_t unit = 0; unit < Shape::hidden; ++unit) {
        double sum = first_bias_[unit];
        for (size_t k = 0; k < Shape::inputs; ++k)
          sum += data.inputs[row * Shape::inputs + k] * first_[unit * Shape::inputs + k];
        const double scale = 1 / (1 + std::abs(sum));
        activation_[row * Shape::hidden + unit] = sum * scale;
        slope_[row * Shape::hidden + unit] = scale * scale;
      }
      for (size_t unit = 0; unit < Shape::outputs; ++unit) {
        double sum = second_bias_[unit];
        for (size_t k = 0; k < Shape::hidden; ++k)
          sum += activation_[row * Shape::hidden + k] * second_[unit * Shape::hidden + k];
        const double error = sum - data.targets[row * Shape::outputs + unit];
        error_[row * Shape::outputs + unit] = error;
        loss += error * error;
      }
    }
    return loss / static_cast<double>(Shape::batch * Shape::outputs);
  }

  void descend(const TrainingData& data, double rate) {
    const std::vector<double> second = second_;
    for (size_t row = 0; row < Shape::batch; ++row) {
      const double* error = &error_[row * Shape::outputs];
      for (size_t unit = 0; unit < Shape::outputs; ++unit) {
        second_bias_[unit] -= rate * error[unit];
        for (size_t k = 0; k < Shape::hidden; ++k)
          second_[unit * Shape::hidden + k] -=
              rate * error[unit] * activation_[row * Shape::hidden + k];
      }
      for (size_t unit = 0; unit < Shape::hidden; ++unit) {
        double back = 0;
        for (size_t k = 0; k < Shape::outputs; ++k)
          back += error[k] * second[k * Shape::hidden + unit];
        back *= slope_[row * Shape::hidden + unit];
        first_bias_[unit] -= rate * back;
        for (size_t k = 0; k < Shape::inputs; ++k)
          first_[unit * Shape::inputs + k] -= rate * back * data.inputs[row * Shape::inputs + k];
      }
    }
  }

 private:
  std::vector<double> first_ = std::vector<double>(Shape::hidden * Shape::inputs);
  std::vector<double> first_bias_ = std::vector<double>(Shape::hidden);
  std::vector<double> second_ = std::vector<double>(Shape::outputs * Shape::hidden);
  std::vector<double> second_bias_ = std::vector<double>(Shape::outputs);
  std::vector<double> activation_ = std::vector<double>(Shape::batch * Shape::hidden);
  std::vector<double> slope_ = std::vector<double>(Shape::batch * Shape::hidden);
  std::vector<double> error_ = std::vector<double>(Shape::batch * Shape::outputs);
};

}  // namespace

TrainingData training_data() {
  TrainingData data;
  for (size_t i = 0; i < Shape::batch * Shape::inputs; ++i) data.inputs.push_back(number(1, i));
  for (size_t row = 0; row < Shape::batch; ++row) {
    const float* in = &data.inputs[row * Shape::inputs];
    // Products of inputs: nothing that a network without its hidden layer could learn.
    for (size_t k = 0; k < Shape::outputs; ++k)
      data.targets.push_back(in[k] * in[k + 8] + 0.5F * in[k + 16]);
  }
  for (size_t i = 0; i < Shape::parameters; ++i) data.initial.push_back(0.2F * number(2, i));
  return data;
}

std::vector<double> reference_losses(const TrainingData& data, size_t steps, double rate) {
  Network network(data.initial);
  std::vector<double> losses;
  for (size_t step = 0; step < steps; ++step) {
    losses.push_back(network.forward(data));
    network.descend(data, rate / static_cast<double>(Shape::batch));
  }
  return losses;
}

}  // namespace lockstep::gpu
